/* BrgclMap: nodes of a graph on a plane, with colours, a legend, hover, selection and neighbours.
 *
 *   const map = new BrgclMap(element, nodes, options);
 *
 * nodes.x, nodes.y     numbers, one per node; NaN where a node is not placed
 * nodes.colourings     { name: colouring }, in the order in which they are offered:
 *                      { title, kind: "class", codes, names } with codes < 0 for "none", or
 *                      { title, kind: "number", values, scale, low, high } with values in [0, 1]
 *                      or NaN, scale "confidence" or "suspicion", low and high for the legend
 * options.colouring    name of the first colouring
 * options.describe     (index) -> [[name, text], ...] for the box beside the pointer
 * options.onSelect     called with an index when the user selects a node, -1 for none
 * options.onBox        called with an array of indices that the user framed (Shift + drag)
 * options.label        what the map shows, for screen readers
 *
 * Methods: colourBy(name), select(index), showNeighbours(index, indices), setVisible(mask or
 * null), reset(). Colours follow the theme of the page; dispatch "brgcl:theme" on document when it
 * changes. Needs palette.js, points.js and the other map_*.js. */
"use strict";

class BrgclMap {
  constructor(element, nodes, options = {}) {
    Object.assign(this, { element, nodes, options });
    this.selected = this.hovered = -1;
    this.neighbours = [];
    this.visible = null;
    this.box = null; // x1, y1, x2, y2 of the frame that is being drawn
    Object.assign(this, BrgclPoints.normalise(nodes.x, nodes.y));
    this.grid = BrgclPoints.grid(this.positions, this.placed);
    this.colours = new Uint8Array(4 * nodes.x.length);
    this.shapes = new Uint8Array(nodes.x.length);
    this._build();
    listenToMap(this);
    this.colourBy(options.colouring || Object.keys(nodes.colourings)[0]);
    new ResizeObserver(() => this._resize()).observe(this.stage);
    this._resize();
    this.reset();
  }

  /** Colour the nodes by one of the colourings. */
  colourBy(name) {
    this.colouring = this.nodes.colourings[name];
    this.name = name;
    this.legend.hidden.clear();
    for (const input of this.element.querySelectorAll(".map-colours input"))
      input.checked = input.value === name;
    this.repaint();
  }

  /** Select a node, bring it into view and ring it; -1 selects none. Calls no callback. */
  select(index) {
    this.selected = index;
    this.neighbours = [];
    if (index >= 0 && this._isPlaced(index)) {
      const [x, y] = this.onScreen(index);
      const { width, height } = this.state;
      if (x < 20 || y < 20 || x > width - 20 || y > height - 20) {
        this.state.left += width / 2 - x;
        this.state.top += height / 2 - y;
      }
    }
    this._later(true);
  }

  /** Select a node and draw lines to its neighbours. */
  showNeighbours(index, indices) {
    this.select(index);
    this.neighbours = Array.from(indices);
    this._later(true);
  }

  /** Dim all nodes but those whose entry of the mask is true; null shows all. */
  setVisible(mask) {
    this.visible = mask;
    this._paint();
  }

  /** Show the whole map. */
  reset() {
    const { width, height } = this.state;
    const [across, down] = this.reach.map((r) => Math.max(r, 0.1));
    this.state.scale = (Math.min(width / across, height / down) / 2) * 0.94;
    Object.assign(this.state, { left: width / 2, top: height / 2, home: this.state.scale });
    this._later();
  }

  move(x, y) {
    this.state.left += x;
    this.state.top += y;
    this._later();
  }

  zoom(factor, x = this.state.width / 2, y = this.state.height / 2) {
    const { state } = this;
    const scale = Math.max(state.home * 0.5, Math.min(state.home * 400, state.scale * factor));
    const grown = scale / state.scale;
    state.left = x + (state.left - x) * grown;
    state.top = y + (state.top - y) * grown;
    state.scale = scale;
    this.hover(-1);
    this._later();
  }

  /** Show a short hint. */
  say(text) {
    this.hint.textContent = text;
    this.hint.classList.add("shown");
    clearTimeout(this.hintTimer);
    this.hintTimer = setTimeout(() => this.hint.classList.remove("shown"), 1500);
  }

