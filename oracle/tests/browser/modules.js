// Unit tests of the page's modules, run in the browser. Returns the failed claims.

const load = (name) => import(`/assets/${name}.js`);
const failures = [];
const same = (claim, actual, expected) => {
  if (JSON.stringify(actual) !== JSON.stringify(expected)) failures.push(`${claim}: got ${JSON.stringify(actual)}, expected ${JSON.stringify(expected)}`);
};

const { aged, span, age, momentOf, parseSpan } = await load("age");
const [s, m, h, d] = [1000, 60_000, 3_600_000, 86_400_000];
const spans = [[0, "0s"], [-1500, "0s"], [-5 * s, "<invalid>"], [119 * s, "119s"], [2 * m, "2m"], [9 * m + 59 * s, "9m59s"], [10 * m + 5 * s, "10m"],
  [179 * m, "179m"], [3 * h, "3h"], [7 * h + 59 * m, "7h59m"], [8 * h + 5 * m, "8h"], [47 * h, "47h"], [2 * d, "2d"], [7 * d + 23 * h, "7d23h"],
  [8 * d + h, "8d"], [729 * d, "729d"], [2 * 365 * d + 3 * d, "2y3d"], [8 * 365 * d + 9 * d, "8y"]];
for (const [length, text] of spans) same("durations are formatted as by kubectl", span(length), text);
same("an age is relative to now", age("2026-01-01T00:00:00Z", Date.parse("2026-01-01T00:01:00Z")), "60s");
same("an empty time has an unknown age", age("", 0), "<unknown>");
same("durations are parsed", parseSpan("2d4h"), 2 * d + 4 * h);
const noon = "2026-01-01T12:00:00Z";
const printed = (cell, isDate) => aged(cell, momentOf(cell, isDate), Date.parse(noon) + 5 * m);
same("a date is shown as its age", printed(noon, true), "5m");
same("other texts in a date column are unchanged", ["<none>", "7s", ""].map((cell) => printed(cell, true)), ["<none>", "7s", ""]);
same("a time after a count is shown as its age", printed(`3 (${noon} ago)`, false), "3 (5m ago)");
same("a date in another column is plain text", printed(noon, false), noon);

const { diff, hunks, tally } = await load("diff");
const signs = (a, b) => diff(a, b).map(({ sign, text }) => sign + text);
same("equal texts have no changes", signs("a\nb", "a\nb"), [" a", " b"]);
same("a line is replaced", signs("a\nb\nc", "a\nx\nc"), [" a", "-b", "+x", " c"]);
same("lines are added and removed", signs("a\nb\nc\nd", "b\nc\ne\nd\nf"), ["-a", " b", " c", "+e", " d", "+f"]);
same("a diff from the empty text adds everything", signs("", "a"), ["-", "+a"]);
same("lines are numbered", diff("a\nb", "b").map(({ before, after }) => [before, after]), [[1, null], [2, 1]]);
const apply = (lines, without) => lines.filter(({ sign }) => sign !== without).map(({ text }) => text).join("\n");
let seed = 1;
const random = (below) => (seed = (seed * 48271) % 2147483647) % below;
for (let round = 0; round < 300; round++) {
  const text = () => Array.from({ length: random(12) }, () => "abcd"[random(4)]).join("\n");
  const [a, b] = [text(), text()];
  const lines = diff(a, b);
  same("removed and unchanged lines are the old text", apply(lines, "+"), a);
  same("added and unchanged lines are the new text", apply(lines, "-"), b);
  same("the edit script is the shortest", tally(lines).added + tally(lines).removed, shortest(a.split("\n"), b.split("\n")));
}
const long = Array.from({ length: 100 }, (_, i) => `line ${i}`);
const changed = long.map((line, i) => (i === 10 || i === 80 ? `${line}!` : line));
same("distant changes are in separate hunks", hunks(diff(long.join("\n"), changed.join("\n"))).map((run) => run.length), [8, 8]);
const [huge, other] = ["x", "y"].map((letter) => Array.from({ length: 5000 }, (_, i) => letter + i).join("\n"));
same("large diffs fall back to replacing everything", tally(diff(`same\n${huge}`, `same\n${other}`)), { added: 5000, removed: 5000 });

