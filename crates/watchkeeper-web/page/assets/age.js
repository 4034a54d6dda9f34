// Age: elapsed time in kubectl's format, updated where it is shown.

import { now as clock } from "./clock.js";
import { h, write } from "./dom.js";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const YEAR = 365 * DAY;

/** Formats milliseconds as kubectl does: `45s`, `3m12s`, `5h3m`, `2d4h`, `40d`, `2y30d`. */
export function span(milliseconds) {
  if (milliseconds < 0) return milliseconds > -2 * SECOND ? "0s" : "<invalid>";
  const seconds = Math.floor(milliseconds / SECOND);
  const minutes = Math.floor(milliseconds / MINUTE);
  const hours = Math.floor(milliseconds / HOUR);
  const days = Math.floor(milliseconds / DAY);
  if (seconds < 120) return `${seconds}s`;
  if (minutes < 10) return both(minutes, "m", seconds % 60, "s");
  if (minutes < 180) return `${minutes}m`;
  if (hours < 8) return both(hours, "h", minutes % 60, "m");
  if (hours < 48) return `${hours}h`;
  if (hours < 192) return both(days, "d", hours % 24, "h");
  if (days < 730) return `${days}d`;
  const years = Math.floor(milliseconds / YEAR);
  return years < 8 ? both(years, "y", days % 365, "d") : `${years}y`;
}

function both(large, largeUnit, small, smallUnit) {
  return small === 0 ? `${large}${largeUnit}` : `${large}${largeUnit}${small}${smallUnit}`;
}

/** The age at `now` of an RFC 3339 time; `<unknown>` if it is invalid. */
export function age(time, now) {
  const then = Date.parse(time);
  return Number.isNaN(then) ? "<unknown>" : span(now - then);
}

const MOMENT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;
const WITHIN = /\((\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z) ago\)/;

/** The time in a cell: the whole cell in a date column, `3 (2026-01-01T00:00:00Z ago)` elsewhere; null without one. */
export function momentOf(cell, isDate) {
  if (typeof cell !== "string") return null;
  return isDate ? (MOMENT.test(cell) ? cell : null) : WITHIN.exec(cell)?.[1] ?? null;
}

/** A cell as kubectl prints it at `now`, given the time in it. A cell without a time is unchanged. */
export function aged(cell, moment, now) {
  return moment === null ? cell : cell.replace(moment, age(moment, now));
}

/** An element that shows the age of a time: `words` with the age in place of `%`. `tick` updates it. */
export function since(tag, time, words = "%", attributes = {}) {
  const element = h(tag, { title: time, "data-since": time ?? "", "data-words": words, ...attributes });
  show(element, clock());
  return element;
}

/** Updates every age below an element to `now`. */
export function tick(root, now) {
  for (const element of root.querySelectorAll("[data-since]")) show(element, now);
}

function show(element, now) {
  write(element, element.dataset.words.replace("%", age(element.dataset.since, now)));
}

const UNITS = { y: YEAR, d: DAY, h: HOUR, m: MINUTE, s: SECOND, ms: 1 };

/** The milliseconds of a duration such as `3m12s`, or NaN. */
export function parseSpan(text) {
  if (!/^(\d+(y|d|h|ms|m|s))+$/.test(text)) return NaN;
  let sum = 0;
  for (const [, count, unit] of text.matchAll(/(\d+)(y|d|h|ms|m|s)/g)) sum += Number(count) * UNITS[unit];
  return sum;
}

/** A time for humans: without the date if it is today. */
export function moment(milliseconds, now) {
  const date = new Date(milliseconds);
  const today = date.toDateString() === new Date(now).toDateString();
  const time = date.toLocaleTimeString(undefined, { hour12: false });
  return today ? time : `${date.toLocaleDateString()} ${time}`;
}
