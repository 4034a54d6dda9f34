// Age: how long ago something was, in kubectl's words.

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const YEAR = 365 * DAY;

/** A span of milliseconds as kubectl writes it: `45s`, `3m12s`, `5h3m`, `2d4h`, `40d`, `2y30d`. */
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

/** The age at `now` of what an RFC 3339 time names; `<unknown>` if it names none. */
export function age(time, now) {
  const then = Date.parse(time);
  return Number.isNaN(then) ? "<unknown>" : span(now - then);
}

const UNITS = { y: YEAR, d: DAY, h: HOUR, m: MINUTE, s: SECOND, ms: 1 };

/** The milliseconds of a span such as `3m12s`, or NaN. */
export function parseSpan(text) {
  if (!/^(\d+(y|d|h|ms|m|s))+$/.test(text)) return NaN;
  let sum = 0;
  for (const [, count, unit] of text.matchAll(/(\d+)(y|d|h|ms|m|s)/g)) sum += Number(count) * UNITS[unit];
  return sum;
}

/** A moment as people read it: the time alone if it was today, otherwise with its date. */
export function moment(milliseconds, now) {
  const date = new Date(milliseconds);
  const today = date.toDateString() === new Date(now).toDateString();
  const time = date.toLocaleTimeString(undefined, { hour12: false });
  return today ? time : `${date.toLocaleDateString()} ${time}`;
}