  /** Draw a frame from one corner to another; null takes it away. */
  frame(box) {
    this.box = box;
    this.boxed.hidden = !box;
    if (!box) return;
    const [x1, y1, x2, y2] = box;
    const { style } = this.boxed;
    style.transform = `translate(${Math.min(x1, x2)}px, ${Math.min(y1, y2)}px)`;
    [style.width, style.height] = [`${Math.abs(x2 - x1)}px`, `${Math.abs(y2 - y1)}px`];
  }

  /** The node at a place of the stage, -1 if there is none. */
  at(x, y) {
    const { scale, left, top, point } = this.state;
    const radius = Math.max(6, point) / scale;
    return this.grid.nearest((x - left) / scale, (y - top) / scale, radius, (i) => this.isShown(i));
  }

  /** The nodes inside a frame. */
  inside([x1, y1, x2, y2]) {
    return Array.from(this.placed).filter((i) => {
      const [x, y] = this.onScreen(i);
      return (x - x1) * (x - x2) <= 0 && (y - y1) * (y - y2) <= 0 && this.isShown(i);
    });
  }

  /** Describe a node beside the pointer; -1 describes none. */
  hover(index, x, y) {
    if (index === this.hovered && index < 0) return;
    const same = index === this.hovered;
    this.hovered = index;
    this.tip.hidden = index < 0 || !this.options.describe;
    this.stage.classList.toggle("over-node", index >= 0);
    if (!this.tip.hidden) {
      if (!same) this.tip.replaceChildren(...BrgclMap.lines(this.options.describe(index)));
      const { offsetWidth: w, offsetHeight: h } = this.tip;
      const { width, height } = this.state;
      const right = x + 16 + w < width ? x + 16 : Math.max(4, x - w - 16);
      const below = y + 16 + h < height ? y + 16 : Math.max(4, y - h - 16);
      this.tip.style.transform = `translate(${right}px, ${below}px)`;
    }
    if (!same) this._later(true);
  }

  /** Colour legend and nodes again, after the theme has changed. */
  repaint() {
    this.legend.show(this.colouring, this.placed);
    this._paint();
  }

  /** Fit the map to its stage and draw all of it at once. */
  redraw() {
    this._resize();
    this.repaint();
    this._draw();
  }

  /** Go on without WebGL. */
  usePlainCanvas() {
    this.picture.usePlainCanvas();
    this.redraw();
  }

  isShown(i) {
    return this.colours[4 * i + 3] > 40;
  }

  onScreen(i) {
    const { scale, left, top } = this.state;
    return [this.positions[2 * i] * scale + left, this.positions[2 * i + 1] * scale + top];
  }

  /** Lines of a description as elements; the first is a heading, a line without a name a sentence. */
  static lines(described) {
    return described.map(([name, text], i) => {
      const line = document.createElement("div");
      if (name) line.append(Object.assign(document.createElement("span"), { textContent: name }));
      line.append(Object.assign(document.createElement(i ? "b" : "strong"), { textContent: text }));
      line.className = name ? "" : "said";
      return line;
    });
  }

  _isPlaced(i) {
    return this.positions[2 * i] < 3;
  }

