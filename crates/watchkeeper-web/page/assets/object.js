// Object: the panel of one object, live: YAML, changes, events, owner tree and pods.

import { moment, since, tick } from "./age.js";
import { explain } from "./api.js";
import { Changes } from "./changes.js";
import { now } from "./clock.js";
import { h, set, write } from "./dom.js";
import { Events } from "./events.js";
import { Manifest } from "./manifest.js";
import { Pods } from "./pods.js";
import { Tree } from "./tree.js";

const TABS = [["yaml", "YAML"], ["diff", "Changes"], ["events", "Events"], ["tree", "Tree"], ["pods", "Pods"]];
const HELD = 50;
const RETRY = 1500; // milliseconds

export class ObjectPanel {
  /** `link(target, tab)` returns a URL; `onTab(name)` and `onClose()` are called for the user's actions. */
  constructor({ stream, target, kind, link, onTab, onClose }) {
    this.context = { stream, target, link };
    this.target = target;
    this.onTab = onTab;
    this.parts = {};
    this.object = null;
    this.held = null;
    this.stale = null;
    this.kind = h("span", { class: "kind" }, kind);
    this.facts = h("div", { class: "facts" });
    this.chips = h("div", { class: "chips" });
    this.tabs = h("div", { class: "tabs", role: "tablist", "aria-label": "Views of the object", keydown: (event) => this.#arrows(event) },
      this.names().map(([name, label]) => h("button", { type: "button", role: "tab", id: `tab-${name}`, "data-tab": name, "aria-controls": "panel",
        "aria-selected": "false", tabindex: -1, click: () => onTab(name) }, label)));
    this.panel = h("div", { class: "panel", id: "panel", role: "tabpanel", tabindex: 0 });
    this.deleted = h("div", { class: "deletion", hidden: true });
    this.element = h("aside", { class: "object", id: "object", "aria-label": `${kind} ${target.name}` },
      h("header", {}, h("h2", { tabindex: -1 }, this.kind, target.name),
        h("button", { type: "button", class: "button close", "aria-label": "Close the object", title: "Close (Esc)", click: onClose }, "×"), this.facts, this.chips),
      this.tabs, this.deleted, this.panel);
    this.#subscribe();
    this.parts.yaml = new Manifest(target);
    this.parts.diff = new Changes();
    this.show(target.tab);
    this.#note("Loading…", "");
  }

  /** The tabs of this object. */
  names() {
    const { group, resource } = this.target;
    return TABS.filter(([name]) => name !== "pods" || (group === "apps" && resource === "deployments"));
  }

  /** Shows a tab. */
  show(tab) {
    this.tab = this.names().some(([name]) => name === tab) ? tab : "yaml";
    for (const button of this.tabs.children) {
      const selected = button.dataset.tab === this.tab;
      set(button, "aria-selected", selected);
      button.tabIndex = selected ? 0 : -1;
    }
    set(this.panel, "aria-labelledby", `tab-${this.tab}`);
    this.#draw();
  }

  /** Holds newer versions back, or applies them. */
  hold(held) {
    if (held) this.held ??= [];
    else if (this.held) {
      const waiting = this.held;
      this.held = null;
      for (const object of waiting) object === null ? this.#gone() : this.#update(object);
    }
  }

  /** The number of versions held back. */
  get heldCount() {
    return this.held?.length ?? 0;
  }

  /** Updates all visible ages. */
  tick() {
    tick(this.element, now());
  }

  /** Shows that no user is signed in. */
  refuse() {
    if (this.object === null) this.#note("You are not signed in", "Sign in to see this object.");
  }

  /** The outage of the resource: `{ what, since, reason }`, or null. */
  get outage() {
    return this.stale && { what: `${this.target.resource} out of date`, ...this.stale };
  }

  close() {
    clearTimeout(this.again);
    this.unsubscribe();
    for (const part of Object.values(this.parts)) part.close?.();
    this.element.remove();
  }

  #subscribe() {
    const { group, version, resource, namespace, name } = this.target;
    this.unsubscribe?.();
    this.unsubscribe = this.context.stream.subscribe({ group, version, resource, namespace, name, as: "object" }, (event, message) => this.#receive(event, message));
  }

  #receive(event, message) {
    if (event === "objects") {
      this.came ||= message.objects.length > 0;
      for (const object of message.objects) this.#take(object);
      if (message.gone?.length) this.#take(null);
    } else if (event === "synced" && message.count === 0 && this.object === null) {
      this.#note("Not found", "The object does not exist. It may have been deleted, or the URL is wrong.");
    } else if (event === "synced" && !this.came) {
      this.#take(null);
    } else if (event === "reset") {
      this.came = false;
    } else if (event === "stale") {
      this.stale = message;
    } else if (event === "failed") {
      if (message.status >= 500) this.again = setTimeout(() => this.#subscribe(), RETRY);
      const { title, hint } = explain(message);
      this.#note(title, hint);
    }
  }

  #take(object) {
    if (this.held === null || this.object === null) object === null ? this.#gone() : this.#update(object);
    else {
      this.held.push(object);
      if (this.held.length > HELD) this.held.shift();
    }
  }

