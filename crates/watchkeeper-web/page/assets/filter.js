// Filter: free text over a row's cells and labels. Words are joined by "and"; a word prefixed with `!` must be absent.
// The text of a row is lowercased once when it arrives, so that a keystroke costs one search per row.

/** The searchable text of a row: its key, its cells except dates, and its labels. */
export function textOf(key, cells, labels, isDate) {
  let text = key;
  for (let i = 0; i < cells.length; i++) {
    if (!isDate[i] && cells[i] !== null && cells[i] !== "" && cells[i] !== "<none>") text += `\n${cells[i]}`;
  }
  for (const label in labels) text += `\n${label}=${labels[label]}`;
  return text.toLowerCase();
}

/** Parses a query. */
export function parse(query) {
  const has = [];
  const lacks = [];
  for (const word of query.toLowerCase().split(/\s+/)) {
    if (word.length > 1 && word[0] === "!") lacks.push(word.slice(1));
    else if (word !== "" && word !== "!") has.push(word);
  }
  return { has, lacks };
}

/** Whether a text matches a query. */
export function matches(text, { has, lacks }) {
  for (let i = 0; i < has.length; i++) if (!text.includes(has[i])) return false;
  for (let i = 0; i < lacks.length; i++) if (text.includes(lacks[i])) return false;
  return true;
}

/** Whether `next` matches only rows that `last` matched, so that only those need to be searched. */
export function narrows(last, next) {
  if (last.lacks.join(" ") !== next.lacks.join(" ")) return false;
  return last.has.every((word) => next.has.some((longer) => longer.includes(word)));
}