  _build() {
    const make = (tag, name, parent) => {
      const made = document.createElement(tag);
      made.className = name;
      if (parent) parent.append(made);
      return made;
    };
    this.element.classList.add("map");
    const bar = make("div", "map-bar", this.element);
    const choices = make("fieldset", "map-colours", bar);
    make("legend", "visually-hidden", choices).textContent = "Colour the nodes by";
    for (const [name, { title }] of Object.entries(this.nodes.colourings)) {
      const label = make("label", "chip", choices);
      const input = make("input", "visually-hidden", label);
      Object.assign(input, { type: "radio", name: `colour-${BrgclMap.count}`, value: name });
      input.addEventListener("change", () => this.colourBy(name));
      make("span", "", label).textContent = title;
    }
    BrgclMap.count += 1;
    this.stage = make("div", "map-stage", this.element);
    this.stage.tabIndex = 0;
    this.stage.setAttribute("role", "application");
    this.stage.setAttribute(
      "aria-label",
      `${this.options.label || "Map of the nodes"}. Arrow keys move it, plus and minus zoom, 0 shows all.`,
    );
    const many = this.placed.length > BrgclMap.MANY;
    this.picture = new BrgclPicture(this.stage, this.positions, { many });
    this.boxed = make("div", "map-box", this.stage);
    this.boxed.hidden = true;
    const zoom = make("div", "map-zoom", this.stage);
    for (const [sign, what, act] of [
      ["+", "Zoom in", () => this.zoom(1.5)],
      ["−", "Zoom out", () => this.zoom(1 / 1.5)],
      ["⟲", "Show the whole map", () => this.reset()],
    ]) {
      const button = make("button", "icon", zoom);
      Object.assign(button, { type: "button", textContent: sign, title: what });
      button.setAttribute("aria-label", what);
      button.addEventListener("click", act);
    }
    this.tip = make("div", "map-tip", this.stage);
    this.tip.hidden = true;
    this.hint = make("div", "map-hint", this.stage);
    this.legend = new BrgclLegend(make("div", "map-legend", this.element), () => this._paint());
    this.state = { width: 1, height: 1, scale: 1, left: 0, top: 0, density: 1, point: 3, home: 1 };
  }

  _resize() {
    const { clientWidth: width, clientHeight: height } = this.stage;
    if (!width || !height) return;
    const { state } = this;
    const wasHome = state.scale === state.home;
    state.left += (width - state.width) / 2;
    state.top += (height - state.height) / 2;
    Object.assign(state, { width, height, density: Math.min(window.devicePixelRatio || 1, 2) });
    this.picture.resize(state);
    if (wasHome) this.reset();
    this._later();
  }

  _paint() {
    const { colouring, placed, visible, colours, shapes } = this;
    const order = BrgclPalette.paint(colouring, placed, this.legend.hidden, visible, colours, shapes);
    this.picture.paint(colours, shapes, order);
    this._later();
  }

  /** Show what has changed in the next frame; marked = what is drawn over the points has, too. */
  _later(marked = false) {
    this.marked = this.marked || marked;
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => { this.waiting = false; this._draw(); });
  }

  _draw() {
    const { state } = this;
    const room = Math.sqrt((state.width * state.height) / Math.max(1, this.placed.length));
    const zoomed = state.scale / state.home;
    state.point = Math.max(2, Math.min(9, room * 0.35)) * Math.max(0.8, Math.min(3, zoomed ** 0.4));
    this.picture.show(state, (context, place) => this._mark(context, place), this.marked);
    this.marked = false;
    this.stage.dataset.drawn = this.picture.points.kind;
  }

  /** Ring the selected node, its neighbours and the one below the pointer. */
  _mark(context, place) {
    const { point } = this.state;
    const ink = getComputedStyle(this.element).color;
    const paper = getComputedStyle(this.stage).backgroundColor;
    context.strokeStyle = ink;
    const ring = (i, radius, width, colour = ink) => {
      if (!this._isPlaced(i)) return;
      context.lineWidth = width;
      context.strokeStyle = colour;
      context.beginPath();
      context.arc(...place(i), radius, 0, 7);
      context.stroke();
    };
    if (this.selected >= 0 && this._isPlaced(this.selected)) {
      const near = this.neighbours.filter((i) => this._isPlaced(i));
      context.lineWidth = 1;
      context.globalAlpha = near.length > 200 ? 0.25 : 0.55;
      context.beginPath();
      for (const i of near) {
        context.moveTo(...place(this.selected));
        context.lineTo(...place(i));
      }
      context.stroke();
      if (near.length <= 200) for (const i of near) ring(i, point / 2 + 1.5, 1);
      context.globalAlpha = 1;
      ring(this.selected, point / 2 + 5, 5, paper); // so that it stands out where points are dense
      ring(this.selected, point / 2 + 5, 2.5);
    }
    if (this.hovered >= 0) ring(this.hovered, point / 2 + 3, 1.5);
  }
}
BrgclMap.count = 0;
BrgclMap.MANY = 20000; // from so many nodes on a map that moves is not drawn anew in every frame
