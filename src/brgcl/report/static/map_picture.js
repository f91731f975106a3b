/* BrgclPicture: the points of a map and the marks over them, on two canvases that move together.
 *
 * Drawing 100,000 points takes a software renderer longer than a frame may take. While a view with
 * many points moves, its last picture is therefore shifted and stretched; it is drawn anew when the
 * view rests, is stretched too far, or would show what the picture does not have. The picture is
 * larger than the stage, so that this happens seldom.
 *
 * A view is { width, height, density, scale, left, top, point }: a point p in [-1, 1] lies at
 * p * scale + left, in CSS pixels of the stage. */
"use strict";

class BrgclPicture {
  /** stage = where it lies, positions = x and y of each point in turn, many = whether
   * they are so many that a frame cannot draw them. */
  constructor(stage, positions, { many }) {
    this.positions = positions;
    this.shifts = many; // whether a view that moves shifts the last picture
    this.rest = 120; // milliseconds without a movement after which it is drawn anew
    this.drawn = null; // the view that was drawn, in pixels of the picture
    this.layer = document.createElement("div");
    this.layer.className = "map-layer";
    this.canvas = this._canvas("map-points");
    this.overlay = this._canvas("map-overlay");
    this.layer.append(this.canvas, this.overlay);
    stage.append(this.layer);
    this.points = BrgclPoints.open(this.canvas, positions);
    if (!this.points) this.usePlainCanvas();
  }

  /** Draw on a canvas without WebGL from now on. */
  usePlainCanvas() {
    const canvas = this._canvas("map-points");
    this.canvas.replaceWith(canvas);
    this.canvas = canvas;
    this.points = BrgclPoints.openPlain(canvas, this.positions);
    this.drawn = null;
  }

  /** Fit the canvases to the stage. */
  resize({ width, height, density }) {
    const part = this.shifts ? 0.25 : 0; // of the stage, on each side
    this.margin = [Math.round(width * part), Math.round(height * part)];
    const [across, down] = [width + 2 * this.margin[0], height + 2 * this.margin[1]];
    for (const canvas of [this.canvas, this.overlay]) {
      canvas.width = Math.round(across * density);
      canvas.height = Math.round(down * density);
    }
    Object.assign(this.layer.style, { left: `${-this.margin[0]}px`, top: `${-this.margin[1]}px` });
    Object.assign(this.layer.style, { width: `${across}px`, height: `${down}px` });
    this.drawn = null;
  }

  /** Give the points other colours, shapes and another order. */
  paint(colours, shapes, order) {
    this.points.paint(colours, shapes, order);
    this.drawn = null;
  }

  /** Show a view. mark(context, place) draws over the points, where place(i) is that of a point;
   * marked = whether it would draw something else than before. */
  show(view, mark, marked) {
    clearTimeout(this.timer);
    const same = this.drawn && this._offset(view).every((step) => step === 0);
    if (!same && !(this.drawn && this.shifts && this._reaches(view)))
      return this._drawAll(view, mark);
    this._shift(view);
    if (marked) this._drawMarks(mark);
    if (!same) this.timer = setTimeout(() => this._drawAll(view, mark), this.rest);
    return undefined;
  }

  _canvas(name) {
    const canvas = document.createElement("canvas");
    canvas.className = name;
    return canvas;
  }

  /** How far the view is from what was drawn: the logarithm of the zoom, and two shifts. */
  _offset({ scale, left, top }) {
    const { drawn, margin } = this;
    const zoom = scale / drawn.scale;
    return [Math.log(zoom), left + margin[0] - zoom * drawn.left, top + margin[1] - zoom * drawn.top];
  }

  /** Whether the picture, shifted, has every point that the view shows, and is sharp enough. */
  _reaches({ width, height, scale, left, top, point }) {
    const [zoom, x, y] = this._offset({ scale, left, top });
    const reaches = (size, margin, at, shift) => {
      const [start, end] = [shift - margin, shift - margin + Math.exp(zoom) * (size + 2 * margin)];
      return start <= Math.max(0, at - scale - point) && end >= Math.min(size, at + scale + point);
    };
    const sharp = Math.abs(zoom) < Math.log(2);
    return sharp && reaches(width, this.margin[0], left, x) && reaches(height, this.margin[1], top, y);
  }

  _shift(view) {
    const [zoom, x, y] = this._offset(view);
    this.layer.style.transform = `translate(${x}px, ${y}px) scale(${Math.exp(zoom)})`;
  }

  _drawAll(view, mark) {
    const [across, down] = this.margin;
    this.drawn = {
      ...view, width: view.width + 2 * across, height: view.height + 2 * down,
      left: view.left + across, top: view.top + down,
    };
    this.points.draw(this.drawn);
    this._shift(view);
    this._drawMarks(mark);
  }

  _drawMarks(mark) {
    const { width, height, density, scale, left, top } = this.drawn;
    const context = this.overlay.getContext("2d");
    context.setTransform(density, 0, 0, density, 0, 0);
    context.clearRect(0, 0, width, height);
    const { positions } = this;
    mark(context, (i) => [positions[2 * i] * scale + left, positions[2 * i + 1] * scale + top]);
  }
}
