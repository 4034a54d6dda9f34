// List: the table of one resource, with its subscription, and the notice shown instead of rows.

import { explain } from "./api.js";
import { every, shown } from "./columns.js";
import { $, count, h, write } from "./dom.js";
import { Rows } from "./rows.js";
import { Table } from "./table.js";
import { View } from "./view.js";

const RETRY = 1500; // milliseconds

export class List {
  /** `onOpen(row)`, `onMove(row)` and `onSort(column)` are called for the user's actions, `onDraw()` after counts may
   * have changed. */
  constructor({ stream, resources, onOpen, onMove, onSort, onDraw }) {
    this.stream = stream;
    this.resources = resources;
    this.onDraw = onDraw;
    this.table = new Table($("grid"), { onOpen, onMove, onSort });
    this.unsubscribe = () => {};
    this.rows = null;
    this.view = null;
    this.route = null;
    this.paused = false;
    this.signIn = null;
  }

  /** Shows a route; subscribes again only if the request differs. */
  show(route) {
    const last = this.route;
    this.route = route;
    const asked = (of) => [of.group, of.version, of.resource, of.ns, of.l].join(" ");
    if (last === null || asked(last) !== asked(route)) this.#subscribe();
    else {
      if (last.q !== route.q) this.view.filter(route.q);
      if (last.sort !== route.sort) this.#sort();
    }
    this.table.opened = route.object ? [route.object.namespace, route.object.name].filter(Boolean).join("/") : null;
    const same = last !== null && last.sort === route.sort && last.cols === route.cols && asked(last) === asked(route);
    if (same) this.#soon();
    else this.#lay();
  }

  /** All columns, the chosen ones, and the order. */
  get choice() {
    const columns = this.rows.columns ?? [];
    const chosen = this.table.columns.map(({ name }) => name);
    return { all: every(columns, this.namespaced), chosen, order: this.view.order };
  }

  get namespaced() {
    return this.resources.find([this.route.group, this.route.version, this.route.resource].join("/")).namespaced;
  }

  /** The namespace shown; empty for all, and for cluster-scoped resources. */
  get ns() {
    return this.namespaced ? this.route.ns : "";
  }

  /** Shows that no user is signed in, with a button that calls `signIn`; null once a user is. */
  refuse(signIn) {
    this.signIn = signIn;
    if (this.rows) this.#summary();
  }

  hold(paused) {
    this.paused = paused;
    this.rows?.hold(paused);
    this.#soon();
  }

  tick() {
    this.table.tick();
  }

  /** The outage of the resource: `{ what, since, reason }`, or null. */
  get outage() {
    const stale = this.rows?.stale;
    return stale ? { what: `${this.route.resource} out of date`, ...stale } : null;
  }

  /** Lays out the columns again, after more is known about the resource. */
  relay() {
    if (this.route) this.#lay();
  }

