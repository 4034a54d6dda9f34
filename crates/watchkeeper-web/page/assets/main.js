// Main: connects the parts, and shows the route of the URL.

import { data, json } from "./api.js";
import { openChooser } from "./chooser.js";
import * as clock from "./clock.js";
import { $, count, set, write } from "./dom.js";
import { openHelp } from "./help.js";
import { listen } from "./keys.js";
import { List } from "./list.js";
import { askForToken, signOut, stopAsking } from "./login.js";
import { namespaces } from "./namespaces.js";
import { ObjectPanel } from "./object.js";
import { Outage } from "./outage.js";
import { Picker } from "./picker.js";
import { idOf, Resources } from "./resources.js";
import { address, go, read } from "./route.js";
import { Stream } from "./stream.js";
import * as theme from "./theme.js";

const STATES = { connecting: "Connecting", live: "Live", reconnecting: "Reconnecting", refused: "Rejected", stale: "Out of date", paused: "Paused" };
const BRIEF = 1000; // milliseconds: shorter interruptions are not reported

const resources = new Resources();
const banner = new Outage($("outage"));
const stream = new Stream(connection);
const list = new List({ stream, resources, onDraw: state,
  onOpen: (row) => open({ ...only(route), namespace: row.namespace, name: row.name }),
  onMove: (row) => panel && open({ ...only(route), namespace: row.namespace, name: row.name }, { replace: true }),
  onSort: (column) => sort(column, list.view.order.column === column && !list.view.order.descending) });

let route = null;
let panel = null;
let paused = false;
let connected = { state: "connecting", code: 0, since: null, server: null };
let declined = false;

function only({ group, version, resource }) {
  return { group: group || "core", version, resource };
}

/** Goes to the current route with these changes. */
function change(changes, options) {
  go({ ...route, ...changes }, options);
}

function open(target, options) {
  change({ object: { ...target, tab: panel?.tab ?? "yaml" } }, options);
}

function close() {
  change({ object: null });
}

function sort(column, descending) {
  change({ sort: column === null ? "" : `${descending ? "-" : ""}${column}` }, { replace: true });
}

/** Shows the route of the URL. */
function show() {
  const last = route;
  route = read(location.hash);
  list.show(route);
  const { object } = route;
  const same = object && last?.object && address({ ...route, object: { ...object, tab: "" } }) === address({ ...route, object: { ...last.object, tab: "" } });
  if (same && panel) panel.show(object.tab);
  else reopen(object);
  write($("resource").querySelector(".value"), route.resource);
  scope();
  resourcePicker.choose(idOf(route));
  namespacePicker.choose(route.ns);
  for (const [id, value] of [["search", route.q], ["labels", route.l]]) if (document.activeElement !== $(id)) $(id).value = value;
  document.title = `${object ? `${object.name} · ` : ""}${route.resource} · Watchkeeper`;
}

/** Shows the namespace of the table. */
function scope() {
  write($("namespace").querySelector(".value"), list.namespaced ? list.ns || "all" : "none");
  $("namespace").disabled = !list.namespaced;
  set($("grid"), "aria-label", `${route.resource}${list.ns ? ` in ${list.ns}` : ""}`);
}

function reopen(object) {
  const had = panel !== null;
  const inside = panel?.element.contains(document.activeElement);
  panel?.close();
  panel = null;
  $("main").classList.toggle("split", object !== null);
  if (object === null) {
    if (had && (inside || document.activeElement === document.body)) $("grid").focus();
    return;
  }
  const { kind } = resources.find(idOf(object));
  panel = new ObjectPanel({ stream, target: object, kind, onClose: close, onTab: (tab) => change({ object: { ...route.object, tab } }, { replace: true }),
    link: (target, tab = "yaml") => address({ ...route, object: { ...only(target), namespace: target.namespace, name: target.name, tab } }) });
  panel.hold(paused);
  $("main").append(panel.element);
  if (inside || getComputedStyle(document.querySelector(".list")).display === "none") panel.element.querySelector("h2").focus();
}

function connection(status) {
  const before = connected;
  connected = status;
  if (status.state === "refused" && status.code === 401 && !declined) signIn();
  if (status.state === "live") {
    declined = false;
    list.refuse(null);
    if (before.state === "refused" && !stopAsking()) describe(); // signed in in another tab
  }
  state();
}

/** Asks for a token. If the user cancels, they are not asked again until they click "Sign in". */
function signIn() {
  askForToken((accepted) => {
    declined = !accepted;
    list.refuse(accepted ? null : signIn);
    if (!accepted) panel?.refuse();
    else {
      if (connected.state !== "live") stream.renew();
      describe();
    }
  });
}

/** The outage that affects everything shown: `{ what, since, reason }`, or null. */
function outage() {
  const { state, since, server } = connected;
  const lost = state === "reconnecting" && Date.now() - since >= BRIEF;
  if (lost) return { what: "Watchkeeper service unreachable", since, reason: "retrying" };
  if (state === "live" && server) return { what: "API server unreachable", ...server };
  return null;
}

/** Shows what is out of date, dims it, and stops its ages. */
function freshness() {
  const all = outage();
  const [ofList, ofPanel] = [all ?? list.outage, all ?? panel?.outage ?? null];
  const refused = connected.state === "refused";
  banner.show(ofList ?? ofPanel);
  clock.stop(refused || (ofList ?? ofPanel) !== null);
  document.querySelector(".list").classList.toggle("stale", refused || ofList !== null || !$("banner").hidden);
  panel?.element.classList.toggle("stale", refused || ofPanel !== null);
  return ofList ?? ofPanel;
}

