/* Puts the parts of the report together when the page has loaded. */
"use strict";

(() => {
  const { element } = BrgclCharts;
  const { find } = BrgclReport;
  const run = BrgclReport.open(JSON.parse(find("data").textContent));
  const { data } = run;
  const judged = run.suspects !== null;
  const rows = judged ? BrgclReport.suspectColumns(run) : BrgclReport.nodeColumns(run);
  let map = null;

  // --- a node is selected: on the map, in the table and in the box beside the map
  function choose(i) {
    const near = i >= 0 && run.neighbours ? run.neighbours(i) : [];
    if (map) map.showNeighbours(i, near);
    table.select(i < 0 ? -1 : rows.rowOf(i));
    showNode(i, near);
  }

  function showNode(i, near) {
    const box = find("node");
    if (i < 0) {
      const text = "Click a node on the map or a row of the table, or find a node by its id.";
      return box.replaceChildren(element("p", "note", null, text));
    }
    const facts = element("dl", "facts");
    const said = [];
    BrgclReport.describe(run, i).forEach(([name, text], place) => {
      if (!place) said.push(element("h3", "node-id", null, text));
      else if (!name) said.push(element("p", "why", null, text));
      else {
        const line = element("div", "", facts);
        element("dt", "", line, name);
        element("dd", "", line, text);
      }
    });
    const [heading, ...sentences] = said;
    const parts = [heading, ...sentences, facts];
    const row = run.rowOf.get(i);
    if (row !== undefined && run.suspects.nearest && run.suspects.nearest[row]) {
      parts.push(element("h3", "", null, "Nearest labelled nodes"));
      parts.push(nearest(run.suspects.nearest[row]));
    }
    if (run.neighbours) {
      const title = near.length ? `${near.length} neighbour${near.length > 1 ? "s" : ""}` : "No neighbours";
      parts.push(element("h3", "", null, title));
      const list = nodeButtons(near.slice(0, 24));
      if (near.length > 24) element("small", "", list, `and ${near.length - 24} more`);
      parts.push(list);
    }
    return box.replaceChildren(...parts);
  }

  /** Buttons that select nodes, with the colours of their labels. */
  function nodeButtons(nodes) {
    const list = element("div", "neighbours");
    const codes = Object.values(run.labels)[0]?.codes;
    for (const j of nodes) {
      const button = element("button", "legend-entry", list);
      button.type = "button";
      if (codes) button.append(BrgclPalette.swatch(codes[j]));
      element("span", "", button, run.ids[j]);
      if (codes) button.title = run.name(codes[j]);
      button.addEventListener("click", () => choose(j));
    }
    return list;
  }

  /** "id (label), id (label)" as buttons, or as it is where an id is not in the page. */
  function nearest(text) {
    const parts = [...text.matchAll(/(.+?) \((.+?)\)(?:, |$)/g)];
    const nodes = parts.map(([, id]) => run.ids.indexOf(id));
    const whole = parts.map(([part]) => part).join("") === text;
    return whole && !nodes.includes(-1) ? nodeButtons(nodes) : element("p", "note", null, text);
  }

  // --- the table and its filters
  const wanted = { text: "", given: -1, suggested: -1, errors: false, framed: null };
  const anyError = judged && run.suspects.isError.some((flag) => flag);
  wanted.errors = anyError;
  const table = new BrgclTable(find("table"), rows.columns, {
    label: judged ? "Suspicious labels" : "Nodes",
    narrowHeight: judged ? 54 : 36,
    empty: "No rows are left; change the filters.",
    onSelect: (row) => choose(rows.node(row)),
  });
  if (!judged) find("table-title").textContent = "Nodes";
  else if (!anyError) find("table-title").textContent = "Labels, the most suspicious first";

  function passes(row) {
    if (judged) {
      const s = run.suspects;
      if (wanted.errors && !s.isError[row]) return false;
      if (wanted.given >= 0 && s.given[row] !== wanted.given) return false;
      if (wanted.suggested >= 0 && s.suggested[row] !== wanted.suggested) return false;
    } else if (wanted.given >= 0 && run.labels.given?.codes[row] !== wanted.given) return false;
    if (wanted.framed && !wanted.framed.has(rows.node(row))) return false;
    if (!wanted.text) return true;
    if (run.ids[rows.node(row)].toLowerCase().includes(wanted.text)) return true;
    return judged && Boolean(run.suspects.evidence?.[row].toLowerCase().includes(wanted.text));
  }

  function filter() {
    const kept = [];
    for (let row = 0; row < rows.count; row++) if (passes(row)) kept.push(row);
    table.show(kept);
    const whole = judged ? run.suspects.total : data.num_nodes;
    find("table-count").textContent =
      `${kept.length.toLocaleString("en")} of ${whole.toLocaleString("en")} ${judged ? "judged labels" : "nodes"}`;
    const narrowed = wanted.text || wanted.given >= 0 || wanted.suggested >= 0 || wanted.framed;
    clear.hidden = !narrowed;
    clear.textContent = wanted.framed ? `Clear filters (${wanted.framed.size.toLocaleString("en")} nodes framed)` : "Clear filters";
    if (!map) return;
    if (!narrowed) return map.setVisible(null);
    const mask = new Uint8Array(run.N);
    for (const row of kept) mask[rows.node(row)] = 1;
    return map.setVisible(mask);
  }

  const filters = find("filters");
  const text = element("input", "", filters);
  const by = judged ? "id or reason" : "id";
  Object.assign(text, { type: "search", placeholder: `Filter by ${by}`, id: "filter-text" });
  text.setAttribute("aria-label", `Filter the rows by ${by}`);
  text.addEventListener("input", () => { wanted.text = text.value.trim().toLowerCase(); filter(); });

  function chooser(name, title, used) {
    const select = element("select", "", filters);
    select.id = `filter-${name}`;
    select.setAttribute("aria-label", title);
    element("option", "", select, title).value = "-1";
    run.names.forEach((entry, code) => {
      if (used.has(code)) element("option", "", select, entry).value = String(code);
    });
    select.addEventListener("change", () => { wanted[name] = Number(select.value); filter(); });
    return select;
  }
  const given = judged || run.labels.given
    ? chooser("given", "Any given label", new Set(judged ? run.suspects.given : run.labels.given.codes)) : null;
  const suggested = judged
    ? chooser("suggested", "Any suggestion", new Set(run.suspects.suggested)) : null;
  if (judged) {
    const choice = element("label", "check", filters);
    const box = element("input", "", choice);
    Object.assign(box, { type: "checkbox", checked: wanted.errors, id: "filter-errors" });
    element("span", "", choice, "Only labels that look wrong");
    box.addEventListener("change", () => { wanted.errors = box.checked; filter(); });
  }
  const clear = element("button", "button", filters, "Clear filters");
  Object.assign(clear, { type: "button", id: "filter-clear" });
  clear.addEventListener("click", () => {
    Object.assign(wanted, { text: "", given: -1, suggested: -1, framed: null });
    text.value = "";
    for (const select of [given, suggested]) if (select) select.value = "-1";
    filter();
  });
  const save = element("button", "button", filters, "Download CSV");
  Object.assign(save, { type: "button", id: "download", title: "The rows below, in their order" });
  save.addEventListener("click", () => {
    const lines = table.rows.map((row) => rows.file.map(([, value]) => value(row)));
    BrgclData.download("selection.csv", BrgclData.csv(rows.file.map(([name]) => name), lines));
  });
  const notes = [];
  if (judged && rows.count < run.suspects.total)
    notes.push(`The table has the ${rows.count.toLocaleString("en")} most suspicious labels; suspects.parquet has all ${run.suspects.total.toLocaleString("en")}.`);
  notes.push("Arrow keys move, Enter selects.");
  find("table-note").textContent = notes.join(" ");

  // --- the map
  const offered = BrgclReport.colourings(run);
  if (data.nodes.x && Object.keys(offered).length) {
    const x = BrgclData.places(data.nodes.x);
    const y = BrgclData.places(data.nodes.y);
    map = new BrgclMap(find("map"), { x, y, colourings: offered }, {
      colouring: [anyError ? "suspicion" : null, judged ? "given" : "predicted", "cluster"]
        .find((name) => offered[name]),
      describe: (i) => BrgclReport.describe(run, i),
      onSelect: choose,
      onBox: (nodes) => { wanted.framed = nodes.length ? new Set(nodes) : null; filter(); },
    });
    const shown = map.placed.length;
    const part = shown < data.num_nodes
      ? `A sample of ${shown.toLocaleString("en")} of ${data.num_nodes.toLocaleString("en")} nodes. ` : "";
    const edges = run.neighbours ? "" : " The graph has too many edges to draw neighbours here.";
    find("map-note").textContent =
      `${part}Near nodes have similar representations (t-SNE). Drag moves, Shift + drag frames nodes for the table.${data.graph.num_edges === undefined ? "" : edges}`;
    new BrgclSearch(find("search-box"), find("search-list"), run.ids, (i) => {
      const first = Object.values(run.labels)[0];
      return first ? run.name(first.codes[i]) : "";
    }, choose);
  } else {
    find("map").append(element("p", "note", null, "This run has no map of its nodes."));
    find("search").hidden = true;
  }
  window.brgclReport = { map, table, run };
  filter();
  choose(anyError ? rows.node(table.rows[0]) : -1);

  // --- charts
  function choosePair(givenName, suggestedName) {
    const code = (name) => run.names.indexOf(name);
    wanted.given = code(givenName);
    wanted.suggested = code(suggestedName);
    if (given) given.value = String(wanted.given);
    if (suggested) suggested.value = String(wanted.suggested);
    filter();
    find("suspects").scrollIntoView({ block: "start" });
    table.view.focus({ preventScroll: true });
  }
  find("charts").append(...BrgclCards.all(run, choosePair));

  // --- theme and copying
  const theme = find("theme");
  const nameTheme = () => { theme.textContent = BrgclPalette.theme() === "dark" ? "Light" : "Dark"; };
  const recolour = () => {
    nameTheme();
    filter();
  };
  theme.addEventListener("click", () => {
    document.documentElement.dataset.theme = BrgclPalette.theme() === "dark" ? "light" : "dark";
    document.dispatchEvent(new CustomEvent("brgcl:theme"));
    recolour();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", recolour);
  nameTheme();
  for (const button of document.querySelectorAll(".copy"))
    button.addEventListener("click", async () => {
      const code = button.parentElement.querySelector("code");
      try {
        await navigator.clipboard.writeText(code.textContent);
        button.textContent = "Copied";
        setTimeout(() => { button.textContent = "Copy"; }, 1500);
      } catch {
        getSelection().selectAllChildren(code);
      }
    });
})();