  #subscribe() {
    const { group, version, resource, ns, l, q } = this.route;
    clearTimeout(this.again);
    this.unsubscribe();
    this.rows = new Rows();
    this.view = new View(this.rows);
    this.view.filter(q);
    this.#sort();
    this.rows.hold(this.paused);
    const rows = this.rows;
    const spec = { group, version, resource, namespace: ns, labelSelector: l };
    this.unsubscribe = this.stream.subscribe(spec, (event, message) => {
      rows.receive(event, message);
      if (event === "columns") {
        this.#sort();
        this.#lay();
      }
      if (event === "failed" && [0, 500, 502, 503, 504].includes(message.status)) this.#later();
      this.#soon();
    });
  }

  /** Subscribes again after a while. */
  #later() {
    clearTimeout(this.again);
    this.again = setTimeout(() => {
      const failure = this.rows.failure;
      this.#subscribe();
      this.rows.failure = failure;
      this.#lay();
    }, RETRY);
  }

  #sort() {
    const lastSeen = this.rows.columns?.find(({ role }) => role === "last-seen")?.name ?? "";
    const sort = this.route.sort || lastSeen; // events: newest first
    if (this.rows.columns === null && sort !== "") return;
    const descending = sort.startsWith("-");
    this.view.sort(sort === "" ? null : sort.slice(descending ? 1 : 0), descending);
  }

  #lay() {
    const { cols, ns } = this.route;
    const chosen = cols === "" ? null : cols.split(",");
    this.#reportUnknown(chosen ?? []);
    const options = { namespaced: this.namespaced, allNamespaces: ns === "", chosen };
    this.columns = this.rows.columns === null ? [] : shown(this.rows.columns, options);
    this.view.update();
    this.table.show(this.view, this.columns, this.#characters());
    this.#summary();
  }

  /** Reports columns of the URL that do not exist. */
  #reportUnknown(chosen) {
    const { sort, resource } = this.route;
    const names = every(this.rows.columns ?? [], this.namespaced).map(({ name }) => name);
    const requested = new Set([...chosen, sort.replace(/^-/, "")]);
    const unknown = [...requested].filter((name) => name !== "" && !names.includes(name));
    const quoted = unknown.map((name) => `“${name}”`).join(", ");
    const problem = this.rows.columns === null || unknown.length === 0 ? ""
      : `Unknown column ${quoted}: ${resource} have ${names.join(", ")}.`;
    write($("problem"), problem);
    $("problem").hidden = problem === "";
  }

  #characters() {
    const dot = (role) => (role === "name" || role === "object" ? 3 : 0); // characters
    const width = ({ at, role }) => (at < 0 ? 14 : this.rows.widest[at] + dot(role));
    return this.columns.map((column) => width(column) || column.name.length);
  }

  #soon() {
    if (this.drawing) return;
    this.drawing = true;
    const draw = () => {
      this.drawing = false;
      this.view.update();
      this.table.refresh(this.#characters());
      this.#summary();
      const isFirst = performance.getEntriesByName("first-rows").length === 0;
      if (this.view.rows.length > 0 && isFirst) performance.mark("first-rows");
    };
    if (document.hidden) setTimeout(draw, 1000);
    else requestAnimationFrame(draw);
  }

  #summary() {
    const [shownRows, all] = [this.view.rows.length, this.rows.byKey.size];
    const words = shownRows === all ? count(all) : `${count(shownRows)} of ${count(all)}`;
    write($("count"), this.rows.synced ? words : all > 0 ? `${words}, loading` : "");
    this.#notice(shownRows, all);
    this.onDraw();
  }

  /** Shows a notice instead of rows if there are none, or a banner above them if they are out of date. */
  #notice(shownRows, all) {
    const { failure, synced } = this.rows;
    const { resource, l, q } = this.route;
    const where = this.ns ? ` in namespace ${this.ns}` : "";
    let notice = null;
    if (this.signIn && all === 0) {
      notice = { title: "You are not signed in", hint: `Sign in to see ${resource}.`, signIn: true };
    } else if (failure && all === 0) notice = { busy: failure.status === 503, ...explain(failure) };
    else if (!synced && all === 0) notice = { busy: true, title: `Loading ${resource}`, hint: "" };
    else if (all === 0 && l) {
      notice = { title: `No ${resource} match these labels`, hint: `No ${resource}${where} match ${l}.` };
    } else if (all === 0) notice = { title: `No ${resource}${where}`, hint: "New objects appear here automatically." };
    else if (shownRows === 0) {
      const hint = `None of ${count(all)} ${resource}${where} contains “${q}” in its cells or labels.`;
      notice = { title: "Nothing matches", hint };
    }
    const key = JSON.stringify(notice);
    if (key !== this.notice) {
      this.notice = key;
      $("notice").hidden = notice === null;
      $("notice").replaceChildren(...(notice === null ? [] : this.#noticeContent(notice)));
    }
    $("banner").hidden = !(failure && all > 0);
    if (failure) {
      const { title, hint } = explain(failure);
      write($("banner"), `${title}: ${hint} The rows below may be out of date.`);
    }
    $("labels").setAttribute("aria-invalid", String(failure?.status === 400 && l !== ""));
  }

  #noticeContent({ busy, title, hint, signIn }) {
    const attributes = { type: "button", class: "button primary", id: "signin", click: () => this.signIn?.() };
    return [busy ? h("div", { class: "spinner" }) : "", h("h2", {}, title), h("p", { class: "quiet" }, hint),
      signIn ? h("button", attributes, "Sign in") : ""];
  }
}
