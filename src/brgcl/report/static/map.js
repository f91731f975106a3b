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
 * changes. Needs palette.js and points.js. */
"use strict";

class BrgclMap {
  constructor(element, nodes, options = {}) {
    Object.assign(this, { element, nodes, options });
    this.selected = this.hovered = -1;
    this.neighbours = [];
    this.visible = null;
    this.hidden = new Set(); // codes that the legend has switched off
    this.box = null;
    this._normalise();
    this._build();
    this._listen();
    this.colourBy(options.colouring || Object.keys(nodes.colourings)[0]);
    new ResizeObserver(() => this._resize()).observe(this.stage);
    this._resize();
    this.reset();
  }

  /** Colour the nodes by one of the colourings. */
  colourBy(name) {
    this.colouring = this.nodes.colourings[name];
    this.name = name;
    this.hidden.clear();
    for (const input of this.element.querySelectorAll(".map-colours input"))
      input.checked = input.value === name;
    this._legend();
    this._paint();
  }

  /** Select a node, bring it into view and ring it; -1 selects none. Calls no callback. */
  select(index) {
    this.selected = index;
    this.neighbours = [];
    if (index >= 0 && this._isPlaced(index)) {
      const [x, y] = this._onScreen(index);
      const { width, height } = this.state;
      if (x < 20 || y < 20 || x > width - 20 || y > height - 20) {
        this.state.left += width / 2 - x;
        this.state.top += height / 2 - y;
      }
    }
    this._later();
  }

  /** Select a node and draw lines to its neighbours. */
  showNeighbours(index, indices) {
    this.select(index);
    this.neighbours = Array.from(indices);
    this._later();
  }

  /** Dim all nodes but those whose entry of the mask is true; null shows all. */
  setVisible(mask) {
    this.visible = mask;
    this._paint();
  }

  /** Show the whole map. */
  reset() {
    const { width, height } = this.state;
    this.state.scale = (Math.min(width, height) / 2) * 0.94;
    Object.assign(this.state, { left: width / 2, top: height / 2, home: this.state.scale });
    this._later();
  }

  _isPlaced(i) {
    return this.positions[2 * i] < 3;
  }

  _onScreen(i) {
    const { scale, left, top } = this.state;
    return [this.positions[2 * i] * scale + left, this.positions[2 * i + 1] * scale + top];
  }

