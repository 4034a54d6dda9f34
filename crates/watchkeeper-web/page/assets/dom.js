// DOM: elements in few words.

/** An element with attributes (functions are listeners, `null`, `undefined` and `false` are left out) and children. */
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

/** Writes a text, unless it stands there. */
export function write(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Sets an attribute, unless it is set so. */
export function set(element, name, value) {
  if (element.getAttribute(name) !== String(value)) element.setAttribute(name, value);
}

/** A dot whose shape and name, not its colour alone, say how something does. */
export function dot(level) {
  return h("span", { class: `dot ${level}`, role: "img", "aria-label": level, title: level });
}

/** A number with its thousands set apart. */
export const count = (number) => number.toLocaleString("en");
