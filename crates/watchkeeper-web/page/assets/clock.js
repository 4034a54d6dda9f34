// Clock: the time at which ages are measured. It stands still while what is shown is not current.

let stopped = null;

/** The time in milliseconds. */
export const now = () => stopped ?? Date.now();

/** Stops the clock, or lets it run again. */
export function stop(stop) {
  stopped = stop ? stopped ?? Date.now() : null;
}
