/* BrgclLegend: what the colours of a map mean; the entries of classes switch them off and on.
 *
 *   const legend = new BrgclLegend(element, onChange);
 *   legend.show(colouring, placed);   colouring as in map.js, placed = indices of the nodes shown
 *
 * legend.hidden has the codes that are switched off; onChange() is called when they change. */
"use strict";

class BrgclLegend {
  constructor(element, onChange) {
    Object.assign(this, { element, onChange, hidden: new Set() });
  }

  show(colouring, placed) {
    this.element.replaceChildren();
    if (colouring.kind === "number") this._numbers(colouring, placed);
    else this._classes(colouring, placed);
  }

  _classes({ codes, names, none }, placed) {
    const counts = new Map();
    for (const i of placed) counts.set(codes[i], (counts.get(codes[i]) || 0) + 1);
    const entries = names.map((name, code) => [code, name]);
    if (counts.has(-1)) entries.push([-1, none || "none"]);
    this.element.classList.toggle("many", entries.length > 14);
    for (const [code, name] of entries) {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "legend-entry";
      button.setAttribute("aria-pressed", String(!this.hidden.has(code)));
      button.title = `${name}: click hides or shows; double click shows this one alone`;
      const count = document.createElement("small");
      count.textContent = (counts.get(code) || 0).toLocaleString("en");
      const text = Object.assign(document.createElement("span"), { textContent: name });
      button.append(BrgclPalette.swatch(code), text, count);
      button.addEventListener("click", () => this._toggle(code, entries));
      button.addEventListener("dblclick", () => this._alone(code, entries));
      this.element.append(button);
    }
  }

  _numbers({ scale, low, high, none, values }, placed) {
    this.element.classList.remove("many");
    const bar = document.createElement("canvas");
    bar.className = "legend-scale";
    bar.width = 160;
    bar.height = 1;
    const context = bar.getContext("2d");
    for (let i = 0; i < 160; i++) {
      context.fillStyle = BrgclPalette.css(BrgclPalette.ofNumber(i / 159, scale));
      context.fillRect(i, 0, 1, 1);
    }
    const text = (words) => Object.assign(document.createElement("span"), { textContent: words });
    this.element.append(text(low), bar, text(high));
    if (placed.some((i) => !(values[i] >= 0)))
      this.element.append(BrgclPalette.swatch(-1), text(none || "none"));
  }

  _toggle(code, entries) {
    if (!this.hidden.delete(code)) this.hidden.add(code);
    this._press(entries);
  }

  _alone(code, entries) {
    const others = entries.map(([other]) => other).filter((other) => other !== code);
    const alone = !this.hidden.has(code) && others.every((other) => this.hidden.has(other));
    this.hidden = new Set(alone ? [] : others);
    this._press(entries);
  }

  _press(entries) {
    entries.forEach(([code], i) =>
      this.element.children[i].setAttribute("aria-pressed", String(!this.hidden.has(code))));
    this.onChange();
  }
}
