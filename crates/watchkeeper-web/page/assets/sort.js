// Sort: sort keys of cells. Numbers, quantities, ages and counts sort by value, others as text.

import { parseSpan } from "./age.js";

const LOADED = Date.now();

const SUFFIXES = { m: 1e-3, "": 1, k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15, E: 1e18,
  Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40, Pi: 2 ** 50, Ei: 2 ** 60 };
const TIMELY = /age|duration|since|seen/i;

/** The sort key of a cell, a number or string. Ages sort youngest first. */
export function sortKey(cell, column) {
  if (typeof cell === "number") return cell;
  if (typeof cell === "boolean") return cell ? 1 : 0;
  if (cell === null || cell === undefined) return "";
  if (column.type === "date") {
    const time = Date.parse(cell);
    if (!Number.isNaN(time)) return -time;
    const length = parseSpan(cell); // finished durations sort among running ones
    return Number.isNaN(length) ? Infinity : length - LOADED;
  }
  if (TIMELY.test(column.name)) {
    const length = parseSpan(cell);
    if (!Number.isNaN(length)) return length;
  }
  const share = /^(\d+)\/(\d+)$/.exec(cell);
  if (share) return Number(share[1]) + Number(share[2]) * 1e-6;
  const counted = /^(\d+) \(/.exec(cell);
  if (counted) return Number(counted[1]);
  const quantity = /^(-?\d+(?:\.\d+)?)(m|k|M|G|T|P|E|[KMGTPE]i)?%?$/.exec(cell);
  return quantity ? Number(quantity[1]) * SUFFIXES[quantity[2] ?? ""] : cell;
}

/** Compares two sort keys: numbers before strings. */
export function compare(a, b) {
  if (a === b) return 0;
  if (typeof a === typeof b) return a < b ? -1 : 1;
  return typeof a === "number" ? -1 : 1;
}
