// Stream: one connection a tab, carrying any number of subscriptions.
//
// From: `/v1/stream`, as server-sent events; the set of subscriptions is put to `/v1/stream/{id}`.
// To:   the receiver of each subscription, as `(event, message)`.
//
// - T1: after a break the stream is taken up where it was. If the server no longer has it, every receiver is sent
//   `reset` and hears everything again.
// - T2: one PUT is under way at a time, and the last set put is the last set wanted.

const PATIENCE = [250, 500, 1000, 2000, 4000];
const CARRIED = 8;

export class Stream {
  /** `onState` hears `connecting`, `live`, `reconnecting` or `refused` (with the status that the server gave). */
  constructor(onState) {
    this.onState = onState;
    this.subscriptions = new Map();
    this.next = 1;
    this.source = null;
    this.id = null;
    this.last = null;
    this.failures = 0;
    this.putting = false;
    this.unsent = false;
    addEventListener("online", () => this.retry());
    document.addEventListener("visibilitychange", () => document.hidden || this.retry());
    addEventListener("pageshow", (event) => event.persisted && this.#lost());
  }

  /** Begins to hear what matches. Returns the function that ends it. */
  subscribe(wanted, receive) {
    const id = `s${this.next++}`;
    const spec = { id, group: "core", version: "v1", namespace: "", labelSelector: "", fieldSelector: "", name: "", as: "row", ...wanted };
    this.subscriptions.set(id, { spec, receive });
    this.#changed();
    return () => {
      if (this.subscriptions.delete(id)) this.#changed();
    };
  }

  /** Connects now rather than later, if there is no connection. */
  retry() {
    if (this.timer === undefined) return;
    clearTimeout(this.timer);
    this.#connect();
  }

  #changed() {
    if (this.unsent) return;
    this.unsent = true;
    queueMicrotask(() => {
      if (this.source === null && this.timer === undefined) this.#connect();
      else this.#put();
    });
  }

  #connect() {
    this.timer = undefined;
    this.onState(this.failures === 0 ? "connecting" : "reconnecting");
    const query = new URLSearchParams();
    const specs = this.#specs();
    if (this.last !== null) query.set("last", this.last);
    else if (specs.length <= CARRIED) {
      for (const spec of specs) query.append("sub", JSON.stringify(spec));
      this.carried = JSON.stringify(specs);
    }
    const source = new EventSource(`/v1/stream?${query}`);
    this.source = source;
    source.addEventListener("error", () => this.source === source && this.#lost());
    source.addEventListener("hello", (event) => this.#hello(JSON.parse(event.data), event.lastEventId));
    for (const name of ["columns", "rows", "synced", "objects", "reset", "failed"]) {
      source.addEventListener(name, (event) => {
        this.last = event.lastEventId;
        const message = JSON.parse(event.data);
        this.subscriptions.get(message.sub)?.receive(name, message);
      });
    }
  }

  #hello({ stream, resumed }, id) {
    const again = this.id !== null && !resumed;
    this.id = stream;
    this.last = id;
    this.failures = 0;
    this.onState("live");
    if (again) for (const { receive } of this.subscriptions.values()) receive("reset", {});
    if (this.unsent || again || this.carried !== JSON.stringify(this.#specs())) this.#put();
    this.carried = undefined;
  }

  /** Asks what an event source does not tell: whether the server is there, and lets us in. */
  async #lost() {
    this.source.close();
    this.source = null;
    const status = await fetch("/v1/resources", { cache: "no-store" }).then((answer) => answer.status, () => 0);
    if (this.source !== null) return;
    this.failures++;
    this.onState(status >= 400 && status < 500 ? "refused" : "reconnecting", status);
    const wait = PATIENCE[Math.min(this.failures, PATIENCE.length) - 1];
    this.timer = setTimeout(() => this.#connect(), wait * (0.75 + Math.random() / 2));
  }

  async #put() {
    this.unsent = this.putting || this.source === null || this.id === null;
    if (this.unsent) return;
    this.putting = true;
    const body = JSON.stringify({ subscriptions: this.#specs() });
    const headers = { "content-type": "application/json" };
    const status = await fetch(`/v1/stream/${this.id}`, { method: "PUT", body, headers }).then((answer) => answer.status, () => 0);
    this.putting = false;
    if (status === 404 && this.source !== null) {
      this.last = null;
      this.#lost();
    } else if (status === 0 || status >= 500) this.unsent = true; // the stream breaks too, and hello puts it again
    else if (this.unsent) this.#put();
  }

  #specs() {
    return [...this.subscriptions.values()].map(({ spec }) => spec);
  }
}
