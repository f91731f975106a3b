/* Small ways to make elements; text is always text, never HTML. */

export const $ = (id) => document.getElementById(id);

/** Make an element with properties and children; strings become text. */
export function make(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

/** The name of a class with its colour. */
export function label(code, name) {
  const text = make("span", { textContent: name, title: name });
  return make("span", { className: "label" }, BrgclPalette.swatch(code), text);
}

/** A share as text, and as a length of CSS. */
export const percent = (share, digits = 1) => `${(100 * share).toFixed(digits)} %`;
export const length = (share) => `${100 * share}%`;
