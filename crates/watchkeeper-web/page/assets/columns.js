// Columns: which of a table are shown, and how wide.

const CHARACTER = 7.3;
const PADDING = 22;
const SHORT = 130;
const LEAST = 90;

/** The columns to show, each with where its cells are (`at`; -1 for the namespace). Without a choice: those of
 * priority 0, and the namespace where there are several. */
export function shown(columns, { namespaced, allNamespaces, chosen }) {
  const all = every(columns, namespaced);
  if (chosen !== null) return all.filter(({ name }, i) => i === headline(all) || chosen.includes(name));
  return all.filter(({ at, priority }) => (at < 0 ? allNamespaces : priority === 0));
}

/** Which of the columns says what a row is: its name, or what it is about. */
export function headline(columns) {
  const at = (name) => columns.findIndex((column) => column.name === name);
  return Math.max(0, at("Name") >= 0 && columns[at("Name")].priority === 0 ? at("Name") : at("Object"));
}

/** All columns that there are, the namespace behind the name. */
export function every(columns, namespaced) {
  const all = columns.map((column, at) => ({ ...column, at }));
  const has = all.some(({ name }) => name === "Namespace");
  if (namespaced && !has) all.splice(all[0]?.name === "Name" ? 1 : 0, 0, { name: "Namespace", type: "string", priority: 0, at: -1, description: "Where the object is." });
  return all;
}

/** The widths in pixels of columns that want room for so many characters, in a table of this width: the short ones get
 * what they want, the long ones share what is left. */
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
