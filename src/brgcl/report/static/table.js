/* BrgclTable: a sortable table that makes elements only for the rows in sight.
 *
 *   const table = new BrgclTable(element, columns, options);
 *
 * columns   [{ name, title, width, value(row), text(row), fill(row, cell), wide }, ...]; value is
 *           what sorts, text what is shown (default: value), fill makes the cell instead of text,
 *           width a CSS grid track, wide columns are left out on narrow screens and narrow
 *           ones shown there alone
 * options   narrowHeight of a row on narrow screens, label, onSelect(row), empty (what stands there when no row is left)
 *
 * Methods: show(rows) takes an array of row numbers, sortBy(name, direction), select(row). */
"use strict";

class BrgclTable {
  constructor(element, columns, options = {}) {
    Object.assign(this, { element, columns, options });
    [this.rows, this.base, this.selected, this.active] = [[], [], -1, 0];
    [this.sorted, this.direction] = [null, 1];
    this.collator = new Intl.Collator("en", { numeric: true });
    this.id = `table-${BrgclTable.count++}`;
    this._build();
    const narrow = window.matchMedia("(max-width: 760px)");
    const fit = () => {
      this.narrow = narrow.matches;
      this.height = (narrow.matches && options.narrowHeight) || 36;
      this.grid.style.setProperty("--row", `${this.height}px`);
      this._head();
      this._draw(true);
    };
    narrow.addEventListener("change", fit);
    new ResizeObserver(() => this._draw(true)).observe(this.view);
    fit();
  }

  /** Show these rows, in this order unless the user has sorted. */
  show(rows) {
    this.base = rows;
    this._order();
    this.active = Math.max(0, this.rows.indexOf(this.selected));
    this.view.scrollTop = 0;
    this._draw(true);
  }

  /** Sort by a column; direction 1 = up, -1 = down. */
  sortBy(name, direction = 1) {
    [this.sorted, this.direction] = [name, direction];
    this._order();
    this._head();
    this.active = Math.max(0, this.rows.indexOf(this.selected));
    this.view.scrollTop = 0;
    this._draw(true);
  }

  /** Mark a row and bring it into sight; calls no callback. */
  select(row) {
    this.selected = row;
    const place = this.rows.indexOf(row);
    if (place >= 0) this._activate(place);
    this._draw(true);
  }

  _order() {
    const column = this.columns.find(({ name }) => name === this.sorted);
    this.rows = this.base.slice();
    if (!column) return;
    const values = new Map(this.rows.map((row) => [row, column.value(row)]));
    const sign = this.direction;
    this.rows.sort((a, b) => {
      const [x, y] = [values.get(a), values.get(b)];
      if (typeof x === "string") return sign * this.collator.compare(x, y);
      if (Number.isNaN(x) || Number.isNaN(y)) return Number.isNaN(x) - Number.isNaN(y);
      return sign * (x - y);
    });
  }

  _build() {
    const make = (name, role) => {
      const made = document.createElement("div");
      made.className = name;
      if (role) made.setAttribute("role", role);
      return made;
    };
    this.element.classList.add("grid");
    this.grid = make("grid-body", "grid");
    this.grid.setAttribute("aria-label", this.options.label || "Table");
    this.head = make("grid-row grid-head", "row");
    this.view = make("grid-view", "rowgroup");
    this.view.tabIndex = 0;
    this.space = make("grid-space", "presentation");
    this.nothing = make("grid-empty");
    this.view.append(this.space, this.nothing);
    this.grid.append(this.head, this.view);
    this.element.append(this.grid);
    this.view.addEventListener("scroll", () => this._later());
    this.view.addEventListener("click", (event) => {
      const line = event.target.closest(".grid-row");
      if (line) this._choose(Number(line.dataset.place));
    });
    this.view.addEventListener("keydown", (event) => this._key(event));
  }

