/* What the page tells its user: a line that says what was saved, a box with a button, speech. */
import { $ } from "./elements.js";

export function saved(text, bad = false) {
  $("saved").textContent = text;
  $("saved").classList.toggle("bad", bad);
}

/** Show a notice with a button. */
export function notice(text, action, act) {
  $("notice").hidden = false;
  $("notice").querySelector("p").textContent = text;
  const button = $("notice").querySelector("button");
  button.textContent = action;
  button.onclick = act;
}

export function quiet() {
  $("notice").hidden = true;
}

/** Say something to screen readers. */
export function speak(text) {
  $("spoken").textContent = text;
}