/** Shows the state of the connection and the pause. */
function state() {
  const held = (list.rows?.heldCount ?? 0) + (panel?.heldCount ?? 0);
  const stale = freshness() !== null;
  const name = connected.state !== "live" ? connected.state : stale ? "stale" : paused ? "paused" : "live";
  set($("state"), "data-state", name);
  write($("state").querySelector(".text"), STATES[name] + (name === "refused" ? ` (${connected.code})` : ""));
  set($("pause"), "aria-pressed", paused);
  write($("pause").querySelector(".label"), paused ? `Resume${held > 0 ? ` · ${count(held)} held` : ""}` : "Pause");
}

function pause() {
  paused = !paused;
  list.hold(paused);
  panel?.hold(paused);
  state();
}

function nextTheme() {
  theme.choose(theme.following());
  showTheme();
}

function showTheme() {
  const name = theme.chosen();
  write($("theme").querySelector(".label"), name[0].toUpperCase() + name.slice(1));
  set($("theme"), "aria-label", `Theme: ${name}`);
}

function columns() {
  openChooser({ ...list.choice, onSort: sort, onColumns: (names) => change({ cols: names === null ? "" : names.join(",") }, { replace: true }) });
}

/** Requests the cluster's version and resources until they are known. */
async function describe() {
  json("/version").then(({ gitVersion }) => write($("cluster"), `${location.host} · Kubernetes ${gitVersion}`), () => write($("cluster"), location.host));
  try {
    resources.fill(await data("/v1/resources"));
    list.relay();
    scope();
    const { user } = await data("/v1/user");
    $("signout").hidden = user === null;
    set($("signout"), "title", `Sign out ${user}`);
  } catch (error) {
    if (error.status !== 401) setTimeout(describe, Math.max(1, error.retryAfter ?? 0) * 1000);
  }
}

function field(id, name, { live }) {
  const apply = () => route[name] === $(id).value.trim() || change({ [name]: $(id).value.trim() }, { replace: true });
  $(id).addEventListener(live ? "input" : "change", apply);
  $(id).addEventListener("keydown", (event) => {
    if (event.key === "Enter" || (event.key === "ArrowDown" && live)) {
      apply();
      $("grid").focus();
      if (list.table.current === null) list.table.move("j");
      event.preventDefault();
    } else if (event.key === "Escape") {
      $(id).value = "";
      apply();
      $("grid").focus();
      event.preventDefault();
    }
  });
}

const resourcePicker = new Picker($("resource"), { name: "a resource", options: () => resources.options(), onPick: goTo });
const listNamespaces = namespaces(stream);
const namespacePicker = new Picker($("namespace"), { name: "a namespace", options: listNamespaces, onPick: (ns) => change({ ns, object: null }) });

/** Goes to another table and keeps the namespace. */
function goTo(id) {
  const [group, version, resource] = id.split("/");
  change({ group, version, resource, l: "", q: "", sort: "", cols: "", object: null });
}

const focus = (id) => () => {
  $(id).focus();
  $(id).select();
};
/** Moves among the rows. In the panel, keys that scroll do so; `j` and `k` open the next object there too. */
const step = ({ key, target }) => {
  const inside = panel?.element.contains(target);
  if (inside && key.length > 1) return false;
  list.table.move(key);
  if (!inside) $("grid").focus();
  return true;
};
const STEPS = Object.fromEntries(["j", "k", "ArrowDown", "ArrowUp", "PageDown", "PageUp", "Home", "End"].map((key) => [key, step]));

function escape() {
  if (panel) close();
  else if (route.q) change({ q: "" }, { replace: true });
  else return false;
  return true;
}

const tab = (number) => () => {
  const name = panel?.names()[number - 1]?.[0];
  if (!name) return false;
  change({ object: { ...route.object, tab: name } }, { replace: true });
  return true;
};

listen({ "/": focus("search"), l: focus("labels"), ...STEPS,
  Enter: (event) => event.target.closest("button, a, [role=treeitem]") || !list.table.current ? false : list.table.onOpen(list.table.current),
  Escape: escape, "?": openHelp, p: pause, t: nextTheme, c: columns, r: () => resourcePicker.open(), n: () => $("namespace").disabled || namespacePicker.open(),
  1: tab(1), 2: tab(2), 3: tab(3), 4: tab(4), 5: tab(5),
  "g p": () => goTo("core/v1/pods"), "g d": () => goTo("apps/v1/deployments"), "g s": () => goTo("core/v1/services"),
  "g r": () => goTo("apps/v1/replicasets"), "g t": () => goTo("apps/v1/statefulsets"), "g a": () => goTo("apps/v1/daemonsets"),
  "g n": () => goTo("core/v1/namespaces"), "g e": () => goTo("core/v1/events") });

$("pause").addEventListener("click", pause);
$("theme").addEventListener("click", nextTheme);
$("help").addEventListener("click", openHelp);
$("signout").addEventListener("click", () => signOut(() => stream.renew()));
$("columns").addEventListener("click", columns);
field("search", "q", { live: true });
field("labels", "l", { live: false });
addEventListener("hashchange", show);
setInterval(() => {
  state();
  banner.tick();
  if (!clock.runs()) return;
  list.tick();
  panel?.tick();
}, 1000);

showTheme();
show();
describe();
