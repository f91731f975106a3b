/* Draws many points on a canvas: by WebGL 2 where there is one, else on a plain canvas.
 *
 * Written by hand because plotly's scattergl would add 4.8 MB to every page and needs eval, which
 * the page's content security policy refuses. */
"use strict";

const BrgclPoints = (() => {
  const VERTEX = `#version 300 es
    in vec2 position; in vec4 colour; in float shape;
    uniform vec2 size; uniform vec3 view; uniform float width;
    out vec4 tint; flat out int form;
    void main() {
      vec2 p = (position * view.x + view.yz) / size * 2.0 - 1.0;
      gl_Position = colour.a == 0.0 ? vec4(2.0, 2.0, 2.0, 1.0) : vec4(p.x, -p.y, 0.0, 1.0);
      gl_PointSize = width;
      tint = colour; form = int(shape + 0.5);
    }`;
  const FRAGMENT = `#version 300 es
    precision highp float;
    in vec4 tint; flat in int form;
    uniform float width;
    out vec4 result;
    void main() {
      vec2 c = gl_PointCoord * 2.0 - 1.0;
      vec2 a = abs(c);
      float box = max(a.x, a.y), d;
      if (form == 1) d = box - 0.8;
      else if (form == 2) d = (a.x + a.y - 1.0) * 0.7;
      else if (form == 3) d = max(c.y - 0.75, a.x * 0.87 - (c.y + 0.95) * 0.5);
      else if (form == 4) d = max(-c.y - 0.75, a.x * 0.87 - (0.95 - c.y) * 0.5);
      else if (form == 5) d = max(min(a.x, a.y) - 0.32, box - 0.95);
      else if (form == 6) {
        vec2 t = vec2(abs(c.x + c.y), abs(c.x - c.y)) * 0.707;
        d = max(min(t.x, t.y) - 0.32, max(t.x, t.y) - 1.0);
      }
      else if (form == 7) d = abs(length(c) - 0.68) - 0.25;
      else if (form == 8) d = abs(box - 0.66) - 0.24;
      else d = length(c) - 0.9;
      float edge = 1.5 / width;
      float alpha = tint.a * (1.0 - smoothstep(-edge, edge, d));
      if (alpha < 0.01) discard;
      result = vec4(tint.rgb * alpha, alpha);
    }`;

  function withWebGL(canvas, positions) {
    const gl = canvas.getContext("webgl2", {
      antialias: false, depth: false, preserveDrawingBuffer: true, // so that the map prints
    });
    if (!gl) return null;
    const program = gl.createProgram();
    for (const [kind, source] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, source.trim());
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS)) return null;
    gl.useProgram(program);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    const place = (name) => gl.getUniformLocation(program, name);
    const [size, view, width] = [place("size"), place("view"), place("width")];
    function attach(name, numbers, count, type, normalised) {
      const buffer = gl.createBuffer();
      const at = gl.getAttribLocation(program, name);
      gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
      gl.bufferData(gl.ARRAY_BUFFER, numbers, gl.DYNAMIC_DRAW);
      gl.enableVertexAttribArray(at);
      gl.vertexAttribPointer(at, count, type, normalised, 0, 0);
      return (changed) => {
        gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
        gl.bufferSubData(gl.ARRAY_BUFFER, 0, changed);
      };
    }
    const N = positions.length / 2;
    attach("position", positions, 2, gl.FLOAT, false);
    const setColours = attach("colour", new Uint8Array(4 * N), 4, gl.UNSIGNED_BYTE, true);
    const setShapes = attach("shape", new Uint8Array(N), 1, gl.UNSIGNED_BYTE, false);
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, gl.createBuffer());
    let count = 0;
    return {
      kind: "webgl",
      paint(colours, shapes, order) {
        setColours(colours);
        setShapes(shapes);
        gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, order, gl.DYNAMIC_DRAW);
        count = order.length;
      },
      draw(state) {
        gl.viewport(0, 0, canvas.width, canvas.height);
        gl.clearColor(0, 0, 0, 0);
        gl.clear(gl.COLOR_BUFFER_BIT);
        gl.uniform2f(size, state.width, state.height);
        gl.uniform3f(view, state.scale, state.left, state.top);
        gl.uniform1f(width, state.point * state.density);
        gl.drawElements(gl.POINTS, count, gl.UNSIGNED_INT, 0);
      },
    };
  }

  function onPlainCanvas(canvas, positions) {
    const context = canvas.getContext("2d");
    let [colours, order] = [new Uint8Array(0), []];
    return {
      kind: "canvas",
      paint(newColours, shapes, newOrder) {
        [colours, order] = [newColours, newOrder];
      },
      draw(state) {
        context.setTransform(state.density, 0, 0, state.density, 0, 0);
        context.clearRect(0, 0, state.width, state.height);
        const side = state.point * 0.85;
        for (const i of order) {
          if (colours[4 * i + 3] === 0) continue;
          const x = positions[2 * i] * state.scale + state.left;
          const y = positions[2 * i + 1] * state.scale + state.top;
          if (x < 0 || y < 0 || x > state.width || y > state.height) continue;
          context.fillStyle = `rgba(${colours[4 * i]},${colours[4 * i + 1]},${colours[4 * i + 2]},${colours[4 * i + 3] / 255})`;
          context.fillRect(x - side / 2, y - side / 2, side, side);
        }
      },
    };
  }

  /** Bring coordinates into [-1, 1].
   *
   * Returns the positions, x and y in turn, the indices of the points that have a place, and how far
   * they reach to both sides; points that have none lie outside, at 9. */
  function normalise(x, y) {
    const N = x.length;
    let [west, east, north, south] = [Infinity, -Infinity, Infinity, -Infinity];
    const placed = [];
    for (let i = 0; i < N; i++) {
      if (!(Number.isFinite(x[i]) && Number.isFinite(y[i]))) continue;
      west = Math.min(west, x[i]); east = Math.max(east, x[i]);
      north = Math.min(north, y[i]); south = Math.max(south, y[i]);
      placed.push(i);
    }
    const half = Math.max(east - west, south - north) / 2 || 1;
    const positions = new Float32Array(2 * N).fill(9);
    for (const i of placed) {
      positions[2 * i] = (x[i] - (west + east) / 2) / half;
      positions[2 * i + 1] = (y[i] - (north + south) / 2) / half;
    }
    const reach = [(east - west) / 2 / half || 1, (south - north) / 2 / half || 1];
    return { positions, placed: Uint32Array.from(placed), reach };
  }

  /** Squares of a grid with the points in each, to find the point under the pointer. */
  function grid(positions, placed) {
    const side = Math.max(1, Math.min(512, Math.ceil(Math.sqrt(placed.length / 2))));
    const cell = (v) => Math.max(0, Math.min(side - 1, Math.floor(((v + 1) / 2) * side)));
    const starts = new Uint32Array(side * side + 1);
    const homes = placed.map((i) => cell(positions[2 * i + 1]) * side + cell(positions[2 * i]));
    for (const home of homes) starts[home + 1] += 1;
    for (let i = 0; i < side * side; i++) starts[i + 1] += starts[i];
    const next = starts.slice();
    const members = new Uint32Array(placed.length);
    placed.forEach((node, i) => { members[next[homes[i]]++] = node; });
    return {
      /** The nearest point within a radius that passes a test; -1 if there is none. */
      nearest(x, y, radius, passes) {
        let [best, least] = [-1, radius * radius];
        for (let row = cell(y - radius); row <= cell(y + radius); row++) {
          for (let column = cell(x - radius); column <= cell(x + radius); column++) {
            const home = row * side + column;
            for (let i = starts[home]; i < starts[home + 1]; i++) {
              const node = members[i];
              const far = (positions[2 * node] - x) ** 2 + (positions[2 * node + 1] - y) ** 2;
              if (far <= least && passes(node)) [best, least] = [node, far];
            }
          }
        }
        return best;
      },
    };
  }

  return {
    normalise,
    grid,
    open: (canvas, positions) => withWebGL(canvas, positions),
    openPlain: (canvas, positions) => onPlainCanvas(canvas, positions),
  };
})();
