/* The map of the review: what it is coloured by, and what it says about a node. */
import { $ } from "./elements.js";

const PROGRESS = ["to decide", "changed", "kept", "skipped"];

/** Make the map; null if the run has none. stateOf(row) is the state of a labelled node. */
export function drawMap(run, placeOf, stateOf, onSelect) {
  const { classes, nodes, suspects } = run;
  if (!nodes.x || !nodes.x.some((x) => x !== null)) {
    $("map-card").hidden = true;
    return null;
  }
  const suspicion = nodes.id.map(() => NaN);
  suspects.row.forEach((at, place) => { suspicion[at] = 1 - suspects.score[place]; });
  const colourings = {
    given: { title: "Given label", kind: "class", codes: Int32Array.from(nodes.given), names: classes, none: "no label" },
    suspicion: { title: "Suspicion", kind: "number", values: suspicion, scale: "suspicion", low: "right", high: "wrong", none: "no label" },
    progress: { title: "Review", kind: "class", codes: Int32Array.from(nodes.id, () => -1), names: PROGRESS, none: "not a suspect" },
  };
  if (nodes.predicted) colourings.predicted = { title: "Prediction", kind: "class", codes: Int32Array.from(nodes.predicted), names: classes, none: "none" };
  const coordinates = (values) => Float64Array.from(values, (value) => (value === null ? NaN : value));
  return new BrgclMap($("map"), { x: coordinates(nodes.x), y: coordinates(nodes.y), colourings }, {
    colouring: "given",
    label: "Map of the nodes",
    describe: (at) => {
      const place = placeOf.get(at);
      const lines = [["", nodes.id[at]], ["given", nodes.given[at] < 0 ? "no label" : classes[nodes.given[at]]]];
      if (place !== undefined) {
        const { kind, label: decided } = stateOf(place);
        if (suspects.flagged[place]) lines.push(["suggested", classes[suspects.suggested[place]]]);
        if (kind) lines.push(["decided", decided]);
      }
      return lines;
    },
    onSelect: (at) => { if (at >= 0) onSelect(at); },
  });
}

/** Colour the nodes of the queue by what was decided. */
export function paintProgress(map, run, stateOf) {
  const { codes } = map.nodes.colourings.progress;
  for (const place of run.queue) {
    const { kind, skipped } = stateOf(place);
    codes[run.suspects.row[place]] = kind ? (kind === "keep" ? 2 : 1) : skipped ? 3 : run.suspects.flagged[place] ? 0 : -1;
  }
  if (map.name === "progress") map.colourBy("progress");
}
