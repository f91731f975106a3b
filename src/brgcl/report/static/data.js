/* Unpacks the columns that page_data.py has packed, and finds neighbours. */
"use strict";

const BrgclData = (() => {
  const KINDS = {
    u1: Uint8Array, u2: Uint16Array, u4: Uint32Array, i2: Int16Array, i4: Int32Array,
  };
  const MISSING = 65535;

  /** A typed array from { dtype, base64 }. */
  function unpack(packed) {
    const text = atob(packed.base64);
    const bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
    return new KINDS[packed.dtype](bytes.buffer);
  }

  /** Numbers in two bytes each, NaN where none is; divided by `whole`. */
  function numbers(packed, whole) {
    return Float32Array.from(unpack(packed), (step) => (step === MISSING ? NaN : step / whole));
  }
  const shares = (packed) => numbers(packed, MISSING - 1);
  const places = (packed) => numbers(packed, 1);

  /** A function that gives the neighbours of a node; made when it is first asked. */
  function neighbourhood(edges, N) {
    if (!edges) return null;
    let starts = null;
    let ends = null;
    function index() {
      const counts = unpack(edges.counts);
      const targets = unpack(edges.targets);
      starts = new Uint32Array(N + 1);
      for (let i = 0; i < N; i++) starts[i + 1] = counts[i];
      for (const target of targets) starts[target + 1] += 1;
      for (let i = 0; i < N; i++) starts[i + 1] += starts[i];
      ends = new Uint32Array(2 * targets.length);
      const next = starts.slice();
      let edge = 0;
      for (let i = 0; i < N; i++) {
        for (let k = 0; k < counts[i]; k++, edge++) {
          ends[next[i]++] = targets[edge];
          ends[next[targets[edge]]++] = i;
        }
      }
    }
    return (i) => {
      if (!starts) index();
      return Array.from(ends.subarray(starts[i], starts[i + 1]));
    };
  }

  /** Text of a CSV file; cells with commas, quotes or line ends are quoted. */
  function csv(names, rows) {
    const cell = (value) => {
      const text = value === null || value === undefined || Number.isNaN(value) ? "" : String(value);
      return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
    };
    return [names, ...rows].map((row) => row.map(cell).join(",")).join("\n") + "\n";
  }

  /** Hand a text to the user as a file; nothing leaves the machine. */
  function download(name, text) {
    const address = URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" }));
    const link = Object.assign(document.createElement("a"), { href: address, download: name });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(address), 10000);
  }

  return { unpack, shares, places, neighbourhood, csv, download };
})();