/** The length of the shortest edit script, by dynamic programming over all prefixes. */
function shortest(a, b) {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) next[j] = a[i - 1] === b[j - 1] ? row[j - 1] : 1 + Math.min(row[j], next[j - 1]);
    row = next;
  }
  return row[b.length];
}

const { matches, narrows, parse, textOf } = await load("filter");
const text = textOf("shop/web-1", ["web-1", "1/1", "Running", null, "2026-01-01T00:00:00Z"], { App: "Web" }, [false, false, false, false, true]);
const found = (query) => matches(text, parse(query));
same("all words must match", ["web", "WEB run", "app=web", "web pending", "!pending", "web !running", "", "  ", "2026"].map(found),
  [true, true, true, false, true, false, true, true, false]);
same("a word does not match across cells", found("web-11/1"), false);
same("a longer query narrows the result", [narrows(parse("we"), parse("web x")), narrows(parse("web"), parse("we")), narrows(parse("a"), parse("a !b"))], [true, false, false]);

const { compare, sortKey } = await load("sort");
const sorted = (cells, column) => [...cells].sort((a, b) => compare(sortKey(a, column), sortKey(b, column)));
same("quantities are sorted by value", sorted(["1Gi", "500Mi", "2", "100m"], { name: "Memory", type: "string" }), ["100m", "2", "500Mi", "1Gi"]);
same("ratios are sorted by value", sorted(["10/10", "2/3", "0/1"], { name: "Ready", type: "string" }), ["0/1", "2/3", "10/10"]);
same("restarts are sorted by count", sorted(["10 (2m ago)", "9", "0"], { name: "Restarts", type: "string" }), ["0", "9", "10 (2m ago)"]);
same("the youngest object is first", sorted(["2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"], { name: "Age", type: "date" }), ["2026-01-02T00:00:00Z", "2026-01-01T00:00:00Z"]);
same("running and finished durations are sorted together", sorted(["2h", new Date(Date.now() - h).toISOString(), "5s", "<none>"], { name: "Duration", type: "date" }).map((cell) => cell.length > 9 ? "1h" : cell),
  ["5s", "1h", "2h", "<none>"]);
same("durations are not sorted as quantities", sorted(["1h", "90s", "5m"], { name: "Duration", type: "string" }), ["90s", "5m", "1h"]);

const { fit } = await load("columns");
same("columns fill the table", fit([10, 10, 20], 1200).reduce((a, b) => a + b, 0), 1200);
same("narrow columns keep their width", fit([8, 100, 100], 600)[0], fit([8, 100, 100], 400)[0]);

const { address, read } = await load("route");
for (const hash of ["#/r/core/v1/pods", "#/r/apps/v1/deployments?ns=shop&l=app%3Dweb&q=a+b&sort=-Age&cols=Name%2CAge",
  "#/o/core/v1/nodes/-/node-1?tab=tree", "#/o/core/v1/pods/shop/web-1?from=apps%2Fv1%2Fdeployments&ns=shop"]) {
  same("routes round-trip", address(read(hash)), hash);
}
same("the URL of a tree is the tree tab of its object", address(read("#/t/apps/v1/deployments/shop/web")), "#/o/apps/v1/deployments/shop/web?tab=tree");
same("invalid URLs lead to the default view", address(read("#/%E0%A4%A/x")), "#/r/core/v1/pods");

