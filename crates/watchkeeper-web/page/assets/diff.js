// Diff: the removed and added lines between two texts, by Myers' shortest edit script. The work is bounded: texts that
// differ in more than MOST lines are shown as entirely replaced.

const MOST = 2000;

/** The lines of both texts in order, each `{sign, text, before, after}`: sign is ` `, `-` or `+`; `before` and `after` are
 * the line numbers in either text, from 1. */
export function diff(before, after) {
  const a = before.split("\n");
  const b = after.split("\n");
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  const middle = script(a.slice(head, a.length - tail), b.slice(head, b.length - tail));

  const lines = [];
  const same = (i, j) => lines.push({ sign: " ", text: a[i], before: i + 1, after: j + 1 });
  for (let i = 0; i < head; i++) same(i, i);
  let [i, j] = [head, head];
  for (const sign of middle) {
    if (sign === " ") same(i++, j++);
    else if (sign === "-") lines.push({ sign, text: a[i], before: ++i, after: null });
    else lines.push({ sign, text: b[j], before: null, after: ++j });
  }
  for (; i < a.length; i++, j++) same(i, j);
  return lines;
}

/** The signs of the shortest edit script. */
function script(a, b) {
  const replaced = () => [...a.map(() => "-"), ...b.map(() => "+")];
  if (a.length === 0 || b.length === 0) return replaced();
  const bound = Math.min(MOST, a.length + b.length);
  const offset = bound + 1;
  const furthest = new Int32Array(2 * offset + 1);
  const trace = [];
  for (let d = 0; d <= bound; d++) {
    trace.push(furthest.slice(offset - d, offset + d + 1));
    for (let k = -d; k <= d; k += 2) {
      const down = k === -d || (k !== d && furthest[offset + k - 1] < furthest[offset + k + 1]);
      let x = down ? furthest[offset + k + 1] : furthest[offset + k - 1] + 1;
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x++;
      furthest[offset + k] = x;
      if (x >= a.length && x - k >= b.length) return retrace(trace, a.length, b.length);
    }
  }
  return replaced();
}

/** Walks the trace backwards to recover the edits. */
function retrace(trace, x, y) {
  const signs = [];
  for (let d = trace.length - 1; d > 0; d--) {
    const reach = (k) => trace[d][k + d];
    const k = x - y;
    const down = k === -d || (k !== d && reach(k - 1) < reach(k + 1));
    const from = down ? reach(k + 1) : reach(k - 1);
    const fromY = from - (down ? k + 1 : k - 1);
    while (x > from + (down ? 0 : 1) && y > fromY + (down ? 1 : 0)) {
      signs.push(" ");
      x--;
      y--;
    }
    signs.push(down ? "+" : "-");
    if (down) y--;
    else x--;
  }
  while (x-- > 0) signs.push(" ");
  return signs.reverse();
}

/** Groups of changed lines, each with at most `context` unchanged lines around. */
export function hunks(lines, context = 3) {
  const runs = [];
  let run = null;
  let until = -1;
  lines.forEach((line, i) => {
    if (line.sign === " ") return;
    if (run === null || i - context > until + 1) {
      run = { from: Math.max(0, i - context), to: 0 };
      runs.push(run);
    }
    until = Math.min(lines.length - 1, i + context);
    run.to = until + 1;
  });
  return runs.map(({ from, to }) => lines.slice(from, to));
}

/** The number of added and removed lines. */
export function tally(lines) {
  const count = (sign) => lines.reduce((sum, line) => sum + (line.sign === sign ? 1 : 0), 0);
  return { added: count("+"), removed: count("-") };
}
