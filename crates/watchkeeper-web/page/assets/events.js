// Events: the events of an object, newest first, requested again whenever one of them changes.

import { since } from "./age.js";
import { data, explain } from "./api.js";
import { dot, h } from "./dom.js";
import { refresher } from "./refresh.js";

const MOST = 200;

export class Events {
  constructor({ stream, namespace, uid }) {
    this.list = h("ul", { class: "events" });
    this.note = h("div", { class: "empty" }, "Loading events…");
    this.element = h("div", {}, this.note, this.list);
    const query = new URLSearchParams({ uid, limit: MOST });
    if (namespace) query.set("namespace", namespace);
    this.refresh = refresher(async (signal) => this.#show(await data(`/v1/events?${query}`, signal)), (error) => this.#failed(error));
    this.unsubscribe = stream.subscribe({ resource: "events", namespace, fieldSelector: `involvedObject.uid=${uid}` },
      (event) => event === "rows" && this.refresh());
    this.refresh();
  }

  close() {
    this.refresh.stop();
    this.unsubscribe();
  }

  #show(events) {
    this.note.hidden = events.length > 0;
    this.note.replaceChildren(h("h3", {}, "No events"), "No events were recorded for this object, or they have expired.");
    this.list.replaceChildren(...events.map((event) => {
      const level = event.type === "Warning" ? "degraded" : "healthy";
      return h("li", {}, dot(level),
        h("span", { class: "what" }, event.reason, event.type === "Warning" ? h("span", { class: "quiet" }, " warning") : null,
          event.count > 1 ? h("span", { class: "quiet" }, ` ×${event.count}`) : null),
        since("time", event.last, "% ago", { class: "when", datetime: event.last }),
        h("span", { class: "message" }, event.message), h("span", { class: "from" }, event.source));
    }));
  }

  #failed(error) {
    const { title, hint } = explain(error);
    this.note.hidden = false;
    this.note.replaceChildren(h("h3", {}, title), hint);
    return error.status === 503 || error.status === 0 ? Math.max(1, error.retryAfter) * 1000 : null;
  }
}