const { Rows } = await load("rows");
const { View } = await load("view");
const rows = new Rows();
const view = new View(rows);
const names = () => {
  view.update();
  return view.rows.map(({ name }) => name);
};
const row = (name, status = "Running", version = "1", uid = name) => [`shop/${name}`, uid, version, "", {}, [name, status]];
rows.receive("columns", { columns: [{ name: "Name", type: "string", role: "name" }, { name: "Status", type: "string", role: "status" }] });
rows.receive("rows", { rows: [row("b"), row("a"), row("d")], gone: [] });
same("rows are sorted", names(), ["a", "b", "d"]);
rows.receive("synced", {});
rows.receive("rows", { rows: [row("c"), row("a", "Pending", "2")], gone: ["shop/d"] });
same("rows are added, changed and removed", names(), ["a", "b", "c"]);
view.filter("pending");
same("a filter applies to existing rows", names(), ["a"]);
rows.receive("rows", { rows: [row("c", "Pending", "3"), row("a", "Running", "4")], gone: [] });
same("a filter applies to changed rows", names(), ["c"]);
view.filter("");
view.sort("Status", true);
same("rows are sorted by a column", names(), ["a", "b", "c"].sort((x, y) => (x === "c") - (y === "c")));
view.sort(null, false);
rows.hold(true);
rows.receive("rows", { rows: [row("e")], gone: ["shop/a"] });
same("held updates are not shown", [names(), rows.heldCount], [["a", "b", "c"], 2]);
rows.hold(false);
same("held updates are shown when released", [names(), rows.heldCount], [["b", "c", "e"], 0]);
rows.receive("reset", {});
rows.receive("rows", { rows: [row("b"), row("x")], gone: [] });
same("rows stay until the next list is complete", names(), ["b", "c", "e", "x"]);
rows.receive("synced", {});
same("rows that are missing in the next list are removed", names(), ["b", "x"]);
rows.receive("rows", { rows: [row("b", "Running", "9", "another")], gone: [] });
same("an object with the same name and another UID replaces the row", names(), ["b", "x"]);
for (let round = 0; round < 500; round++) {
  const name = "abcdefgh"[random(8)];
  if (random(3) === 0) rows.receive("rows", { rows: [], gone: [`shop/${name}`] });
  else rows.receive("rows", { rows: [row(name, ["Running", "Pending"][random(2)], String(round + 10))], gone: [] });
  if (random(5) === 0) view.filter(["", "pending", "pend", "running"][random(4)]);
  if (random(9) === 0) view.sort([null, "Status", "Name"][random(3)], random(2) === 0);
  if (random(2) === 0) continue;
  view.update();
  const expected = [...rows.byKey.values()].filter((each) => matches(each.text, view.query)).sort(view.compare).map((each) => each.key);
  same("incremental updates equal sorting and filtering all rows", view.rows.map(({ key }) => key), expected);
  same("indexOf finds every row", view.rows.every((each, i) => view.indexOf(each) === i), true);
}

const { ObjectPanel } = await load("object");
let deliver = null;
const panel = new ObjectPanel({ kind: "ConfigMap", target: { group: "core", version: "v1", resource: "configmaps", namespace: "shop", name: "a", tab: "yaml" },
  stream: { subscribe: (_, receive) => ((deliver = receive), () => {}) }, link: () => "", onTab: () => {}, onClose: () => {} });
const version = (resourceVersion) => ({ objects: [{ kind: "ConfigMap", metadata: { name: "a", uid: "u", resourceVersion } }] });
const panelShows = (words) => panel.panel.textContent.includes(words);
deliver("objects", version("1"));
deliver("failed", { status: 503, message: "configmaps are not ready" });
same("a failure replaces the object", panelShows("not ready"), true);
deliver("objects", version("2"));
same("the next version replaces the failure", [panelShows("not ready"), panelShows("kind: ConfigMap")], [false, true]);
panel.close();

const { yaml } = await load("yaml");
for (const [json, expected] of given[0]) same("YAML equals kubectl's", yaml(JSON.parse(json), { managedFields: true }), expected);
same("managedFields are omitted by default", yaml({ metadata: { name: "a", managedFields: [{}] } }), "metadata:\n  name: a\n");

return failures;
