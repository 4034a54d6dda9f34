// View: the rows that match the filter, sorted.
//
// `view.V1`: `all` has every existing row once, sorted; `rows` has those that match, in the same order. A change of few
// rows among many, or another filter, costs one pass and no sort.

import { matches, narrows, parse } from "./filter.js";
import { compare, sortKey } from "./sort.js";

export class View {
  constructor(rows) {
    this.source = rows;
    this.all = [];
    this.rows = [];
    this.query = parse("");
    this.order = { column: null, descending: false };
    this.keyOf = () => 0;
    this.compare = byKey;
  }

  /** Filters the rows by words. */
  filter(text) {
    this.update();
    const query = parse(text);
    const from = narrows(this.query, query) ? this.rows : this.all;
    this.query = query;
    this.rows = this.#matching(from);
  }

  /** Sorts by a column: its heading, `Namespace`, or null for the order of keys. */
  sort(column, descending) {
    this.update();
    this.order = { column, descending };
    this.keyOf = keyReader(column, this.source.columns ?? []);
    this.compare = comparer(column, descending);
    for (const row of this.all) row.orderedBy = this.keyOf(row);
    this.all.sort(this.compare);
    this.rows = this.#matching(this.all);
  }

  /** Applies what has changed; returns whether something has. */
  update() {
    const changed = this.source.take();
    if (changed.size === 0) return false;
    const fresh = [];
    let known = false;
    for (const row of changed) {
      known ||= row.gone || row.seen > 1;
      if (row.gone) continue;
      row.orderedBy = this.keyOf(row);
      fresh.push(row);
    }
    fresh.sort(this.compare);
    const without = (rows) => (known ? rows.filter((row) => !changed.has(row)) : rows);
    const whole = this.rows === this.all;
    this.all = merge(without(this.all), fresh, this.compare);
    this.rows = whole ? this.#matching(this.all) : merge(without(this.rows), this.#matching(fresh), this.compare);
    return true;
  }

  /** The index of a row, or -1. */
  indexOf(row) {
    let [low, high] = [0, this.rows.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.compare(this.rows[middle], row) < 0) low = middle + 1;
      else high = middle;
    }
    return this.rows[low] === row ? low : -1;
  }

  #matching(rows) {
    const { query } = this;
    return query.has.length + query.lacks.length === 0 ? rows : rows.filter((row) => matches(row.text, query));
  }
}

const byKey = (a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0);

function comparer(column, descending) {
  if (column === null) return descending ? (a, b) => byKey(b, a) : byKey;
  const sign = descending ? -1 : 1;
  return (a, b) => (a.orderedBy === b.orderedBy ? byKey(a, b) : sign * compare(a.orderedBy, b.orderedBy));
}

/** Returns the function that computes the sort key of a row. */
function keyReader(name, columns) {
  if (name === null) return () => 0;
  const at = columns.findIndex((column) => column.name === name);
  if (at >= 0) return (row) => sortKey(row.cells[at], columns[at]);
  return name === "Namespace" ? (row) => row.namespace : () => 0;
}

function merge(a, b, order) {
  if (b.length === 0) return a;
  if (a.length === 0 || order(a[a.length - 1], b[0]) < 0) return a.concat(b);
  const out = new Array(a.length + b.length);
  let [i, j, k] = [0, 0, 0];
  while (i < a.length && j < b.length) out[k++] = order(a[i], b[j]) <= 0 ? a[i++] : b[j++];
  while (i < a.length) out[k++] = a[i++];
  while (j < b.length) out[k++] = b[j++];
  return out;
}
