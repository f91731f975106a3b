/* How far the review is: the two meters at the top and the list of what was done. */
import { $, length, make, percent } from "./elements.js";

let widest = 0.1; // upper end of the scale of the interval

/** Show how many suspects are decided and how many labels are still wrong. */
export function showProgress(summary, skipped) {
  const { num_suspects, num_suspects_decided, num_changed, num_drawn, error_left } = summary;
  const [done, all, what] = num_suspects
    ? [num_suspects_decided, num_suspects, "suspects decided"]
    : [error_left.num_checked, num_drawn, "random nodes checked"]; // nothing looks wrong
  $("progress").max = all || 1;
  $("progress").value = done;
  $("progress-count").textContent = done.toLocaleString("en");
  $("progress-text").textContent = `of ${all.toLocaleString("en")} ${what}`;
  $("progress-note").textContent = `${num_changed.toLocaleString("en")} labels changed${skipped ? `, ${skipped} skipped` : ""}`;
  $("left-rate").textContent = percent(error_left.rate);
  const checked = `${error_left.num_checked} of ${num_drawn} random nodes checked`;
  const ends = `${(100 * error_left.low).toFixed(1)} to ${percent(error_left.high)}`;
  $("left-note").textContent = `${error_left.num_checked ? ends : "the detector's own estimate"}; ${checked}`;
  widest = Math.max(widest, error_left.high); // the bar keeps its scale while the interval narrows
  const [range, point] = $("interval").children;
  range.style.left = length(error_left.low / widest);
  range.style.width = length((error_left.high - error_left.low) / widest);
  point.style.left = length(error_left.rate / widest);
}

/** List what was done, the latest first; open(place) is called for an entry that is pressed. */
export function showHistory(entries, who, open) {
  $("no-history").hidden = entries.length > 0;
  $("history").replaceChildren(...entries.map((one) => {
    const changed = `${one.given} → ${one.label}`;
    const what = { accept: changed, choose: changed, keep: `kept ${one.given}`, skip: "skipped", undo: "undo" }[one.kind];
    const nodes = one.count > 1 ? `${one.count.toLocaleString("en")} nodes` : one.node;
    const text = one.bulk ? "accepted at once" : what;
    const button = make("button", { type: "button", className: one.undone ? "undone" : "", title: one.undone ? `${text} (undone)` : text },
      make("time", { textContent: moment(one.at).slice(-5), dateTime: one.at, title: one.at }),
      make("span", { textContent: nodes }), make("span", { textContent: text }),
      make("em", { textContent: one.undone ? "undone" : one.who === who ? "you" : one.who }));
    button.addEventListener("click", () => { if (one.place !== null) open(one.place); });
    return make("li", {}, button);
  }));
}

/** A moment as text; the day is left out if it is today. */
export function moment(at) {
  const date = new Date(at);
  const two = (number) => String(number).padStart(2, "0");
  const day = date.toDateString() === new Date().toDateString() ? "" : `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} `;
  return `${day}${two(date.getHours())}:${two(date.getMinutes())}`;
}
