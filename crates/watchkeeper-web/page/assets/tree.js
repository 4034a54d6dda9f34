// Tree: an object with its owners and their descendants, from the topmost owner, each with its health. Requested again
// whenever an owner in it changes, and periodically.

import { since } from "./age.js";
import { data, explain, objectPath } from "./api.js";
import { dot, h } from "./dom.js";
import { refresher } from "./refresh.js";

const WATCHED = 12;
const CHILDREN = 200;
const REFRESH_EVERY = 5000;
const RANK = { unknown: 0, healthy: 1, progressing: 2, degraded: 3 };

export class Tree {
  constructor({ target, stream, uid, link }) {
    this.stream = stream;
    this.uid = uid;
    this.link = link;
    this.folded = new Set();
    this.unfolded = new Map();
    this.watched = new Map();
    this.list = h("ul", { class: "tree", role: "tree", "aria-label": "Owners and owned objects", keydown: (event) => this.#key(event) });
    this.note = h("div", { class: "empty" }, "Loading the tree…");
    this.element = h("div", {}, this.note, this.list);
    this.refresh = refresher(async (signal) => this.#show(await data(`${objectPath("tree", target)}?up=true`, signal)), (error) => this.#failed(error));
    this.timer = setInterval(() => document.hidden || this.refresh(), REFRESH_EVERY);
    this.refresh();
  }

  update() {
    this.refresh();
  }

  /** Stops refreshing: the object was deleted, and its last state is shown. */
  gone() {
    clearInterval(this.timer);
    this.refresh.stop();
  }

  close() {
    this.gone();
    for (const unsubscribe of this.watched.values()) unsubscribe();
  }

  #show(root) {
    this.note.hidden = true;
    this.root = root;
    this.#watch(root);
    const drawn = JSON.stringify(root);
    if (drawn === this.drawn) return;
    this.drawn = drawn;
    const focused = document.activeElement?.closest?.("[role=treeitem]")?.dataset.uid;
    this.list.replaceChildren(this.#node(root, 1));
    const items = [...this.list.querySelectorAll("[role=treeitem]")];
    const entry = items.find((item) => item.dataset.uid === focused) ?? items.find((item) => item.dataset.uid === this.uid) ?? items[0];
    entry.tabIndex = 0;
    if (focused) entry.focus();
  }

  #node(node, level) {
    const { uid, children } = node;
    const below = RANK[node.below] > Math.max(1, RANK[node.health]) ? `${node.below} below` : "";
    const here = uid === this.uid;
    const shown = children.slice(0, this.unfolded.get(uid) ?? CHILDREN);
    const more = children.length - shown.length;
    const fold = h("button", { type: "button", class: "fold", tabindex: -1, "aria-label": `Fold ${node.name}`, click: () => this.#fold(item) });
    const item = h("li", { role: "treeitem", "data-uid": uid, tabindex: -1, class: here ? "here" : null, "aria-level": level,
      "aria-current": here ? "true" : null, "aria-label": [`${node.kind} ${node.name}`, node.health, node.status, below].filter(Boolean).join(", "),
      "aria-expanded": children.length === 0 ? null : String(!this.folded.has(uid)) },
    h("div", { class: "node" }, children.length > 0 ? fold : h("span", { class: "leaf" }), dot(node.health),
      h("span", { class: "kind" }, node.kind), h("a", { href: this.link(node, "tree"), tabindex: -1 }, node.name),
      h("span", { "data-level": node.health }, node.status), below ? h("span", { "data-level": node.below }, below) : null,
      since("span", node.created, "%", { class: "quiet" })),
    children.length === 0 ? null : h("ul", { role: "group" }, shown.map((child) => this.#node(child, level + 1)),
      more > 0 ? h("li", { role: "none" }, h("button", { type: "button", class: "button", click: () => this.#more(uid, children.length) },
        `${more} more`)) : null));
    return item;
  }

  #fold(item) {
    const folded = item.getAttribute("aria-expanded") === "true";
    item.setAttribute("aria-expanded", String(!folded));
    this.folded[folded ? "add" : "delete"](item.dataset.uid);
  }

  #more(uid, count) {
    this.unfolded.set(uid, count);
    this.drawn = null;
    this.#show(this.root);
  }

  /** Subscribes to the objects that own others. */
  #watch(root) {
    const owners = [];
    const walk = (node) => {
      if (node.children.length > 0 && owners.length < WATCHED) owners.push(node);
      node.children.forEach(walk);
    };
    walk(root);
    const wanted = new Set(owners.map(({ uid }) => uid));
    for (const [uid, unsubscribe] of this.watched) {
      if (wanted.has(uid)) continue;
      unsubscribe();
      this.watched.delete(uid);
    }
    for (const { uid, group, version, resource, namespace, name } of owners) {
      if (this.watched.has(uid)) continue;
      const wants = { group, version, resource, namespace, name };
      this.watched.set(uid, this.stream.subscribe(wants, (event) => event === "rows" && this.refresh()));
    }
  }

  #failed(error) {
    const { title, hint } = explain(error);
    this.note.hidden = false;
    this.note.replaceChildren(h("h3", {}, title), hint);
    return error.status === 503 || error.status === 0 ? Math.max(1, error.retryAfter) * 1000 : null;
  }

  #key(event) {
    const item = event.target.closest("[role=treeitem]");
    if (!item || event.target !== item) return;
    const items = [...this.list.querySelectorAll("[role=treeitem]")].filter((each) => each.offsetParent !== null);
    const at = items.indexOf(item);
    const expanded = item.getAttribute("aria-expanded");
    let to = null;
    if (event.key === "ArrowDown" || event.key === "j") to = items[at + 1];
    else if (event.key === "ArrowUp" || event.key === "k") to = items[at - 1];
    else if (event.key === "Home") to = items[0];
    else if (event.key === "End") to = items.at(-1);
    else if (event.key === "ArrowRight" && expanded === "false") this.#fold(item);
    else if (event.key === "ArrowRight" && expanded === "true") to = items[at + 1];
    else if (event.key === "ArrowLeft" && expanded === "true") this.#fold(item);
    else if (event.key === "ArrowLeft") to = item.parentElement.closest("[role=treeitem]");
    else if (event.key === "Enter") item.querySelector("a").click();
    else return;
    event.preventDefault();
    if (!to) return;
    item.tabIndex = -1;
    to.tabIndex = 0;
    to.focus();
  }
}
