/* The cards below the table: confused labels, errors by class, clusters, the graph, training. */
"use strict";

const BrgclCards = (() => {
  const { element, percent, short } = BrgclCharts;
  const count = (value) => value.toLocaleString("en");

  function card(title, ...content) {
    const made = element("section", "card");
    element("h2", "", made, title);
    made.append(...content);
    return made;
  }

  /** The transition matrix; onPair(given, suggested) is called with names of classes. */
  function confusedLabels({ transition, transition_names: names, confusions }, onPair) {
    const counts = new Map(confusions.map(([a, b, number]) => [`${a}\n${b}`, number]));
    const heat = BrgclCharts.heat(names, transition, {
      rowTitle: "true", columnTitle: "given",
      describe: (i, j) => {
        const number = counts.get(`${names[j]}\n${names[i]}`) || 0;
        const more = i === j ? "" : `; ${number} suspect${number === 1 ? "" : "s"}`;
        return `${names[i]} is labelled ${names[j]}: ${percent(transition[i][j])}${more}`;
      },
      act: (i, j) => onPair(names[j], names[i]),
    });
    const note = "Estimated share of the nodes of a true class (row) that have a given label (column). Click a cell to see its suspects.";
    const made = card("Confused classes", heat, element("p", "note", null, note));
    made.classList.toggle("broad", names.length > 8);
    return made;
  }

  function errorsByClass(rates, run) {
    const most = rates.reduce((a, [, rate]) => Math.max(a, rate), 0.01);
    rates.sort((a, b) => b[1] - a[1]);
    return card("Estimated errors by class", BrgclCharts.bars(rates.slice(0, 70).map(([name, rate]) => ({
      name, swatch: BrgclPalette.swatch(run.names.indexOf(name)), share: rate / most, text: percent(rate),
    }))));
  }

  function clusters(found) {
    const most = found[0].size;
    const entries = found.slice(0, 30).map(({ cluster, size, purity, commonest }) => ({
      name: commonest === null ? `cluster ${cluster}` : `${cluster}: ${commonest}`,
      swatch: BrgclPalette.swatch(cluster), share: size / most, part: purity,
      text: count(size) + (purity === null ? "" : `, ${Math.round(100 * purity)} %`),
      hint: purity === null ? undefined : `${percent(purity)} of its labelled nodes are ${commonest}`,
    }));
    const more = found.length > 30 ? ` The 30 largest of ${found.length}.` : "";
    const pure = found.some(({ purity }) => purity !== null)
      ? "Number of nodes; dark: share of the most frequent given label." : "Number of nodes.";
    return card("Clusters", BrgclCharts.bars(entries), element("p", "note", null, pure + more));
  }

  function graph(about) {
    const facts = element("dl", "facts");
    const fact = (name, value) => {
      const line = element("div", "", facts);
      element("dt", "", line, name);
      element("dd", "", line, value);
    };
    fact("Nodes", count(about.num_nodes));
    if (about.num_labelled) fact("Given labels", count(about.num_labelled));
    if (about.num_edges !== undefined) {
      fact("Edges", count(about.num_edges));
      fact("Mean degree", short(about.mean_degree));
      fact("Largest degree", count(about.max_degree));
      fact("Isolated nodes", count(about.isolated));
      if (about.homophily !== null) fact("Edges between equal labels", percent(about.homophily));
    }
    const degrees = about.degrees ? [BrgclCharts.columns("Nodes by degree", about.degrees)] : [];
    return card("Graph", facts, ...degrees);
  }

  function training(history) {
    const has = (name) => history[name].some((v) => v !== null);
    const losses = [["node", "node_loss"], ["prototype", "proto_loss"]]
      .filter(([, name]) => has(name)).map(([name, column]) => ({ name, values: history[column] }));
    const one = (title, name, range) => has(name)
      ? [BrgclCharts.lines(title, history.epoch, [{ name: title, values: history[name] }], range)] : [];
    const plots = element("div", "plots");
    plots.append(
      ...(losses.length ? [BrgclCharts.lines("Contrast loss", history.epoch, losses)] : []),
      ...one("Effective rank", "effective_rank", { from: 0 }),
      ...one("Prototypes", "num_prototypes", { from: 0 }),
      ...one("Confident share", "confident_share", { from: 0, to: 1 }));
    const made = card("Training", plots);
    made.classList.toggle("broad", plots.children.length > 2);
    return made;
  }

  /** Cards for what a run has. */
  function all(run, onPair) {
    const { data } = run;
    const rates = Object.entries(data.error_rate_by_class).filter(([, rate]) => rate !== null);
    return [
      run.suspects && data.transition ? confusedLabels(data, onPair) : null,
      rates.length ? errorsByClass(rates, run) : null,
      data.clusters.length ? clusters(data.clusters) : null,
      graph(data.graph),
      data.history.epoch && data.history.epoch.length > 1 ? training(data.history) : null,
    ].filter((made) => made !== null);
  }

  return { all };
})();
