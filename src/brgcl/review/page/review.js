/* The review page: one labelled node at a time, decided by keyboard.
 *
 * A "place" is the position of a labelled node in the list of suspects, a "row" that of any node in
 * the graph, a "code" the number of a class. What was decided comes from the server alone. */
import { chooseClass, confirmBulk, showHelp } from "./dialogs.js";
import { $, label, length, make, percent } from "./elements.js";
import { Matrix } from "./matrix.js";
import { Saver, download, read } from "./saving.js";

const PROGRESS = ["to decide", "changed", "kept", "skipped"];
let run; // what /api/run says
let states = []; // of each place: { version, skipped, kind, label, who, at, bulk }
let placeOf; // row -> place
let inQueue; // places that are flagged or drawn
let map;
let matrix;
let current = null; // place shown, or null
let row = null; // row shown
let widest = 0.1; // upper end of the scale of the interval
let quick = []; // codes of keys 1 to 9
let ready = false; // whether that node is on the screen: nobody decides on what they do not see
const filter = { given: -1, suggested: -1 };
const saver = new Saver({ onSaving, onSaved, onRefused, onTrouble });

const name = (code) => run.classes[code];
const isOpen = (place) => !states[place].kind && !states[place].skipped;
const idOf = (place) => run.nodes.id[run.suspects.row[place]];
const fits = (place) =>
  (filter.given < 0 || run.suspects.given[place] === filter.given) &&
  (filter.suggested < 0 || run.suspects.suggested[place] === filter.suggested);
const isSame = (place) => run.suspects.given[place] === run.suspects.suggested[place];
const list = () => run.queue.filter(fits);

async function start() {
  try {
    run = await read("/api/run");
  } catch (error) {
    return notice(`The run cannot be shown: ${error.message}`, "Try again", () => location.reload());
  }
  document.title = `Review of ${run.run}`;
  $("run").textContent = run.run;
  $("who").textContent = run.who;
  $("next").textContent = `brgcl find-errors … --reviewed ${run.run}`;
  states = run.suspects.row.map(() => ({ version: 0, skipped: false }));
  placeOf = new Map(run.suspects.row.map((at, place) => [at, place]));
  inQueue = new Set(run.queue);
  run.drawn = new Set(run.drawn);
  matrix = new Matrix(run.classes, run.transition, pickCell);
  if (!run.transition) $("matrix-note").textContent = "How many suspects are left, by true class (row) and given label (column). Click a cell to see them alone.";
  for (const [id, field] of [["filter-given", "given"], ["filter-suggested", "suggested"]]) {
    $(id).append(make("option", { value: -1, textContent: "any" }));
    run.classes.forEach((text, code) => $(id).append(make("option", { value: code, textContent: text })));
    $(id).addEventListener("change", () => { filter[field] = Number($(id).value); refilter(); });
  }
  drawMap();
  merge(run);
  listen();
  if (saver.change) await saver.retry();
  else goOn();
  setInterval(look, 3000);
  return undefined;
}

/* What is shown */

function goOn(from = current) {
  const places = list();
  const at = places.indexOf(from) + 1;
  const order = [...places.slice(at), ...places.slice(0, at)];
  const next = order.find(isOpen) ?? order.find((place) => states[place].skipped && place !== from);
  if (next !== undefined) return show(run.suspects.row[next]);
  const skipped = places.find((place) => states[place].skipped);
  return skipped === undefined ? finish(places) : show(run.suspects.row[skipped]);
}

function walk(step) {
  const places = list();
  if (!places.length) return;
  const at = places.indexOf(current);
  const next = at < 0 ? 0 : (at + step + places.length) % places.length;
  show(run.suspects.row[places[next]]);
}

function finish(places) {
  current = row = null;
  $("shown").hidden = true;
  $("done").hidden = false;
  $("position").textContent = "";
  const all = filter.given < 0 && filter.suggested < 0;
  const text = places.length ? `All ${places.length.toLocaleString("en")} are decided` : "There are none";
  $("done").firstElementChild.textContent = all ? `${text}.` : `${text} of those that you filtered.`;
  if (map) map.select(-1);
  buttons();
}

