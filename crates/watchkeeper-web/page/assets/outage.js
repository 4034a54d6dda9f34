// Outage: the banner that shows what is out of date, since when and why.

import { span } from "./age.js";
import { h, write } from "./dom.js";

export class Outage {
  constructor(element) {
    this.element = element;
    this.what = h("strong", { role: "alert" });
    this.since = h("span", { role: "timer" }); // not announced every second
    this.reason = h("span", { class: "quiet" });
    element.replaceChildren(this.what, " ", this.since, this.reason);
    this.outage = null;
  }

  /** Shows `{ what, since, reason }`, or nothing for null. */
  show(outage) {
    this.outage = outage;
    this.element.hidden = outage === null;
    write(this.what, outage?.what ?? "");
    write(this.reason, outage?.reason ? ` · ${outage.reason}` : "");
    this.tick();
  }

  /** Updates the duration. */
  tick() {
    if (this.outage) write(this.since, `for ${span(Math.max(0, Date.now() - this.outage.since))}`);
  }
}
