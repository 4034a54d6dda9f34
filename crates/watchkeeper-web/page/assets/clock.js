// Clock: the time that ages are measured at. It is stopped while the content is stale.

let stopped = null;
let last = Date.now();

/** The current time in milliseconds. */
export const now = () => stopped ?? (last = Date.now());

/** Whether the clock runs; if not, ages need no update. */
export const runs = () => stopped === null;

/** Stops the clock at the last time shown, or starts it again. */
export function stop(stop) {
  stopped = stop ? stopped ?? last : null;
}