async function show(at) {
  row = at;
  current = placeOf.get(at) ?? null;
  ready = false;
  let about;
  try {
    about = await read(`/api/node/${at}`);
  } catch (error) {
    if (row === at) notice(`The node cannot be shown: ${error.message}`, "Try again", () => { quiet(); show(at); });
    return;
  }
  if (row !== at) return;
  $("shown").hidden = false;
  $("done").hidden = true;
  $("node-id").textContent = about.id;
  const labelled = current !== null;
  $("unflagged").hidden = !(labelled && run.drawn.has(current));
  const { given, suggested, probability } = run.suspects;
  $("given").replaceChildren(labelled ? label(given[current], about.given) : "none");
  $("suggested").replaceChildren(...(labelled
    ? [label(suggested[current], about.suggested), make("small", { textContent: probability[current] === null ? "" : percent(probability[current], 0) })]
    : ["–"]));
  $("reason").textContent = labelled ? about.reason : "This node has no label, so there is nothing to decide.";
  $("neighbours-title").textContent = about.num_neighbours === 1 ? "1 neighbour" : `${about.num_neighbours.toLocaleString("en")} neighbours`;
  $("shares").replaceChildren(...(labelled ? [share("given", about.neighbours_given), share("suggested", about.neighbours_suggested)] : []));
  $("neighbours").replaceChildren(...about.neighbours.map(nodeLine));
  if (about.num_neighbours > about.neighbours.length)
    $("neighbours").append(make("li", { className: "plain note", textContent: `and ${(about.num_neighbours - about.neighbours.length).toLocaleString("en")} more` }));
  $("nearest").replaceChildren(...(about.nearest || []).map(nodeLine));
  quickClasses(about);
  ready = true;
  if (map) {
    if (map.state.scale === map.state.home) map.reset(); // unless the user has zoomed
    map.showNeighbours(at, about.neighbour_rows);
  }
  status();
  if (labelled) speak(`Node ${about.id}, given ${about.given}, suggested ${about.suggested}. ${about.reason}`);
}

/** What depends on decisions, for the node that is shown. */
function status() {
  const places = list();
  const at = places.indexOf(current);
  $("position").textContent = at < 0 ? "" : `${(at + 1).toLocaleString("en")} of ${places.length.toLocaleString("en")}`;
  const state = current === null ? {} : states[current];
  $("verdict").hidden = !state.kind && !state.skipped;
  if (state.kind) {
    const who = state.who === run.who ? "you" : state.who;
    const done = state.kind === "keep" ? "Kept as" : state.bulk ? "Changed in bulk to" : "Changed to";
    $("verdict").textContent = `${done} ${state.label} by ${who}, ${moment(state.at)}`;
  } else if (state.skipped) {
    $("verdict").textContent = "Skipped before";
  }
  buttons();
}

function buttons() {
  for (const button of document.querySelectorAll("#actions [data-act]")) {
    const { act } = button.dataset;
    const decides = ["accept", "keep", "choose", "skip"].includes(act);
    button.disabled = Boolean(saver.change) || (decides && current === null) || (act === "undo" && !run.undoable);
  }
  if (current !== null && isSame(current)) document.querySelector("[data-act=accept]").disabled = true;
  const count = bulkPlaces().length;
  $("bulk").replaceChildren(make("kbd", { textContent: "B" }), ` Accept ${count.toLocaleString("en")} at once …`);
  $("bulk").disabled = !count || Boolean(saver.change);
}

function nodeLine(about) {
  if (about.text !== undefined) return make("li", { className: "plain", textContent: about.text });
  const place = placeOf.get(about.row);
  const decided = place === undefined ? undefined : states[place].label;
  const text = decided ?? about.label;
  const code = text === null || text === undefined ? -1 : run.classes.indexOf(text);
  const button = make("button", { type: "button", title: `Show ${about.id}` },
    make("span", { textContent: about.id }), label(code, code < 0 ? "no label" : text));
  button.addEventListener("click", () => show(about.row));
  return make("li", {}, button);
}

function share(what, value) {
  const bar = make("i");
  bar.style.width = length(value || 0);
  return make("div", { className: "share" }, make("span", { textContent: what }), make("div", {}, bar),
    make("b", { textContent: value === null || value === undefined ? "–" : percent(value, 0) }));
}

