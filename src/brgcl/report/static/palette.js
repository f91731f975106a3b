/* Colours of classes and numbers. Classes differ by colour and then by shape, so that 72 of them
 * stay apart, also for readers who see few colours; six colours after Okabe &
 * Ito (2008) and two more that keep apart from them for every kind of colour blindness. */
"use strict";

const BrgclPalette = (() => {
  const CLASSES = {
    light: ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#6b2a10", "#7a1fd0"],
    dark: ["#2f86e0", "#e69f00", "#00a87a", "#d584b0", "#7cc8f5", "#e0611a", "#e7e79d", "#a44dff"],
  };
  const NUMBERS = {
    confidence: {
      light: ["#d8d3c4", "#a9c3b0", "#5fa3a3", "#2c6f91", "#1b3a6b"],
      dark: ["#4a4a52", "#4a6670", "#4f8fa0", "#7fc2c4", "#e3f2d4"],
    },
    suspicion: {
      light: ["#cfd4da", "#d9c5b2", "#e7a06b", "#d95f20", "#8f1d0c"],
      dark: ["#3d4450", "#67584f", "#a8692f", "#ef7f34", "#ffd2a0"],
    },
  };
  const NONE = { light: "#c3c8cf", dark: "#454c57" };
  const SHAPES = 9;

  function theme() {
    if (matchMedia("print").matches) return "light"; // so is paper
    const chosen = document.documentElement.dataset.theme;
    if (chosen === "dark" || chosen === "light") return chosen;
    return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  }

  function parse(hex) {
    return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
  }

  /** Colour [r, g, b] of a class; a negative code is no class. */
  function ofClass(code) {
    const colours = CLASSES[theme()];
    return parse(code < 0 ? NONE[theme()] : colours[code % colours.length]);
  }

  /** Shape of a class, 0 = circle; it changes when the colours are used up. */
  function shapeOf(code) {
    return code < 0 ? 0 : Math.floor(code / CLASSES.light.length) % SHAPES;
  }

  /** Colour [r, g, b] of a share in [0, 1] on a scale; NaN is no number. */
  function ofNumber(share, scale) {
    if (!(share >= 0)) return parse(NONE[theme()]);
    const stops = (NUMBERS[scale] || NUMBERS.confidence)[theme()];
    const place = Math.min(share, 1) * (stops.length - 1);
    const low = Math.min(Math.floor(place), stops.length - 2);
    const [a, b] = [parse(stops[low]), parse(stops[low + 1])];
    return a.map((value, i) => Math.round(value + (b[i] - value) * (place - low)));
  }

  /** Give the nodes of a map their colours and shapes, in place.
   *
   * colouring as in map.js; hidden = codes that are not drawn, visible = mask of nodes that are not
   * dimmed, or null. Returns the order in which they are drawn: the last lie on top. */
  function paint(colouring, placed, hidden, visible, colours, shapes) {
    const known = new Map();
    const numbers = Array.from({ length: 256 }, (_, i) => ofNumber(i / 255, colouring.scale));
    const none = ofClass(-1);
    const back = [];
    let front = [];
    for (const i of placed) {
      let rgb;
      let code = -1;
      if (colouring.kind === "class") {
        code = colouring.codes[i];
        if (!known.has(code)) known.set(code, ofClass(code));
        rgb = known.get(code);
        shapes[i] = shapeOf(code);
      } else {
        const value = colouring.values[i];
        rgb = value >= 0 ? numbers[Math.min(255, Math.round(value * 255))] : none;
        shapes[i] = 0;
        if (value >= 0) code = 0;
      }
      [colours[4 * i], colours[4 * i + 1], colours[4 * i + 2]] = rgb;
      const dim = visible !== null && !visible[i];
      colours[4 * i + 3] = hidden.has(code) ? 0 : dim ? 26 : code < 0 ? 150 : 225;
      (code < 0 || dim ? back : front).push(i);
    }
    if (colouring.scale === "suspicion")
      front = Uint32Array.from(front).sort((a, b) => colouring.values[a] - colouring.values[b]);
    const order = new Uint32Array(back.length + front.length);
    order.set(back);
    order.set(front, back.length);
    return order;
  }

  const css = (rgb) => `rgb(${rgb[0]}, ${rgb[1]}, ${rgb[2]})`;

  /** Outline of a shape in a box of 2 x 2 around the origin, as an SVG path. */
  const PATHS = [
    "M-.9 0a.9 .9 0 1 0 1.8 0a.9 .9 0 1 0 -1.8 0Z",
    "M-.8-.8H.8V.8H-.8Z",
    "M0-1L1 0L0 1L-1 0Z",
    "M0-.9L.95 .75H-.95Z",
    "M0 .9L.95-.75H-.95Z",
    "M-.32-.95H.32V-.32H.95V.32H.32V.95H-.32V.32H-.95V-.32H-.32Z",
    "M0-.45L.5-.95L.95-.5L.45 0L.95 .5L.5 .95L0 .45L-.5 .95L-.95 .5L-.45 0L-.95-.5L-.5-.95Z",
    "M-.95 0a.95 .95 0 1 0 1.9 0a.95 .95 0 1 0 -1.9 0ZM-.45 0a.45 .45 0 1 1 .9 0a.45 .45 0 1 1 -.9 0Z",
    "M-.9-.9H.9V.9H-.9ZM-.42-.42V.42H.42V-.42Z",
  ];

  /** A small picture of a class, for legends and tables. */
  function swatch(code) {
    const space = "http://www.w3.org/2000/svg";
    const picture = document.createElementNS(space, "svg");
    picture.setAttribute("viewBox", "-1.1 -1.1 2.2 2.2");
    picture.setAttribute("class", "swatch");
    picture.setAttribute("aria-hidden", "true");
    const path = document.createElementNS(space, "path");
    path.setAttribute("d", PATHS[shapeOf(code)]);
    path.setAttribute("fill", css(ofClass(code)));
    path.dataset.code = String(code);
    path.setAttribute("fill-rule", "evenodd");
    picture.append(path);
    return picture;
  }

  function recolour() {
    for (const path of document.querySelectorAll(".swatch path"))
      path.setAttribute("fill", css(ofClass(Number(path.dataset.code))));
  }
  document.addEventListener("brgcl:theme", recolour);
  for (const query of ["(prefers-color-scheme: dark)", "print"])
    matchMedia(query).addEventListener("change", recolour);

  return { theme, ofClass, ofNumber, shapeOf, paint, css, swatch };
})();
