/* The review page: one labelled node at a time, decided by keyboard.
 *
 * A "place" is the position of a labelled node in the list of suspects, a "row" that of any node in
 * the graph, a "code" the number of a class. What was decided comes from the server alone. */
import { chooseClass, confirmBulk, showHelp } from "./dialogs.js";
import { $, make } from "./elements.js";
import { listenToKeys } from "./keys.js";
import { Matrix } from "./matrix.js";
import { nodeLine, quickClasses, showNode, showQuickClasses } from "./node.js";
import { drawMap, paintProgress } from "./nodes_map.js";
import { notice, quiet, saved, speak } from "./notices.js";
import { moment, showHistory, showProgress } from "./progress.js";
import { Saver, download, read } from "./saving.js";

let run; // what /api/run says
let states = []; // of each place: { version, skipped, kind, label, who, at, bulk }
let placeOf; // row -> place
let map;
let matrix;
let current = null; // place shown, or null
let row = null; // row shown
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
const stateOf = (place) => states[place];
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
  run.drawn = new Set(run.drawn);
  matrix = new Matrix(run.classes, run.transition, pickCell);
  if (!run.transition) $("matrix-note").textContent = "Number of remaining suspects by true class (row) and given label (column). Click a cell to see only these.";
  for (const [id, field] of [["filter-given", "given"], ["filter-suggested", "suggested"]]) {
    $(id).append(make("option", { value: -1, textContent: "any" }));
    run.classes.forEach((text, code) => $(id).append(make("option", { value: code, textContent: text })));
    $(id).addEventListener("change", () => { filter[field] = Number($(id).value); refilter(); });
  }
  map = drawMap(run, placeOf, stateOf, show);
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
  if (!saver.change) quiet();
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
  const labelled = current !== null;
  const { given, suggested, probability } = run.suspects;
  const judged = labelled
    ? { given: given[current], suggested: suggested[current], probability: probability[current] } : null;
  showNode(about, judged, line);
  $("unflagged").hidden = !(labelled && run.drawn.has(current));
  $("others").hidden = !labelled;
  quick = quickClasses(run.classes, about, judged);
  showQuickClasses(quick, run.classes, (code) => decide("choose", code));
  ready = true;
  if (map) {
    if (map.state.scale === map.state.home) map.reset(); // unless the user has zoomed
    map.showNeighbours(at, about.neighbour_rows);
  }
  status();
  if (labelled) speak(`Node ${about.id}, given ${about.given}, suggested ${about.suggested}. ${about.reason}`);
}

/** An entry of a list of nodes, with the label that was decided on if there is one. */
function line(about) {
  const place = placeOf.get(about.row);
  const text = (place === undefined ? undefined : states[place].label) ?? about.label;
  const code = text === null || text === undefined ? -1 : run.classes.indexOf(text);
  return nodeLine(about, code, text, show);
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

/** Ask for what others have decided. */
async function look() {
  if (saver.change || document.hidden) return;
  try {
    const reply = await read(`/api/changes/${run.last}`);
    if (!saver.change && reply.last !== run.last) {
      const before = current === null ? 0 : states[current].version;
      merge(reply);
      status();
      if (current !== null && states[current].kind && states[current].version !== before)
        notice("This node was decided elsewhere in the meantime.", "Next", () => { quiet(); goOn(); });
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
  showProgress(run.summary, states.filter((state) => state.skipped).length);
  showHistory(run.history, run.who, (place) => show(run.suspects.row[place]));
  counts();
  if (map) paintProgress(map, run, stateOf);
}

/* Filters and matrix */

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
  listenToKeys(keys, undo, (number) => {
    if (number > quick.length) return false;
    decide("choose", quick[number - 1]);
    return true;
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