/** Keys 1 to 9: every class in its order, or, if there are more, those around the node first. */
function quickClasses(about) {
  $("others").hidden = current === null;
  quick = run.classes.map((_, code) => code);
  if (run.classes.length > 9 && current !== null) {
    const near = new Map();
    for (const one of [...about.neighbours, ...(about.nearest || [])])
      if (one.label) near.set(one.label, (near.get(one.label) || 0) + 1);
    const { given, suggested } = run.suspects;
    quick = quick.filter((code) => code !== given[current] && code !== suggested[current]);
    quick.sort((a, b) => (near.get(name(b)) || 0) - (near.get(name(a)) || 0) || a - b);
    quick = quick.slice(0, 9);
  }
  $("others").querySelector("ol").replaceChildren(...quick.map((code, i) => {
    const button = make("button", { type: "button", className: "button" },
      make("kbd", { textContent: i + 1 }), label(code, name(code)));
    button.addEventListener("click", () => decide("choose", code));
    return make("li", {}, button);
  }));
}

/* Deciding */

function decide(kind, code = null) {
  if (current === null || !ready || saver.change) return;
  const place = current;
  const text = code === null ? null : name(code);
  save("/api/decide", { place, kind, label: text, version: states[place].version }, { place, kind, label: text });
}

function choose() {
  if (current === null || !ready || saver.change) return;
  const { given, suggested } = run.suspects;
  const marks = { [given[current]]: "given", [suggested[current]]: "suggested" };
  if (isSame(current)) marks[given[current]] = "given, suggested";
  chooseClass(run.classes, marks, (code) => decide("choose", code));
}

function undo() {
  if (!run.undoable || saver.change) return;
  const last = run.history.find((one) => one.request === run.undoable);
  save("/api/undo", { undoes: run.undoable }, { kind: "undo", place: last ? last.place : null });
}

const threshold = () => Number($("threshold").value);
const bulkPlaces = () => list().filter((place) =>
  run.suspects.flagged[place] && isOpen(place) && run.suspects.probability[place] >= threshold());

function acceptAll() {
  const places = bulkPlaces();
  if (!places.length || saver.change) return;
  const pairs = new Map();
  for (const place of places) {
    const key = [run.suspects.given[place], run.suspects.suggested[place]].join();
    pairs.set(key, (pairs.get(key) || 0) + 1);
  }
  const sorted = [...pairs].map(([key, count]) => [count, ...key.split(",").map(Number)]).sort((a, b) => b[0] - a[0]);
  confirmBulk(places.length, sorted, run.classes, () =>
    save("/api/accept-all", { places }, { kind: "bulk", count: places.length }));
}

function save(path, body, about) {
  saver.save(path, { ...body, after: run.last, fingerprint: run.fingerprint }, about);
}

/* What became of a change */

function onSaving() {
  saved("saving …");
  if (run) buttons();
}

function onSaved({ about }, reply) {
  quiet();
  merge(reply);
  const { kind, place, count } = about;
  if (kind === "undo") {
    saved(`undone: ${reply.done === 1 ? "1 node" : `${reply.done.toLocaleString("en")} nodes`}`);
    if (place !== null) return show(run.suspects.row[place]);
  } else if (kind === "bulk") {
    const less = count - reply.done;
    saved(`saved: ${reply.done.toLocaleString("en")} accepted${less ? `, ${less} decided elsewhere in the meantime` : ""}`);
  } else {
    saved(kind === "skip" ? `skipped: ${idOf(place)}` : `saved: ${idOf(place)} ${states[place].kind === "keep" ? "kept as" : "is now"} ${states[place].label}`);
    if (current !== place && current !== null) return status();
  }
  return goOn(kind === "bulk" ? current : place);
}

function onRefused(change, reply) {
  saved("not saved", true);
  if (reply.states) merge(reply);
  const { kind, place } = change.about;
  if (reply.status === 409 && place !== undefined && kind !== "undo") {
    show(run.suspects.row[place]);
    const mine = () => { quiet(); decide(kind, change.about.label === null ? null : run.classes.indexOf(change.about.label)); };
    notice(`Not saved: ${reply.error}. This is what was decided there.`, "Use mine", mine);
  } else if (reply.status === 410) {
    notice(`Not saved: ${reply.error}.`, "Load again", () => location.reload());
  } else {
    notice(`Not saved: ${reply.error}.`, "Close", () => { quiet(); goOn(); });
  }
}

function onTrouble(change, text) {
  saved("not saved", true);
  notice(`Not saved: ${text}. Your decision is kept in this page and will be sent again.`, "Try again (R)", () => saver.retry());
  buttons();
}

function saved(text, bad = false) {
  $("saved").textContent = text;
  $("saved").classList.toggle("bad", bad);
}

function notice(text, action, act) {
  $("notice").hidden = false;
  $("notice").querySelector("p").textContent = text;
  const button = $("notice").querySelector("button");
  button.textContent = action;
  button.onclick = act;
}

