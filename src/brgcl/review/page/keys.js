/* The keys of the page; fields, dialogs and the map keep theirs. */

/** keys = { key: function }, undo = for Ctrl Z, digit(number) = for 1 to 9, true if it means one. */
export function listenToKeys(keys, undo, digit) {
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
    const number = Number.parseInt(key, 10);
    if (!(number > 0 && digit(number))) {
      if (!keys[key]) return;
      keys[key]();
    }
    event.preventDefault();
  });
}
