// List: the table of one resource, from its subscription to what stands where rows would be.

import { explain } from "./api.js";
import { every, shown } from "./columns.js";
import { $, count, h, write } from "./dom.js";
import { Rows } from "./rows.js";
import { Table } from "./table.js";
import { View } from "./view.js";

const AGAIN = 1500;

export class List {
  /** `onOpen(row)`, `onMove(row)` and `onSort(column)` hear what the user does; `onDraw()` that the numbers may differ. */
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

  /** Shows what the address says, and asks for it only if it is something else. */
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
    if (last === null || last.sort !== route.sort || last.cols !== route.cols || asked(last) !== asked(route)) this.#lay();
    else this.#soon();
  }

  /** What there is to choose of, and what is chosen. */
  get choice() {
    const columns = this.rows.columns ?? [];
    return { all: every(columns, this.namespaced), chosen: this.table.columns.map(({ name }) => name), order: this.view.order };
  }

  get namespaced() {
    return this.resources.find([this.route.group, this.route.version, this.route.resource].join("/")).namespaced;
  }

  /** The namespace that is shown; empty for all, and for kinds that are in none. */
  get ns() {
    return this.namespaced ? this.route.ns : "";
  }

  /** Nobody is signed in: says so, with a way to. `null` once somebody is. */
  refuse(signIn) {
    this.signIn = signIn;
    if (this.rows) this.#say();
  }

  hold(paused) {
    this.paused = paused;
    this.rows?.hold(paused);
    this.#soon();
  }

  tick() {
    this.table.tick();
  }

  /** What of it is not current: `{ what, since, reason }`, or null. */
  get outage() {
    const stale = this.rows?.stale;
    return stale ? { what: `${this.route.resource} not current`, ...stale } : null;
  }

  /** More is known of the resources: the columns may differ. */
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
    this.unsubscribe = this.stream.subscribe({ group, version, resource, namespace: ns, labelSelector: l }, (event, message) => {
      rows.receive(event, message);
      if (event === "columns") {
        this.#sort();
        this.#lay();
      }
      if (event === "failed" && [0, 500, 502, 503, 504].includes(message.status)) this.#later();
      this.#soon();
    });
  }

  /** Subscribes again after a while: what failed may be there by then. */
  #later() {
    clearTimeout(this.again);
    this.again = setTimeout(() => {
      const failure = this.rows.failure;
      this.#subscribe();
      this.rows.failure = failure;
      this.#lay();
    }, AGAIN);
  }

  #sort() {
    const sort = this.route.sort || (this.#has("Last Seen") ? "Last Seen" : ""); // of events, the newest first
    if (this.rows.columns === null && sort !== "") return;
    const descending = sort.startsWith("-");
    this.view.sort(sort === "" ? null : sort.slice(descending ? 1 : 0), descending);
  }

  #has(name) {
    return this.rows.columns?.some((column) => column.name === name) ?? false;
  }

  #lay() {
    const { cols, ns } = this.route;
    const chosen = cols === "" ? null : cols.split(",");
    this.#complain(chosen ?? []);
    this.columns = this.rows.columns === null ? [] : shown(this.rows.columns, { namespaced: this.namespaced, allNamespaces: ns === "", chosen });
    this.view.update();
    this.table.show(this.view, this.columns, this.#characters());
    this.#say();
  }

  /** Says which columns of the address there are not. */
  #complain(chosen) {
    const { sort, resource } = this.route;
    const names = every(this.rows.columns ?? [], this.namespaced).map(({ name }) => name);
    const unknown = [...new Set([...chosen, sort.replace(/^-/, "")])].filter((name) => name !== "" && !names.includes(name));
    const said = this.rows.columns === null || unknown.length === 0 ? ""
      : `Unknown column ${unknown.map((name) => `“${name}”`).join(", ")}: ${resource} have ${names.join(", ")}.`;
    write($("problem"), said);
    $("problem").hidden = said === "";
  }

  #characters() {
    return this.columns.map(({ at, name }) => (at < 0 ? 14 : this.rows.widest[at] + (name === "Name" || name === "Object" ? 3 : 0)) || name.length);
  }

  #soon() {
    if (this.drawing) return;
    this.drawing = true;
    const draw = () => {
      this.drawing = false;
      this.view.update();
      this.table.refresh(this.#characters());
      this.#say();
      if (this.view.rows.length > 0 && performance.getEntriesByName("first-rows").length === 0) performance.mark("first-rows");
    };
    if (document.hidden) setTimeout(draw, 1000);
    else requestAnimationFrame(draw);
  }

  #say() {
    const [shownRows, all] = [this.view.rows.length, this.rows.byKey.size];
    const words = shownRows === all ? count(all) : `${count(shownRows)} of ${count(all)}`;
    write($("count"), this.rows.synced ? words : all > 0 ? `${words}, loading` : "");
    this.#notice(shownRows, all);
    this.onDraw();
  }

  /** What stands in the place of rows, if there are none; above them, if they are old. */
  #notice(shownRows, all) {
    const { failure, synced } = this.rows;
    const { resource, l, q } = this.route;
    const where = this.ns ? ` in namespace ${this.ns}` : "";
    let said = null;
    if (this.signIn && all === 0) said = { title: "You are not signed in", hint: `The server shows ${resource} to those it knows.`, signIn: true };
    else if (failure && all === 0) said = { busy: failure.status === 503, ...explain(failure) };
    else if (!synced && all === 0) said = { busy: true, title: `Loading ${resource}`, hint: "" };
    else if (all === 0 && l) said = { title: `No ${resource} match these labels`, hint: `Nothing${where} has ${l}.` };
    else if (all === 0) said = { title: `No ${resource}${where}`, hint: "As soon as there is one, it appears here." };
    else if (shownRows === 0) said = { title: "Nothing matches", hint: `None of ${count(all)} ${resource}${where} has “${q}” in its cells or labels.` };
    const key = JSON.stringify(said);
    if (key !== this.said) {
      this.said = key;
      $("notice").hidden = said === null;
      $("notice").replaceChildren(...(said === null ? [] : [said.busy ? h("div", { class: "spinner" }) : "", h("h2", {}, said.title), h("p", { class: "quiet" }, said.hint),
        said.signIn ? h("button", { type: "button", class: "button primary", id: "signin", click: () => this.signIn?.() }, "Sign in") : ""]));
    }
    $("banner").hidden = !(failure && all > 0);
    if (failure) write($("banner"), `${explain(failure).title}: ${explain(failure).hint} What you see may be old.`);
    $("labels").setAttribute("aria-invalid", String(failure?.status === 400 && l !== ""));
  }
}
