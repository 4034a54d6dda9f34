// Clock: the time at which ages are measured. It stands still while what is shown is not current.

let stopped = null;
let last = Date.now();

/** The time in milliseconds. */
export const now = () => stopped ?? (last = Date.now());

/** Whether it runs: otherwise there is nothing to bring up to date. */
export const runs = () => stopped === null;

/** Stops the clock at the time that was last shown, or lets it run again. */
export function stop(stop) {
  stopped = stop ? stopped ?? last : null;
}