function quiet() {
  $("notice").hidden = true;
}

function speak(text) {
  $("spoken").textContent = text;
}

/** Ask for what others have decided. */
async function look() {
  if (saver.change || document.hidden) return;
  try {
    const reply = await read(`/api/changes/${run.last}`);
    if (!saver.change && reply.last !== run.last) {
      merge(reply);
      status();
    }
    if ($("saved").textContent === "the server does not answer") saved("");
  } catch {
    if (!saver.change) saved("the server does not answer", true);
  }
}

/** Take over what the server says that holds now. */
function merge(reply) {
  for (const state of reply.states) states[state.place] = state;
  for (const field of ["last", "history", "undoable", "summary"]) run[field] = reply[field];
  const { num_suspects, num_suspects_decided, num_changed, num_drawn, error_left } = run.summary;
  $("progress").max = num_suspects || 1;
  $("progress").value = num_suspects_decided;
  $("progress-count").textContent = num_suspects_decided.toLocaleString("en");
  $("progress-text").textContent = `of ${num_suspects.toLocaleString("en")} suspects decided`;
  const skipped = states.filter((state) => state.skipped).length;
  $("progress-note").textContent = `${num_changed.toLocaleString("en")} labels changed${skipped ? `, ${skipped} skipped` : ""}`;
  $("left-rate").textContent = percent(error_left.rate);
  const checked = `${error_left.num_checked} of ${num_drawn} random nodes checked`;
  const ends = `${(100 * error_left.low).toFixed(1)} to ${percent(error_left.high)}`;
  $("left-note").textContent = `${error_left.num_checked ? ends : "says the detector alone"}; ${checked}`;
  widest = Math.max(widest, error_left.high); // the bar keeps its scale while the interval narrows
  const [range, point] = $("interval").children;
  range.style.left = length(error_left.low / widest);
  range.style.width = length((error_left.high - error_left.low) / widest);
  point.style.left = length(error_left.rate / widest);
  history();
  counts();
  if (map) paint();
}

function history() {
  $("no-history").hidden = run.history.length > 0;
  $("history").replaceChildren(...run.history.map((one) => {
    const what = { accept: `${one.given} → ${one.label}`, choose: `${one.given} → ${one.label}`, keep: `kept ${one.given}`, skip: "skipped", undo: "undo" }[one.kind];
    const nodes = one.count > 1 ? `${one.count.toLocaleString("en")} nodes` : one.node;
    const text = one.bulk ? "accepted at once" : what;
    const button = make("button", { type: "button", className: one.undone ? "undone" : "", title: one.undone ? `${text} (undone)` : text },
      make("time", { textContent: moment(one.at).slice(-5), dateTime: one.at, title: one.at }),
      make("span", { textContent: nodes }), make("span", { textContent: text }),
      make("em", { textContent: one.undone ? "undone" : one.who === run.who ? "you" : one.who }));
    button.addEventListener("click", () => { if (one.place !== null) show(run.suspects.row[one.place]); });
    return make("li", {}, button);
  }));
}

function moment(at) {
  const date = new Date(at);
  const two = (number) => String(number).padStart(2, "0");
  const day = date.toDateString() === new Date().toDateString() ? "" : `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} `;
  return `${day}${two(date.getHours())}:${two(date.getMinutes())}`;
}

/* Filters, matrix and map */

function counts() {
  const left = run.classes.map(() => run.classes.map(() => 0));
  const { given, suggested, flagged } = run.suspects;
  for (const place of run.queue)
    if (flagged[place] && !states[place].kind) left[suggested[place]][given[place]] += 1;
  matrix.update(left, filter.given, filter.suggested);
}

function pickCell(given, suggested) {
  const again = filter.given === given && filter.suggested === suggested;
  Object.assign(filter, again ? { given: -1, suggested: -1 } : { given, suggested });
  refilter();
}

function refilter() {
  $("filter-given").value = filter.given;
  $("filter-suggested").value = filter.suggested;
  counts();
  if (map) {
    const all = filter.given < 0 && filter.suggested < 0;
    const shown = new Set(list().map((place) => run.suspects.row[place]));
    map.setVisible(all ? null : run.nodes.id.map((_, at) => shown.has(at)));
  }
  if (current === null || !fits(current)) goOn();
  else status();
}

