// Changes: the differences between versions of an object as they arrive, newest first.

import { moment } from "./age.js";
import { diff, hunks, tally } from "./diff.js";
import { h } from "./dom.js";
import { yaml } from "./yaml.js";

const KEPT = 50;

export class Changes {
  constructor() {
    this.last = null;
    this.count = 0;
    this.empty = h("div", { class: "empty" }, h("h3", {}, "No changes yet"),
      "Each new version of the object is compared with the previous one, starting when you opened it.");
    this.list = h("div", {});
    this.element = h("div", { class: "changes" }, this.empty, this.list);
  }

  /** Compares a newer version of the object with the previous one. */
  update(object) {
    const { resourceVersion: version, ...metadata } = object.metadata;
    const text = yaml({ ...object, metadata }).trimEnd();
    const last = this.last;
    this.last = { version, text };
    if (last === null || last.version === version) return;
    this.count++;
    this.#add(last, version, diff(last.text, text));
  }

  /** Records that the object was deleted. */
  gone() {
    this.#put(h("section", { class: "version" }, h("h3", {}, h("span", { class: "minus" }, "Deleted"), when())));
    this.last = null;
  }

  #add(last, version, lines) {
    const { added, removed } = tally(lines);
    const title = h("h3", {}, `Version ${version}`, h("span", { class: "plus" }, `+${added}`), h("span", { class: "minus" }, `−${removed}`), when());
    const runs = hunks(lines);
    const body = runs.length === 0
      ? h("div", { class: "empty" }, "Only the version changed.")
      : h("div", { class: "scroll" }, runs.map((run) => h("pre", { class: "hunk" }, run.map(line))));
    this.#put(h("section", { class: "version", "aria-label": `From version ${last.version} to ${version}` }, title, body));
  }

  #put(section) {
    this.empty.hidden = true;
    this.list.prepend(section);
    while (this.list.childElementCount > KEPT) this.list.lastElementChild.remove();
  }
}

function when() {
  const now = Date.now();
  return h("time", { class: "quiet", datetime: new Date(now).toISOString() }, moment(now, now));
}

function line({ sign, text, before, after }) {
  const kind = sign === "+" ? "d plus" : sign === "-" ? "d minus" : "d";
  return h("span", { class: kind }, h("span", { class: "at" }, String(after ?? before)), h("span", { class: "sign" }, sign), text, "\n");
}
