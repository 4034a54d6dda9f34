// Refresh: repeats a request after changes, one at a time and not too often.

const GAP = 400;

/** Returns a function that runs `ask(signal)` soon, however often it is called; its `stop` ends it. A failed request is
 * repeated if `again(error)` returns a number of milliseconds. */
export function refresher(ask, again = () => null) {
  const abort = new AbortController();
  let [running, wanted, timer] = [false, false, undefined];
  const run = async () => {
    timer = undefined;
    running = true;
    wanted = false;
    let wait = null;
    try {
      await ask(abort.signal);
    } catch (error) {
      if (abort.signal.aborted) return;
      wait = again(error);
    }
    running = false;
    if (abort.signal.aborted) return;
    if (wait !== null || wanted) timer = setTimeout(run, wait ?? GAP);
  };
  const soon = () => {
    wanted = true;
    if (!running && timer === undefined && !abort.signal.aborted) timer = setTimeout(run, 0);
  };
  soon.stop = () => {
    abort.abort();
    clearTimeout(timer);
  };
  return soon;
}