function drawMap() {
  const { nodes, suspects } = run;
  if (!nodes.x || !nodes.x.some((x) => x !== null)) {
    $("map-card").hidden = true;
    return;
  }
  const suspicion = nodes.id.map(() => NaN);
  suspects.row.forEach((at, place) => { suspicion[at] = 1 - suspects.score[place]; });
  const colourings = {
    given: { title: "Given label", kind: "class", codes: Int32Array.from(nodes.given), names: run.classes, none: "no label" },
    suspicion: { title: "Suspicion", kind: "number", values: suspicion, scale: "suspicion", low: "right", high: "wrong", none: "no label" },
    progress: { title: "Review", kind: "class", codes: Int32Array.from(nodes.id, () => -1), names: PROGRESS, none: "not a suspect" },
  };
  if (nodes.predicted) colourings.predicted = { title: "Prediction", kind: "class", codes: Int32Array.from(nodes.predicted), names: run.classes, none: "none" };
  const coordinates = (values) => Float64Array.from(values, (value) => (value === null ? NaN : value));
  map = new BrgclMap($("map"), { x: coordinates(nodes.x), y: coordinates(nodes.y), colourings }, {
    colouring: "given",
    label: "Map of the nodes",
    describe: (at) => {
      const place = placeOf.get(at);
      const lines = [["", nodes.id[at]], ["given", nodes.given[at] < 0 ? "no label" : name(nodes.given[at])]];
      if (place !== undefined) {
        const { kind, label: decided } = states[place];
        if (suspects.flagged[place]) lines.push(["suggested", name(suspects.suggested[place])]);
        if (kind) lines.push(["decided", decided]);
      }
      return lines;
    },
    onSelect: (at) => { if (at >= 0) show(at); },
  });
}

function paint() {
  const { codes } = map.nodes.colourings.progress;
  for (const place of inQueue) {
    const { kind, skipped } = states[place];
    codes[run.suspects.row[place]] = kind ? (kind === "keep" ? 2 : 1) : skipped ? 3 : run.suspects.flagged[place] ? 0 : -1;
  }
  if (map.name === "progress") map.colourBy("progress");
}

/* Keys and buttons */

function listen() {
  const acts = {
    accept: () => {
      if (current !== null && isSame(current)) saved("nothing to accept here: K keeps the label");
      else decide("accept");
    },
    keep: () => decide("keep"), skip: () => decide("skip"), choose, undo,
    back: () => walk(-1), forward: () => walk(1),
  };
  const keys = { a: acts.accept, k: acts.keep, s: acts.skip, c: choose, u: undo, b: acceptAll, "?": showHelp, r: () => saver.retry(), ArrowLeft: acts.back, ArrowRight: acts.forward };
  for (const button of document.querySelectorAll("[data-act]"))
    button.addEventListener("click", () => acts[button.dataset.act]());
  document.addEventListener("keydown", (event) => {
    const inField = event.target.closest("input:not([type=radio]), select, textarea");
    if (document.querySelector("dialog[open]") || event.altKey || inField) return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const onMap = event.target.closest(".map-stage, .map-colours");
    if ((event.ctrlKey || event.metaKey) && key === "z" && !event.shiftKey) {
      event.preventDefault();
      undo();
    }
    if (event.ctrlKey || event.metaKey || event.repeat) return;
    if (onMap && (key.startsWith("Arrow") || key === "0")) return;
    const digit = Number.parseInt(key, 10);
    const act = digit > 0 && quick.length >= digit ? () => decide("choose", quick[digit - 1]) : keys[key];
    if (!act) return;
    event.preventDefault();
    act();
  });
  $("help").addEventListener("click", showHelp);
  $("bulk").addEventListener("click", acceptAll);
  $("threshold").addEventListener("input", buttons);
  $("clear").addEventListener("click", () => { Object.assign(filter, { given: -1, suggested: -1 }); refilter(); });
  $("theme").addEventListener("click", () => {
    document.documentElement.dataset.theme = BrgclPalette.theme() === "dark" ? "light" : "dark";
    document.dispatchEvent(new Event("brgcl:theme"));
    matrix = new Matrix(run.classes, run.transition, pickCell);
    counts();
    if (row !== null) show(row);
  });
  for (const button of document.querySelectorAll("[data-export]"))
    button.addEventListener("click", () => {
      const what = button.dataset.export;
      download(`/api/export/${what}`, `${what}.csv`).catch((error) => notice(`Not written: ${error.message}`, "Close", quiet));
    });
}

start();
