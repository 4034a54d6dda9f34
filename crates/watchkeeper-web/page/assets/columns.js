// Columns: which columns of a table are shown, and how wide. The server sends a column's role: `name`, `namespace`,
// `object`, `status`, `restarts`, `age`, `last-seen`, `message` or none. Headings are displayed, and name columns in URLs;
// only sort.js guesses from a heading, whether a column has durations.

const CHARACTER = 7.3;
const PADDING = 22;
const SHORT = 130;
const LEAST = 90;

/** The columns to show, each with the index of its cells (`at`; -1 for the namespace). By default those of priority 0,
 * and the namespace if there are several. */
export function shown(columns, { namespaced, allNamespaces, chosen }) {
  const all = every(columns, namespaced);
  if (chosen !== null) return all.filter(({ name }, i) => i === headline(all) || chosen.includes(name));
  return all.filter(({ at, priority }) => (at < 0 ? allNamespaces : priority === 0));
}

/** The index of the column that identifies a row: its name, or the object it is about. */
export function headline(columns) {
  const name = columns.findIndex(({ role, priority }) => role === "name" && priority === 0);
  return Math.max(0, name >= 0 ? name : columns.findIndex(({ role }) => role === "object"));
}

/** All columns; the namespace follows the name. */
export function every(columns, namespaced) {
  const all = columns.map((column, at) => ({ ...column, at }));
  const has = all.some(({ role }) => role === "namespace");
  const namespace = { name: "Namespace", role: "namespace", type: "string", priority: 0, at: -1,
    description: "The object's namespace." };
  if (namespaced && !has) all.splice(all[0]?.role === "name" ? 1 : 0, 0, namespace);
  return all;
}

/** The widths in pixels of columns that need this many characters, in a table of this width: short columns get what
 * they need, long ones share the rest. */
export function fit(characters, width) {
  const wanted = characters.map((count) => Math.round(count * CHARACTER + PADDING));
  const sum = wanted.reduce((a, b) => a + b, 0);
  if (sum <= width) {
    const spare = (width - sum) / sum;
    return wanted.map((want) => want + want * spare);
  }
  const short = wanted.reduce((total, want) => total + (want <= SHORT ? want : 0), 0);
  const long = sum - short;
  return wanted.map((want) => (want <= SHORT ? want : Math.max(LEAST, (want / long) * (width - short))));
}
