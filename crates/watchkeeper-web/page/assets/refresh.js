// Refresh: asks again for what has changed, one question at a time and not too often.

const GAP = 400;

/** Makes a function that runs `ask(signal)` soon, however often it is called; `stop` ends it. A question that fails is
 * asked again while `again(error)` gives a number of milliseconds. */
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
