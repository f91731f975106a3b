/* The three dialogs: choose a class, confirm a bulk accept, keys. */
import { $, label, make } from "./elements.js";

/** Let the user search a class; calls pick(code). */
export function chooseClass(classes, marks, pick) {
  const [dialog, search, list] = [$("choose-dialog"), $("choose-search"), $("choose-list")];
  let found = [];
  let at = 0;
  const mark = () => {
    [...list.children].forEach((item, i) => item.setAttribute("aria-selected", String(i === at)));
    const item = list.children[at];
    search.setAttribute("aria-activedescendant", item ? item.id : "");
    if (item) item.scrollIntoView({ block: "nearest" });
  };
  const take = (code) => {
    dialog.close();
    pick(code);
  };
  const fill = () => {
    const wanted = search.value.trim().toLowerCase();
    const codes = classes.map((_, code) => code);
    found = codes.filter((code) => classes[code].toLowerCase().includes(wanted));
    found.sort((a, b) => !classes[a].toLowerCase().startsWith(wanted) - !classes[b].toLowerCase().startsWith(wanted));
    at = 0;
    list.replaceChildren(...found.map((code) => {
      const item = make("li", { id: `class-${code}` }, label(code, classes[code]));
      item.setAttribute("role", "option");
      if (marks[code]) item.append(make("small", { textContent: marks[code] }));
      item.addEventListener("click", () => take(code));
      return item;
    }));
    if (!found.length) list.append(make("li", { className: "note", textContent: "no such class" }));
    mark();
  };
  search.oninput = fill;
  search.onkeydown = (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && found.length) {
      at = (at + step + found.length) % found.length;
      mark();
      event.preventDefault();
    } else if (event.key === "Enter") {
      event.preventDefault();
      if (found.length) take(found[at]);
    }
  };
  search.value = "";
  fill();
  dialog.showModal();
  search.focus();
}

/** Ask before many suggestions are accepted; pairs = [[count, given, suggested], ...]. */
export function confirmBulk(count, pairs, classes, accept) {
  $("bulk-title").textContent = `Accept ${count.toLocaleString("en")} suggestions at once?`;
  $("bulk-pairs").replaceChildren(...pairs.map(([number, given, suggested]) =>
    make("li", {}, make("b", { textContent: number.toLocaleString("en") }),
      label(given, classes[given]), "→", label(suggested, classes[suggested]))));
  const yes = $("bulk-yes");
  yes.textContent = `Accept ${count.toLocaleString("en")}`;
  yes.onclick = () => {
    $("bulk-dialog").close();
    accept();
  };
  $("bulk-no").onclick = () => $("bulk-dialog").close();
  $("bulk-dialog").showModal();
  yes.focus();
}

export function showHelp() {
  $("help-close").onclick = () => $("help-dialog").close();
  $("help-dialog").showModal();
}