  _key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(1, Math.floor(this.view.clientHeight / this.height) - 1);
    const steps = {
      ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity,
    };
    if (event.key in steps) {
      this._activate(Math.max(0, Math.min(this.rows.length - 1, this.active + steps[event.key])));
    } else if (event.key === "Enter" || event.key === " ") {
      this._choose(this.active);
    } else {
      return;
    }
    event.preventDefault();
    this._draw(true);
  }

  _activate(place) {
    this.active = place;
    const top = place * this.height;
    const { scrollTop, clientHeight } = this.view;
    if (top < scrollTop) this.view.scrollTop = top;
    else if (top + this.height > scrollTop + clientHeight)
      this.view.scrollTop = top + this.height - clientHeight;
  }

  _choose(place) {
    if (place >= this.rows.length) return;
    this.active = place;
    this.selected = this.rows[place];
    this._draw(true);
    if (this.options.onSelect) this.options.onSelect(this.selected);
  }

  _shown() {
    return this.columns.filter(({ wide, narrow }) => !(this.narrow ? wide : narrow));
  }

  _head() {
    const shown = this._shown();
    const tracks = shown.map(({ width }) => width).join(" ");
    this.grid.style.setProperty("--tracks", tracks);
    this.grid.setAttribute("aria-colcount", String(shown.length));
    const focused = document.activeElement && document.activeElement.dataset.column;
    this.head.replaceChildren(...shown.map(({ name, title, hint, number }) => {
      const cell = document.createElement("div");
      cell.setAttribute("role", "columnheader");
      const here = this.sorted === name;
      cell.setAttribute("aria-sort", !here ? "none" : this.direction > 0 ? "ascending" : "descending");
      if (number) cell.className = "number";
      const button = document.createElement("button");
      Object.assign(button, { type: "button", textContent: title, title: hint || `Sort by ${title}` });
      button.dataset.column = name;
      button.addEventListener("click", () => this.sortBy(name, here ? -this.direction : 1));
      cell.append(button);
      return cell;
    }));
    if (focused) {
      const again = [...this.head.querySelectorAll("button")].find((b) => b.dataset.column === focused);
      if (again) again.focus();
    }
  }

  _later() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => { this.waiting = false; this._draw(false); });
  }

  _draw(anew) {
    const { height, view, rows } = this;
    this.grid.setAttribute("aria-rowcount", String(rows.length + 1));
    this.space.style.height = `${rows.length * height}px`;
    this.nothing.hidden = rows.length > 0;
    this.nothing.textContent = this.options.empty || "No rows.";
    const first = Math.max(0, Math.floor(view.scrollTop / height) - 5);
    const last = Math.min(rows.length, first + Math.ceil(view.clientHeight / height) + 10);
    if (!anew && first === this.first && last === this.last) return;
    [this.first, this.last] = [first, last];
    const lines = [];
    for (let place = first; place < last; place++) lines.push(this._line(place));
    this.space.replaceChildren(...lines);
    if (this.active >= first && this.active < last)
      view.setAttribute("aria-activedescendant", `${this.id}-${this.active}`);
    else view.removeAttribute("aria-activedescendant");
  }

  _line(place) {
    const row = this.rows[place];
    const line = document.createElement("div");
    line.className = "grid-row";
    line.classList.toggle("active", place === this.active);
    line.id = `${this.id}-${place}`;
    line.dataset.place = String(place);
    line.setAttribute("role", "row");
    line.setAttribute("aria-rowindex", String(place + 2));
    line.setAttribute("aria-selected", String(row === this.selected));
    line.style.transform = `translateY(${place * this.height}px)`;
    for (const column of this._shown()) {
      const cell = document.createElement("div");
      cell.setAttribute("role", "gridcell");
      if (column.number) cell.className = "number";
      if (column.fill) column.fill(row, cell);
      else cell.textContent = column.text ? column.text(row) : String(column.value(row));
      line.append(cell);
    }
    return line;
  }
}
BrgclTable.count = 0;