  #update(object) {
    if (this.object !== null && this.object.metadata.uid !== object.metadata.uid) this.#forget();
    this.object = object;
    this.note = null;
    this.element.classList.remove("deleted");
    this.deleted.hidden = true;
    this.parts.diff.update(object);
    for (const part of Object.values(this.parts)) if (part !== this.parts.diff) part.update?.(object);
    const { count } = this.parts.diff;
    const badge = this.tabs.querySelector("[data-tab=diff]");
    if (count > 0) badge.replaceChildren("Changes", h("span", { class: "badge" }, String(count)));
    this.#head();
    this.#draw(); // also replaces the note of a failure
  }

  #gone() {
    if (this.object === null) return;
    for (const part of Object.values(this.parts)) part.gone?.();
    this.facts.append(h("span", { class: "gone", role: "status" }, "Deleted"));
    this.element.classList.add("deleted");
    this.deleted.hidden = false;
    write(this.deleted, `This ${this.object.kind} was deleted at ${moment(Date.now(), Date.now())}. The last known state is shown.`);
  }

  /** Removes the parts of the previous object: another object has the same name now. */
  #forget() {
    for (const name of ["events", "tree", "pods"]) {
      this.parts[name]?.close();
      delete this.parts[name];
    }
  }

  #head() {
    const { metadata, kind } = this.object;
    write(this.kind, kind);
    this.facts.replaceChildren(...[metadata.namespace ? h("span", {}, metadata.namespace) : null, since("span", metadata.creationTimestamp, "% old"),
      h("span", {}, `version ${metadata.resourceVersion}`),
      metadata.deletionTimestamp ? h("span", { class: "gone" }, "Terminating") : null].filter(Boolean));
    this.chips.replaceChildren(...Object.entries(metadata.labels ?? {}).map(([key, value]) => h("span", { class: "chip" }, `${key}=${value}`)));
  }

  #note(title, hint) {
    this.note = h("div", { class: "empty" }, h("h3", {}, title), hint);
    this.#draw();
  }

  #draw() {
    const shown = this.note ?? this.#part()?.element ?? null;
    if (this.panel.firstChild === shown) return;
    this.panel.replaceChildren(...(shown ? [shown] : []));
    this.panel.scrollTop = 0;
    this.tick(); // hidden tabs are not updated
  }

  #part() {
    if (this.object === null) return null;
    const { namespace = "", uid } = this.object.metadata;
    const make = {
      events: () => new Events({ ...this.context, namespace, uid }),
      tree: () => new Tree({ ...this.context, uid }),
      pods: () => new Pods({ ...this.context, selector: this.object.spec.selector }),
    };
    return (this.parts[this.tab] ??= make[this.tab]());
  }

  #arrows(event) {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!by) return;
    const names = this.names().map(([name]) => name);
    const to = names[(names.indexOf(this.tab) + by + names.length) % names.length];
    event.preventDefault();
    this.onTab(to);
    this.tabs.querySelector(`[data-tab=${to}]`).focus();
  }
}
