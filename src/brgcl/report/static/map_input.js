/* Pointer, wheel and keys of a map: drag moves, pinch and wheel zoom, Shift + drag frames nodes. */
"use strict";

function listenToMap(map) {
  const { stage, options } = map;
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
    if (event.shiftKey && options.onBox) map.frame([x, y, x, y]);
    try { stage.setPointerCapture(event.pointerId); } catch { /* the pointer has gone */ }
  });
  stage.addEventListener("pointermove", (event) => {
    const [x, y] = place(event);
    const before = fingers.get(event.pointerId);
    if (!before) return map.hover(event.target.closest("button") ? -1 : map.at(x, y), x, y);
    moved += Math.abs(x - before[0]) + Math.abs(y - before[1]);
    if (map.box) {
      map.frame([map.box[0], map.box[1], x, y]);
    } else if (fingers.size === 2) {
      const other = [...fingers].find(([id]) => id !== event.pointerId)[1];
      const far = (a) => Math.hypot(a[0] - other[0], a[1] - other[1]) || 1;
      map.zoom(far([x, y]) / far(before), (x + other[0]) / 2, (y + other[1]) / 2);
    } else if (moved > 3) {
      map.move(x - before[0], y - before[1]);
    }
    fingers.set(event.pointerId, [x, y]);
    map.hover(-1);
    return undefined;
  });
  const up = (event) => {
    if (!fingers.delete(event.pointerId)) return;
    const [x, y] = place(event);
    if (map.box) {
      const { box } = map;
      map.frame(null);
      if (moved > 3) options.onBox(map.inside(box));
    } else if (moved <= 3 && event.type === "pointerup") {
      const found = map.at(x, y);
      map.select(found);
      if (options.onSelect) options.onSelect(found);
    }
  };
  stage.addEventListener("pointerup", up);
  stage.addEventListener("pointercancel", up);
  stage.addEventListener("pointerleave", () => map.hover(-1));
  stage.addEventListener("wheel", (event) => {
    const meant = event.ctrlKey || event.metaKey || stage.contains(document.activeElement);
    if (!meant) return map.say("Click the map or hold Ctrl to zoom with the wheel"); // else the page scrolls
    event.preventDefault();
    return map.zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.002)), ...place(event));
  }, { passive: false });
  stage.addEventListener("dblclick", (event) => {
    if (!event.target.closest("button")) map.zoom(2, ...place(event));
  });
  const keys = {
    ArrowLeft: () => map.move(60, 0), ArrowRight: () => map.move(-60, 0),
    ArrowUp: () => map.move(0, 60), ArrowDown: () => map.move(0, -60),
    "+": () => map.zoom(1.3), "=": () => map.zoom(1.3), "-": () => map.zoom(1 / 1.3),
    0: () => map.reset(),
    Escape: () => { map.select(-1); if (options.onSelect) options.onSelect(-1); },
  };
  stage.addEventListener("keydown", (event) => {
    const act = keys[event.key];
    if (!act || event.target !== stage || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act();
  });
  const repaint = () => map.repaint();
  document.addEventListener("brgcl:theme", repaint);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
  matchMedia("print").addEventListener("change", () => map.redraw()); // no frame comes before paper
  map.picture.canvas.addEventListener("webglcontextlost", () => map.usePlainCanvas());
}
