/* One node on the page: its labels, the reason, its neighbours and the keys of other classes. */
import { $, label, length, make, percent } from "./elements.js";

/** Show a node.
 *
 * about = what the server says about it; judged = { given, suggested, probability } with codes of
 * classes, or null for a node without a label; line(about) makes an entry of a list of nodes. */
export function showNode(about, judged, line) {
  $("shown").hidden = false;
  $("done").hidden = true;
  $("node-id").textContent = about.id;
  $("given").replaceChildren(judged ? label(judged.given, about.given) : "none");
  const sure = judged && judged.probability !== null ? percent(judged.probability, 0) : "";
  $("suggested").replaceChildren(...(judged
    ? [label(judged.suggested, about.suggested), make("small", { textContent: sure })] : ["–"]));
  $("reason").textContent = judged ? about.reason : "This node has no label, so there is nothing to decide.";
  $("neighbours-title").textContent = about.num_neighbours === 1 ? "1 neighbour" : `${about.num_neighbours.toLocaleString("en")} neighbours`;
  $("shares").replaceChildren(...(judged
    ? [share("given", about.neighbours_given), share("suggested", about.neighbours_suggested)] : []));
  $("neighbours").replaceChildren(...about.neighbours.map(line));
  const more = about.num_neighbours - about.neighbours.length;
  if (more > 0)
    $("neighbours").append(make("li", { className: "plain note", textContent: `and ${more.toLocaleString("en")} more` }));
  $("nearest").replaceChildren(...(about.nearest || []).map(line));
}

/** An entry of a list of nodes; code = class of its label, -1 for none. */
export function nodeLine(about, code, text, open) {
  if (about.text !== undefined) return make("li", { className: "plain", textContent: about.text });
  const button = make("button", { type: "button", title: `Show ${about.id}` },
    make("span", { textContent: about.id }), label(code, code < 0 ? "no label" : text));
  button.addEventListener("click", () => open(about.row));
  return make("li", {}, button);
}

/** Codes of keys 1 to 9: every class in its order, or, if there are more, those around the node. */
export function quickClasses(classes, about, judged) {
  const codes = classes.map((_, code) => code);
  if (classes.length <= 9 || !judged) return codes;
  const near = new Map();
  for (const one of [...about.neighbours, ...(about.nearest || [])])
    if (one.label) near.set(one.label, (near.get(one.label) || 0) + 1);
  const count = (code) => near.get(classes[code]) || 0;
  const others = codes.filter((code) => code !== judged.given && code !== judged.suggested);
  return others.sort((a, b) => count(b) - count(a) || a - b).slice(0, 9);
}

/** Buttons of these classes; pick(code) is called when one is pressed. */
export function showQuickClasses(codes, classes, pick) {
  $("others").querySelector("ol").replaceChildren(...codes.map((code, i) => {
    const button = make("button", { type: "button", className: "button" },
      make("kbd", { textContent: i + 1 }), label(code, classes[code]));
    button.addEventListener("click", () => pick(code));
    return make("li", {}, button);
  }));
}

function share(what, value) {
  const bar = make("i");
  bar.style.width = length(value || 0);
  return make("div", { className: "share" }, make("span", { textContent: what }), make("div", {}, bar),
    make("b", { textContent: value === null || value === undefined ? "–" : percent(value, 0) }));
}
