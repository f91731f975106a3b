/* The report: reads the data of the page and links map, table, search and charts. */
"use strict";

const BrgclReport = (() => {
  const { element, percent, short } = BrgclCharts;
  const find = (id) => document.getElementById(id);

  /** Columns of the page as arrays and functions. */
  function open(data) {
    const { nodes, table } = data;
    const N = nodes.count;
    const ids = nodes.ids || Array.from({ length: N }, (_, i) => String(i));
    const labels = Object.fromEntries(nodes.labels.map((label) =>
      [label.name, { ...label, codes: BrgclData.unpack(label.codes) }]));
    const run = {
      data, N, ids, labels,
      names: data.class_names,
      name: (code) => (code < 0 ? "–" : data.class_names[code]),
      clusters: nodes.cluster ? BrgclData.unpack(nodes.cluster) : null,
      confidence: nodes.confidence ? BrgclData.shares(nodes.confidence) : null,
      score: nodes.score ? BrgclData.shares(nodes.score) : null,
      neighbours: BrgclData.neighbourhood(data.edges, N),
      suspects: null,
      rowOf: new Map(),
    };
    if (table) {
      run.suspects = {
        total: table.total,
        node: BrgclData.unpack(table.node),
        given: BrgclData.unpack(table.given),
        suggested: BrgclData.unpack(table.suggested),
        isError: BrgclData.unpack(table.is_error),
        score: BrgclData.shares(table.score),
        nearest: table.nearest,
        evidence: table.evidence,
      };
      for (const name of ["probability", "neighbours_given", "neighbours_suggested", "prototype_confidence"])
        run.suspects[name] = table[name] ? BrgclData.shares(table[name]) : null;
      run.suspects.node.forEach((node, row) => run.rowOf.set(node, row));
      if (!run.score) {
        run.score = new Float32Array(N).fill(NaN);
        run.suspects.node.forEach((node, row) => { run.score[node] = run.suspects.score[row]; });
      }
    }
    return run;
  }

  /** What is known about a node, as [name, text]. */
  function describe(run, i) {
    const lines = [["", run.ids[i]]];
    for (const { title, codes } of Object.values(run.labels)) lines.push([title, run.name(codes[i])]);
    const row = run.rowOf.get(i);
    if (row !== undefined) {
      const sure = run.suspects.probability ? ` (${percent(run.suspects.probability[row])})` : "";
      lines.push(["Suggested", run.name(run.suspects.suggested[row]) + sure]);
    }
    if (run.score && run.score[i] >= 0) lines.push(["Given label right", percent(run.score[i])]);
    if (run.clusters) lines.push(["Cluster", run.clusters[i] < 0 ? "none" : String(run.clusters[i])]);
    if (run.confidence && run.confidence[i] >= 0) lines.push(["Confidence", run.confidence[i].toFixed(2)]);
    if (row !== undefined && run.suspects.evidence) lines.push(["", run.suspects.evidence[row]]);
    return lines;
  }

  function colourings(run) {
    const found = {};
    for (const { name, title, none, codes } of Object.values(run.labels))
      found[name] = { title, kind: "class", codes, names: run.names, none };
    if (run.clusters) {
      const number = run.clusters.reduce((most, c) => Math.max(most, c), -1) + 1;
      const names = Array.from({ length: number }, (_, i) => `cluster ${i}`);
      found.cluster = { title: "Cluster", kind: "class", codes: run.clusters, names, none: "none" };
    }
    if (run.confidence)
      found.confidence = {
        title: "Confidence", kind: "number", values: run.confidence, scale: "confidence",
        low: "unsure of its cluster", high: "sure", none: "unknown",
      };
    if (run.score)
      found.suspicion = {
        title: "Suspicion", kind: "number", values: run.score.map((s) => 1 - s),
        scale: "suspicion", low: "label looks right", high: "label looks wrong", none: "not judged",
      };
    return found;
  }

  function number(value) {
    return Number.isNaN(value) ? "–" : value.toFixed(2);
  }

  function label(run, code, cell) {
    cell.classList.add("labelled");
    cell.classList.toggle("long", run.name(code).length > 22);
    cell.append(BrgclPalette.swatch(code), element("span", "", null, run.name(code)));
    cell.title = run.name(code);
  }

  /** Track of a column of ids: what most of them need, from 4 to 14 letters. */
  function idTrack(ids) {
    const lengths = ids.map((id) => id.length).sort((a, b) => a - b);
    const letters = Math.min(14, Math.max(4, lengths[Math.floor(0.9 * lengths.length)] || 0));
    return `minmax(min(${(0.56 * letters + 0.4).toFixed(2)}rem, 30%), 0.6fr)`;
  }

  /** Columns of the table of suspects, and what its CSV file holds. */
  function suspectColumns(run) {
    const s = run.suspects;
    const has = (name) => s[name] !== null && s[name] !== undefined;
    const columns = [
      { name: "node", title: "Node", width: idTrack(Array.from(s.node, (i) => run.ids[i])),
        value: (r) => run.ids[s.node[r]], fill: (r, cell) => { cell.textContent = cell.title = run.ids[s.node[r]]; } },
      { name: "given", title: "Given", width: "minmax(5rem, 1.6fr)", value: (r) => run.name(s.given[r]),
        fill: (r, cell) => label(run, s.given[r], cell), wide: true },
      { name: "suggested", title: "Suggested", width: "minmax(5rem, 1.6fr)",
        value: (r) => run.name(s.suggested[r]), fill: (r, cell) => label(run, s.suggested[r], cell), wide: true },
      { name: "labels", title: "Given, suggested", width: "minmax(6rem, 2.4fr)", narrow: true,
        value: (r) => run.name(s.given[r]), fill: (r, cell) => {
          cell.className = "two-lines";
          for (const code of [s.given[r], s.suggested[r]]) label(run, code, element("div", "", cell));
        } },
      { name: "score", title: "Right", number: true, width: "4.6rem",
        hint: "Probability that the given label is right; low = suspicious",
        value: (r) => s.score[r], fill: (r, cell) => {
          cell.textContent = percent(s.score[r]);
          cell.classList.toggle("warn", Boolean(s.isError[r]));
        } },
    ];
    if (has("neighbours_given"))
      columns.push({ name: "neighbours_given", title: "Nbrs given", number: true, width: "5.4rem", wide: true,
        hint: "Share of labelled neighbours with the given label",
        value: (r) => s.neighbours_given[r], text: (r) => number(s.neighbours_given[r]) });
    if (has("neighbours_suggested"))
      columns.push({ name: "neighbours_suggested", title: "Nbrs sugg.", number: true, width: "5.4rem", wide: true,
        hint: "Share of labelled neighbours with the suggested label",
        value: (r) => s.neighbours_suggested[r], text: (r) => number(s.neighbours_suggested[r]) });
    if (has("evidence"))
      columns.push({ name: "evidence", title: "Why", width: "minmax(10rem, 4fr)", wide: true,
        value: (r) => s.evidence[r], fill: (r, cell) => { cell.textContent = s.evidence[r]; cell.title = s.evidence[r]; } });
    const rounded = (name) => (r) => (has(name) ? Number(s[name][r].toFixed(4)) : "");
    const file = [
      ["node", (r) => run.ids[s.node[r]]], ["given", (r) => run.name(s.given[r])],
      ["suggested", (r) => run.name(s.suggested[r])], ["probability", rounded("probability")],
      ["score", rounded("score")], ["is_error", (r) => (s.isError[r] ? "True" : "False")],
      ["neighbours_given", rounded("neighbours_given")],
      ["neighbours_suggested", rounded("neighbours_suggested")],
      ["nearest", (r) => (has("nearest") ? s.nearest[r] : "")],
      ["prototype_confidence", rounded("prototype_confidence")],
      ["evidence", (r) => (has("evidence") ? s.evidence[r] : "")],
    ];
    return { columns, file, count: s.node.length, node: (r) => s.node[r], rowOf: (i) => run.rowOf.get(i) ?? -1 };
  }

  /** Columns of the table of all nodes, where no labels were judged. */
  function nodeColumns(run) {
    const columns = [{ name: "node_id", title: "Node", width: "minmax(5rem, 1fr)", value: (i) => run.ids[i] }];
    const file = [["node_id", (i) => run.ids[i]]];
    for (const { name, title, codes } of Object.values(run.labels)) {
      columns.push({ name, title, width: "minmax(5rem, 2fr)", value: (i) => run.name(codes[i]),
        fill: (i, cell) => label(run, codes[i], cell), wide: name === "true" });
      file.push([name, (i) => (codes[i] < 0 ? "" : run.name(codes[i]))]);
    }
    if (run.clusters) {
      columns.push({ name: "cluster", title: "Cluster", number: true, width: "5rem", value: (i) => run.clusters[i] });
      file.push(["cluster", (i) => run.clusters[i]]);
    }
    if (run.confidence) {
      columns.push({ name: "confidence", title: "Confidence", number: true, width: "6.5rem", wide: true,
        value: (i) => run.confidence[i], text: (i) => number(run.confidence[i]) });
      file.push(["confidence", (i) => Number(run.confidence[i].toFixed(4))]);
    }
    return { columns, file, count: run.N, node: (i) => i, rowOf: (i) => i };
  }

  return { open, describe, colourings, suspectColumns, nodeColumns, label, find, short };
})();
