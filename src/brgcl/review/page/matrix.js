/* The transition matrix as a heat map of buttons: rows are true classes, columns given labels. */
import { $, label, make, percent } from "./elements.js";

const MANY = 14; // from so many classes on, cells have no numbers

export class Matrix {
  /** transition: rows of shares, or null; onPick(given, suggested) is called with codes. */
  constructor(classes, transition, onPick) {
    Object.assign(this, { classes, transition, onPick });
    this.table = $("matrix");
    this.table.classList.toggle("many", classes.length >= MANY);
    this.cells = classes.map((name, row) => classes.map((other, column) => {
      const cell = make("button", { type: "button", tabIndex: row || column ? -1 : 0 });
      cell.addEventListener("click", () => onPick(column, row));
      cell.addEventListener("keydown", (event) => this._move(event, row, column));
      return cell;
    }));
    const head = make("tr", {}, make("th", { scope: "col", textContent: "true ↓ given →" }));
    classes.forEach((name, code) => {
      const title = make("th", { scope: "col", title: name }, BrgclPalette.swatch(code));
      title.append(make("span", { className: "visually-hidden", textContent: name }));
      head.append(title);
    });
    const rows = classes.map((name, row) => make("tr", {},
      make("th", { scope: "row", title: name }, label(row, name)),
      ...this.cells[row].map((cell) => make("td", {}, cell))));
    this.table.replaceChildren(make("thead", {}, head), make("tbody", {}, ...rows));
  }

  /** Show how many suspects of each cell are left, counts[suggested][given], and the picked one. */
  update(counts, given, suggested) {
    const shares = this.transition || counts;
    const others = shares.flatMap((cells, row) => cells.filter((_, column) => column !== row));
    const most = Math.max(1e-9, ...others); // the darkest cell; those on the diagonal are pale
    this.cells.forEach((cells, row) => cells.forEach((cell, column) => {
      const share = shares[row][column] || 0;
      const count = counts[row][column];
      const same = row === column;
      cell.textContent = count || "";
      const depth = same ? 0.05 : 0.08 + 0.82 * Math.sqrt(share / most);
      cell.style.background = `rgb(var(--heat) / ${depth})`;
      cell.style.color = depth > 0.79 ? "var(--card)" : depth > 0.6 ? "var(--on-mid)" : "";
      const chance = this.transition ? `${percent(share)} of ${this.classes[row]} are given as ${this.classes[column]}; ` : "";
      cell.title = `${chance}${count} suspects left`;
      cell.setAttribute("aria-label", `true ${this.classes[row]}, given ${this.classes[column]}: ${cell.title}`);
      cell.setAttribute("aria-pressed", String(given === column && suggested === row));
    }));
  }

  _move(event, row, column) {
    const [down, right] = {
      ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1],
    }[event.key] || [0, 0];
    const next = (down || right) && this.cells[row + down]?.[column + right];
    if (!down && !right) return;
    event.preventDefault();
    event.stopPropagation();
    if (!next) return;
    this.cells[row][column].tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  }
}
