/* BrgclSearch: a box that finds nodes by id, with suggestions. */
"use strict";

class BrgclSearch {
  /** ids = texts, describe(index) = what stands beside an id, onPick(index). */
  constructor(box, list, ids, describe, onPick) {
    Object.assign(this, { box, list, ids, describe, onPick, found: [], active: -1 });
    box.addEventListener("input", () => this._suggest());
    box.addEventListener("focus", () => this._suggest());
    box.addEventListener("blur", () => this._close());
    box.addEventListener("keydown", (event) => this._key(event));
    list.addEventListener("pointerdown", (event) => {
      const item = event.target.closest("li");
      event.preventDefault(); // the box keeps the focus
      if (item && item.dataset.place) this._pick(Number(item.dataset.place));
    });
  }

  _suggest() {
    const text = this.box.value.trim().toLowerCase();
    if (!text) return this._close();
    const [exact, starts, inside] = [[], [], []];
    for (let i = 0; i < this.ids.length && exact.length + starts.length < 8; i++) {
      const id = this.ids[i].toLowerCase();
      if (id === text) exact.push(i);
      else if (id.startsWith(text)) starts.push(i);
      else if (inside.length < 8 && id.includes(text)) inside.push(i);
    }
    // an exact match may come after eight others
    if (!exact.length) {
      const at = this.ids.findIndex((id) => id.toLowerCase() === text);
      if (at >= 0) exact.push(at);
    }
    this.found = [...exact, ...starts, ...inside].slice(0, 8);
    this.active = this.found.length ? 0 : -1;
    this._draw();
    return undefined;
  }

  _draw() {
    const items = this.found.map((index, place) => {
      const item = document.createElement("li");
      item.id = `search-${place}`;
      item.dataset.place = String(place);
      item.setAttribute("role", "option");
      item.setAttribute("aria-selected", String(place === this.active));
      const name = Object.assign(document.createElement("b"), { textContent: this.ids[index] });
      const more = Object.assign(document.createElement("small"), { textContent: this.describe(index) });
      item.append(name, more);
      return item;
    });
    if (!items.length) {
      const item = Object.assign(document.createElement("li"), { textContent: "No node has this id" });
      item.className = "note";
      items.push(item);
    }
    this.list.replaceChildren(...items);
    this.list.hidden = false;
    this.box.setAttribute("aria-expanded", "true");
    if (this.active >= 0) this.box.setAttribute("aria-activedescendant", `search-${this.active}`);
    else this.box.removeAttribute("aria-activedescendant");
  }

  _key(event) {
    const steps = { ArrowDown: 1, ArrowUp: -1 };
    if (event.key in steps && this.found.length) {
      this.active = (this.active + steps[event.key] + this.found.length) % this.found.length;
      this._draw();
    } else if (event.key === "Enter" && this.active >= 0) this._pick(this.active);
    else if (event.key === "Escape") this._close();
    else return;
    event.preventDefault();
  }

  _pick(place) {
    const index = this.found[place];
    this.box.value = this.ids[index];
    this._close();
    this.onPick(index);
  }

  _close() {
    this.list.hidden = true;
    this.found = [];
    this.active = -1;
    this.box.setAttribute("aria-expanded", "false");
    this.box.removeAttribute("aria-activedescendant");
  }
}
