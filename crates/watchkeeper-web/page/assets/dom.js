// DOM: short helpers for elements.

/** Creates an element with attributes and children. Functions are listeners; `null`, `undefined` and `false` are omitted. */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name, value);
    else if (name === "class") element.className = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

/** The element with this id. */
export const $ = (id) => document.getElementById(id);

/** Sets the text, if it differs. */
export function write(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Sets an attribute, if it differs. */
export function set(element, name, value) {
  if (element.getAttribute(name) !== String(value)) element.setAttribute(name, value);
}

/** A dot that shows health by shape and label, not by colour alone. */
export function dot(level) {
  return h("span", { class: `dot ${level}`, role: "img", "aria-label": level, title: level });
}

/** Formats a number with thousands separators. */
export const count = (number) => number.toLocaleString("en");