  /** Bring the coordinates into [-1, 1]; nodes that are not placed lie outside, at 9. */
  _normalise() {
    const { x, y } = this.nodes;
    const N = x.length;
    let [west, east, north, south] = [Infinity, -Infinity, Infinity, -Infinity];
    for (let i = 0; i < N; i++) {
      if (!(Number.isFinite(x[i]) && Number.isFinite(y[i]))) continue;
      west = Math.min(west, x[i]); east = Math.max(east, x[i]);
      north = Math.min(north, y[i]); south = Math.max(south, y[i]);
    }
    const half = Math.max(east - west, south - north) / 2 || 1;
    this.positions = new Float32Array(2 * N);
    const placed = [];
    for (let i = 0; i < N; i++) {
      const here = Number.isFinite(x[i]) && Number.isFinite(y[i]);
      this.positions[2 * i] = here ? (x[i] - (west + east) / 2) / half : 9;
      this.positions[2 * i + 1] = here ? (y[i] - (north + south) / 2) / half : 9;
      if (here) placed.push(i);
    }
    this.placed = Uint32Array.from(placed);
    this.grid = BrgclPoints.grid(this.positions, this.placed);
    this.colours = new Uint8Array(4 * N);
    this.shapes = new Uint8Array(N);
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
    this.canvas = make("canvas", "map-points", this.stage);
    this.points = BrgclMap.plain ? null : BrgclPoints.open(this.canvas, this.positions);
    if (!this.points) this._usePlainCanvas();
    this.overlay = make("canvas", "map-overlay", this.stage);
    const zoom = make("div", "map-zoom", this.stage);
    for (const [sign, what, act] of [
      ["+", "Zoom in", () => this._zoom(1.5)],
      ["−", "Zoom out", () => this._zoom(1 / 1.5)],
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
    this.legend = make("div", "map-legend", this.element);
    this.state = { width: 1, height: 1, scale: 1, left: 0, top: 0, density: 1, point: 3, home: 1 };
  }

  _usePlainCanvas() {
    const canvas = document.createElement("canvas");
    canvas.className = "map-points";
    this.canvas.replaceWith(canvas);
    this.canvas = canvas;
    this.points = BrgclPoints.openPlain(canvas, this.positions);
  }

  _listen() {
    const stage = this.stage;
    const place = (event) => {
      const box = stage.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    const fingers = new Map();
    let moved = 0;
    stage.addEventListener("pointerdown", (event) => {
      if (event.target.closest("button") || event.button > 0) return;
      const [x, y] = place(event);
      fingers.set(event.pointerId, [x, y]);
      moved = 0;
      if (event.shiftKey && this.options.onBox) this.box = [x, y, x, y];
      try { stage.setPointerCapture(event.pointerId); } catch { /* the pointer has gone */ }
    });
    stage.addEventListener("pointermove", (event) => {
      const [x, y] = place(event);
      const before = fingers.get(event.pointerId);
      if (!before) return this._hover(event.target.closest("button") ? -1 : this._at(x, y), x, y);
      moved += Math.abs(x - before[0]) + Math.abs(y - before[1]);
      if (this.box) {
        this.box.splice(2, 2, x, y);
      } else if (fingers.size === 2) {
        const other = [...fingers].find(([id]) => id !== event.pointerId)[1];
        const far = (a) => Math.hypot(a[0] - other[0], a[1] - other[1]) || 1;
        this._zoom(far([x, y]) / far(before), (x + other[0]) / 2, (y + other[1]) / 2);
      } else if (moved > 3) {
        this._move(x - before[0], y - before[1]);
      }
      fingers.set(event.pointerId, [x, y]);
      this._hover(-1);
      return undefined;
    });
    const up = (event) => {
      if (!fingers.delete(event.pointerId)) return;
      const [x, y] = place(event);
      if (this.box) {
        const box = this.box;
        this.box = null;
        this._later();
        if (moved > 3) this.options.onBox(this._inside(box));
      } else if (moved <= 3 && event.type === "pointerup") {
        const found = this._at(x, y);
        this.select(found);
        if (this.options.onSelect) this.options.onSelect(found);
      }
    };
    stage.addEventListener("pointerup", up);
    stage.addEventListener("pointercancel", up);
    stage.addEventListener("pointerleave", () => this._hover(-1));
    stage.addEventListener("wheel", (event) => {
      const meant = event.ctrlKey || event.metaKey || stage.contains(document.activeElement);
      if (!meant) return this._say("Click the map or hold Ctrl to zoom with the wheel"); // else the page scrolls
      event.preventDefault();
      return this._zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.002)), ...place(event));
    }, { passive: false });
    stage.addEventListener("dblclick", (event) => {
      if (!event.target.closest("button")) this._zoom(2, ...place(event));
    });
    const keys = {
      ArrowLeft: () => this._move(60, 0), ArrowRight: () => this._move(-60, 0),
      ArrowUp: () => this._move(0, 60), ArrowDown: () => this._move(0, -60),
      "+": () => this._zoom(1.3), "=": () => this._zoom(1.3), "-": () => this._zoom(1 / 1.3),
      0: () => this.reset(),
      Escape: () => { this.select(-1); if (this.options.onSelect) this.options.onSelect(-1); },
    };
    stage.addEventListener("keydown", (event) => {
      const act = keys[event.key];
      if (!act || event.target !== stage || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      act();
    });
    const repaint = () => { this._legend(); this._paint(); };
    document.addEventListener("brgcl:theme", repaint);
    if (window.matchMedia)
      matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
    this.canvas.addEventListener("webglcontextlost", () => {
      this._usePlainCanvas();
      this._resize();
      this._paint();
    });
  }

  _resize() {
    const { clientWidth: width, clientHeight: height } = this.stage;
    if (!width || !height) return;
    const { state } = this;
    const wasHome = state.scale === state.home;
    state.left += (width - state.width) / 2;
    state.top += (height - state.height) / 2;
    Object.assign(state, { width, height, density: Math.min(window.devicePixelRatio || 1, 2) });
    for (const canvas of [this.canvas, this.overlay]) {
      canvas.width = Math.round(width * state.density);
      canvas.height = Math.round(height * state.density);
    }
    if (wasHome) this.reset();
    this._later();
  }

  _move(x, y) {
    this.state.left += x;
    this.state.top += y;
    this._later();
  }

  _zoom(factor, x = this.state.width / 2, y = this.state.height / 2) {
    const { state } = this;
    const scale = Math.max(state.home * 0.5, Math.min(state.home * 400, state.scale * factor));
    const grown = scale / state.scale;
    state.left = x + (state.left - x) * grown;
    state.top = y + (state.top - y) * grown;
    state.scale = scale;
    this._hover(-1);
    this._later();
  }

  _say(text) {
    this.hint.textContent = text;
    this.hint.classList.add("shown");
    clearTimeout(this.hintTimer);
    this.hintTimer = setTimeout(() => this.hint.classList.remove("shown"), 1500);
  }

  _isShown(i) {
    return this.colours[4 * i + 3] > 40;
  }

  _at(x, y) {
    const { scale, left, top, point } = this.state;
    const radius = Math.max(6, point) / scale;
    return this.grid.nearest((x - left) / scale, (y - top) / scale, radius, (i) => this._isShown(i));
  }

  _inside([x1, y1, x2, y2]) {
    const found = [];
    for (const i of this.placed) {
      const [x, y] = this._onScreen(i);
      const inside = (x - x1) * (x - x2) <= 0 && (y - y1) * (y - y2) <= 0;
      if (inside && this._isShown(i)) found.push(i);
    }
    return found;
  }

  _hover(index, x, y) {
    if (index === this.hovered && index < 0) return;
    this.hovered = index;
    this.tip.hidden = index < 0 || !this.options.describe;
    this.stage.classList.toggle("over-node", index >= 0);
    if (!this.tip.hidden) {
      this.tip.replaceChildren(...BrgclMap.lines(this.options.describe(index)));
      const { offsetWidth: w, offsetHeight: h } = this.tip;
      const { width, height } = this.state;
      const right = x + 16 + w < width ? x + 16 : Math.max(4, x - w - 16);
      const below = y + 16 + h < height ? y + 16 : Math.max(4, y - h - 16);
      this.tip.style.transform = `translate(${right}px, ${below}px)`;
    }
    this._later();
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

  /** Give every node its colour, shape and place in the order of drawing: the last lie on top. */
  _paint() {
    const { colouring, colours, shapes, hidden, visible } = this;
    const byClass = colouring.kind === "class";
    const known = new Map();
    const numbers = Array.from({ length: 256 }, (_, i) => BrgclPalette.ofNumber(i / 255, colouring.scale));
    const none = BrgclPalette.ofClass(-1);
    const back = [];
    let front = [];
    for (const i of this.placed) {
      let rgb;
      let code = -1;
      if (byClass) {
        code = colouring.codes[i];
        if (!known.has(code)) known.set(code, BrgclPalette.ofClass(code));
        rgb = known.get(code);
        shapes[i] = BrgclPalette.shapeOf(code);
      } else {
        const value = colouring.values[i];
        rgb = value >= 0 ? numbers[Math.min(255, Math.round(value * 255))] : none;
        shapes[i] = 0;
        if (value >= 0) code = 0;
      }
      colours[4 * i] = rgb[0]; colours[4 * i + 1] = rgb[1]; colours[4 * i + 2] = rgb[2];
      const dim = visible !== null && !visible[i];
      colours[4 * i + 3] = hidden.has(code) ? 0 : dim ? 26 : code < 0 ? 150 : 225;
      (code < 0 || dim ? back : front).push(i);
    }
    if (colouring.scale === "suspicion")
      front = Uint32Array.from(front).sort((a, b) => colouring.values[a] - colouring.values[b]);
    const order = new Uint32Array(back.length + front.length);
    order.set(back);
    order.set(front, back.length);
    this.points.paint(colours, shapes, order);
    this._later();
  }

  _legend() {
    const { colouring } = this;
    this.legend.replaceChildren();
    if (colouring.kind === "number") return this._numberLegend();
    const counts = new Map();
    for (const i of this.placed)
      counts.set(colouring.codes[i], (counts.get(colouring.codes[i]) || 0) + 1);
    const entries = colouring.names.map((name, code) => [code, name]);
    if (counts.has(-1)) entries.push([-1, colouring.none || "none"]);
    for (const [code, name] of entries) {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "legend-entry";
      button.setAttribute("aria-pressed", String(!this.hidden.has(code)));
      button.title = "Click hides or shows; double click shows this one alone";
      const count = document.createElement("small");
      count.textContent = (counts.get(code) || 0).toLocaleString("en");
      const text = Object.assign(document.createElement("span"), { textContent: name });
      button.append(BrgclPalette.swatch(code), text, count);
      button.addEventListener("click", () => this._toggle(code, entries));
      button.addEventListener("dblclick", () => this._alone(code, entries));
      this.legend.append(button);
    }
    return undefined;
  }

  _numberLegend() {
    const { scale, low, high, none, values } = this.colouring;
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
    this.legend.append(text(low), bar, text(high));
    if (this.placed.some((i) => !(values[i] >= 0)))
      this.legend.append(BrgclPalette.swatch(-1), text(none || "none"));
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
      this.legend.children[i].setAttribute("aria-pressed", String(!this.hidden.has(code))));
    this._paint();
  }

  _later() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => { this.waiting = false; this.draw(); });
  }

  /** Draw now; all other methods wait for the next frame. */
  draw() {
    const { state } = this;
    const room = Math.sqrt((state.width * state.height) / Math.max(1, this.placed.length));
    const zoomed = state.scale / state.home;
    state.point = Math.max(2, Math.min(9, room * 0.35)) * Math.max(0.8, Math.min(3, zoomed ** 0.4));
    this.points.draw(state);
    this._drawOverlay();
    this.stage.dataset.drawn = this.points.kind;
  }

  _drawOverlay() {
    const { state, overlay } = this;
    const context = overlay.getContext("2d");
    context.setTransform(state.density, 0, 0, state.density, 0, 0);
    context.clearRect(0, 0, state.width, state.height);
    const ink = getComputedStyle(this.element).color;
    context.strokeStyle = ink;
    const ring = (i, radius, width) => {
      if (!this._isPlaced(i)) return;
      context.lineWidth = width;
      context.beginPath();
      context.arc(...this._onScreen(i), radius, 0, 7);
      context.stroke();
    };
    if (this.selected >= 0 && this._isPlaced(this.selected)) {
      const from = this._onScreen(this.selected);
      context.lineWidth = 1.2;
      context.globalAlpha = this.neighbours.length > 200 ? 0.25 : 0.6;
      context.beginPath();
      for (const i of this.neighbours) {
        if (!this._isPlaced(i)) continue;
        context.moveTo(...from);
        context.lineTo(...this._onScreen(i));
      }
      context.stroke();
      context.globalAlpha = 1;
      if (this.neighbours.length <= 200)
        for (const i of this.neighbours) ring(i, state.point / 2 + 2, 1.2);
      ring(this.selected, state.point / 2 + 5, 3);
    }
    if (this.hovered >= 0) ring(this.hovered, state.point / 2 + 3, 1.5);
    if (this.box) {
      const [x1, y1, x2, y2] = this.box;
      context.setLineDash([5, 4]);
      context.lineWidth = 1.2;
      context.strokeRect(x1, y1, x2 - x1, y2 - y1);
      context.setLineDash([]);
    }
  }
}
BrgclMap.count = 0;
