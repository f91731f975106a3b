/* Small charts: lines, columns, bars and a heat map, as elements that can be read and printed. */
"use strict";

const BrgclCharts = (() => {
  const SVG = "http://www.w3.org/2000/svg";

  function drawn(tag, attributes, parent, text) {
    const made = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
    if (text !== undefined) made.textContent = text;
    if (parent) parent.append(made);
    return made;
  }

  function element(tag, name, parent, text) {
    const made = document.createElement(tag);
    if (name) made.className = name;
    if (text !== undefined) made.textContent = text;
    if (parent) parent.append(made);
    return made;
  }

  const short = (value) => {
    if (value === null || value === undefined || Number.isNaN(value)) return "–";
    const size = Math.abs(value);
    if (size >= 1000) return Math.round(value).toLocaleString("en");
    return String(Number(value.toPrecision(size >= 100 ? 4 : 3)));
  };
  const percent = (share) => {
    if (!(share >= 0)) return "–";
    return share > 0 && share < 0.0005 ? "<0.1\u00a0%" : `${(100 * share).toFixed(1)}\u00a0%`;
  };

  function ticks(low, high) {
    const rough = (high - low) / 4 || 1;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= rough);
    const found = [];
    for (let at = Math.ceil(low / step) * step; at <= high + step * 1e-6; at += step)
      found.push(Number(at.toPrecision(12)));
    return found;
  }

  /** Lines over a common x; series = [{ name, values }] with null for gaps. */
  function lines(title, xs, series, { unit = "epoch", from, to } = {}) {
    const figure = element("figure", "chart");
    const caption = element("figcaption", "", figure, title);
    const [width, height, left, bottom] = [340, 170, 42, 22];
    const all = series.flatMap(({ values }) => values.filter((v) => v !== null));
    let low = from ?? Math.min(...all);
    let high = to ?? Math.max(...all);
    if (low === high) { low -= 0.5; high += 0.5; }
    const [start, end] = [xs[0], xs[xs.length - 1]];
    const x = (v) => left + ((v - start) / (end - start || 1)) * (width - left - 14);
    const y = (v) => 8 + (1 - (v - low) / (high - low)) * (height - bottom - 8);
    const picture = drawn("svg", { viewBox: `0 0 ${width} ${height}`, role: "img" }, figure);
    const last = series.map(({ name, values }) => `${name} ${short(values[values.length - 1])}`);
    drawn("title", {}, picture, `${title} over ${unit}s; at the end: ${last.join(", ")}`);
    for (const tick of ticks(low, high)) {
      drawn("line", { class: "rule", x1: left, x2: width - 14, y1: y(tick), y2: y(tick) }, picture);
      drawn("text", { class: "tick", x: left - 6, y: y(tick) + 4, "text-anchor": "end" }, picture, short(tick));
    }
    for (const tick of ticks(start, end))
      drawn("text", { class: "tick", x: x(tick), y: height - 5, "text-anchor": "middle" }, picture, short(tick));
    series.forEach(({ values }, number) => {
      let path = "";
      let pen = "M";
      values.forEach((value, i) => {
        if (value === null) { pen = "M"; return; }
        path += `${pen}${x(xs[i]).toFixed(1)} ${y(value).toFixed(1)}`;
        pen = "L";
      });
      drawn("path", { class: `curve curve-${number}`, d: path || "M0 0" }, picture);
    });
    const marker = drawn("line", { class: "marker", y1: 8, y2: height - bottom, x1: -9, x2: -9 }, picture);
    const readout = element("span", "readout", caption);
    const say = (i) => {
      const parts = series.map(({ name, values }, number) =>
        element("span", series.length > 1 ? `key-${number}` : "", null,
          (number ? " " : "") + (series.length > 1 ? `${name} ` : "") + short(values[i])));
      readout.replaceChildren(...parts, i === xs.length - 1 ? "" : ` at ${xs[i]}`);
    };
    say(xs.length - 1);
    picture.addEventListener("pointermove", (event) => {
      const box = picture.getBoundingClientRect();
      const at = ((event.clientX - box.left) / box.width) * width;
      let best = 0;
      xs.forEach((v, i) => { if (Math.abs(x(v) - at) < Math.abs(x(xs[best]) - at)) best = i; });
      marker.setAttribute("x1", x(xs[best]));
      marker.setAttribute("x2", x(xs[best]));
      say(best);
    });
    picture.addEventListener("pointerleave", () => {
      marker.setAttribute("x1", -9);
      marker.setAttribute("x2", -9);
      say(xs.length - 1);
    });
    return figure;
  }

  /** Upright columns; entries = [{ name, count }]. */
  function columns(title, entries) {
    const figure = element("figure", "chart");
    element("figcaption", "", figure, title);
    const plot = element("div", entries.length > 8 ? "columns dense" : "columns", figure);
    const top = Math.max(1, ...entries.map(({ count }) => count));
    for (const { name, count } of entries) {
      const column = element("div", "column", plot);
      column.title = `${name}: ${count.toLocaleString("en")}`;
      const bar = element("div", "column-bar", column);
      bar.style.height = `${(100 * count) / top}%`;
      element("small", "", column, name);
    }
    return figure;
  }

  /** Lying bars; entries = [{ name, swatch, share, part, text, act }], share and part in [0, 1]. */
  function bars(entries) {
    const list = element("ul", "bars");
    for (const { name, swatch, share, part, text, act, hint } of entries) {
      const line = element("li", "", list);
      const label = element(act ? "button" : "span", "bar-name", line);
      if (act) { label.type = "button"; label.addEventListener("click", act); }
      if (swatch) label.append(swatch);
      element("span", "", label, name);
      label.title = hint || name;
      const track = element("div", "bar-track", line);
      const bar = element("div", "bar", track);
      bar.style.width = `${100 * share}%`;
      if (part !== undefined && part !== null) element("div", "bar-part", bar).style.width = `${100 * part}%`;
      element("span", "bar-text", line, text);
    }
    return list;
  }

  /** A matrix of shares; act(row, column) is called for a cell that is pressed. */
  function heat(names, matrix, { rowTitle, columnTitle, describe, act }) {
    const C = names.length;
    const scroll = element("div", "scroll");
    const table = element("table", `heat ${C > 12 ? (C > 30 ? "tiny" : "small") : ""}`, scroll);
    table.setAttribute("role", "grid");
    table.setAttribute("aria-label", `${rowTitle} by ${columnTitle}`);
    const head = element("tr", "", element("thead", "", table));
    element("td", "corner", head, `${rowTitle} ↓  ${columnTitle} →`);
    const body = element("tbody", "", table);
    for (const name of names) {
      const cell = element("th", "", head);
      cell.scope = "col";
      element("span", "", cell, name).title = name;
    }
    const others = matrix.flatMap((shares, i) => shares.filter((_, j) => j !== i));
    const most = others.reduce((a, b) => Math.max(a, b), 0.05); // the darkest; the diagonal is pale
    const cells = matrix.map((shares, i) => {
      const line = element("tr", "", body);
      const label = element("th", "", line, names[i]);
      label.scope = "row";
      label.title = names[i];
      return shares.map((share, j) => {
        const cell = element("td", i === j ? "same" : "", line, C <= 12 ? (share >= 0.005 ? share.toFixed(2).replace(/^0/, "") : "·") : "");
        cell.title = describe(i, j);
        cell.setAttribute("aria-label", describe(i, j));
        cell.tabIndex = -1;
        const depth = i === j ? 0.06 : 0.04 + 0.86 * (share / most) ** 0.7;
        cell.style.backgroundColor = `rgb(var(--heat) / ${depth.toFixed(3)})`;
        cell.classList.toggle("mid", depth > 0.6);
        cell.classList.toggle("deep", depth > 0.79);
        return cell;
      });
    });
    if (C) cells[0][0].tabIndex = 0;
    const press = (cell) => {
      const i = cell.parentElement.sectionRowIndex;
      act(i, cell.cellIndex - 1);
    };
    body.addEventListener("click", (event) => {
      const cell = event.target.closest("td");
      if (cell) press(cell);
    });
    body.addEventListener("keydown", (event) => {
      const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
      const cell = event.target.closest("td");
      if (!cell) return;
      if (event.key === "Enter" || event.key === " ") press(cell);
      else if (event.key in steps) {
        const [down, right] = steps[event.key];
        const line = cells[Math.max(0, Math.min(C - 1, cell.parentElement.sectionRowIndex + down))];
        const next = line[Math.max(0, Math.min(C - 1, cell.cellIndex - 1 + right))];
        cell.tabIndex = -1;
        next.tabIndex = 0;
        next.focus();
      } else return;
      event.preventDefault();
    });
    return scroll;
  }

  return { lines, columns, bars, heat, element, short, percent };
})();
