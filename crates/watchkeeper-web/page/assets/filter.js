// Filter: free text over a row's cells and labels. Words are joined by "and"; a word with `!` before it must be absent.
// What is searched is lower case already when a row arrives, so that a keystroke costs one search a row.

/** What can be searched of a row: its key, its cells but for dates, and its labels. */
export function textOf(key, cells, labels, isDate) {
  let text = key;
  for (let i = 0; i < cells.length; i++) {
    if (!isDate[i] && cells[i] !== null && cells[i] !== "" && cells[i] !== "<none>") text += `\n${cells[i]}`;
  }
  for (const label in labels) text += `\n${label}=${labels[label]}`;
  return text.toLowerCase();
}

/** A query, ready to be matched. */
export function parse(query) {
  const has = [];
  const lacks = [];
  for (const word of query.toLowerCase().split(/\s+/)) {
    if (word.length > 1 && word[0] === "!") lacks.push(word.slice(1));
    else if (word !== "" && word !== "!") has.push(word);
  }
  return { has, lacks };
}

/** Whether a text has all that is asked for. */
export function matches(text, { has, lacks }) {
  for (let i = 0; i < has.length; i++) if (!text.includes(has[i])) return false;
  for (let i = 0; i < lacks.length; i++) if (text.includes(lacks[i])) return false;
  return true;
}

/** Whether everything that `next` matches, `last` has matched: then only that need be searched. */
export function narrows(last, next) {
  if (last.lacks.join(" ") !== next.lacks.join(" ")) return false;
  return last.has.every((word) => next.has.some((longer) => longer.includes(word)));
}
