// Stream: the subscriptions of a tab in the stream that all tabs of the browser share.
//
// Input: messages of the connection in the shared worker; without shared workers, of a connection in this tab, which is
//        released while the tab is hidden.
// Output: `(event, message)` to the receiver of each subscription, and `onStatus(status)`.

import { Connection } from "./connection.js";

const WORKER = "watchkeeper-1"; // changes with the protocol: tabs of an older page may still be open
const PING = 3000;

export class Stream {
  /** `onStatus` receives `{ state, code, since, server }`: the state is `connecting`, `live`, `reconnecting` or `refused`
   * (with the service's status code), `since` is the time of the last event, and `server` is `{ since, reason }` while the
   * API server is unreachable. */
  constructor(onStatus) {
    this.onStatus = onStatus;
    this.subscriptions = new Map();
    this.next = 1;
    this.#join();
    document.addEventListener("visibilitychange", () => document.hidden || this.retry());
    addEventListener("pagehide", () => this.#leave());
    document.addEventListener("freeze", () => this.#leave());
    addEventListener("pageshow", ({ persisted }) => persisted && this.#rejoin());
    document.addEventListener("resume", () => this.#rejoin());
    setInterval(() => document.hidden || this.#ping(), PING);
  }

  /** Subscribes. Returns a function that unsubscribes. */
  subscribe(wanted, receive) {
    const id = `s${this.next++}`;
    const spec = { group: "core", version: "v1", namespace: "", labelSelector: "", fieldSelector: "", name: "", as: "row", ...wanted };
    this.subscriptions.set(id, { spec, receive, stale: null });
    this.post({ subscribe: id, spec });
    return () => {
      if (this.subscriptions.delete(id)) this.post({ unsubscribe: id });
    };
  }

  /** Connects immediately instead of after the backoff. */
  retry() {
    this.post({ retry: true });
  }

  /** Reopens the stream for all tabs, after the user has signed in or out. */
  renew() {
    this.post({ renew: true });
  }

  #join() {
    this.pings = 0;
    this.post = (this.#joinWorker() ?? this.#joinHere()).post;
    for (const [id, { spec }] of this.subscriptions) this.post({ subscribe: id, spec });
  }

  #joinWorker() {
    if (this.alone || typeof SharedWorker !== "function") return null;
    try {
      const worker = new SharedWorker("/assets/worker.js", { type: "module", name: WORKER });
      const { port } = worker;
      worker.addEventListener("error", () => {
        if (this.port !== port) return;
        this.alone = true; // the worker cannot be loaded
        this.#rejoin();
      });
      port.addEventListener("message", ({ data }) => this.port === port && this.#receive(data));
      port.start();
      this.port = port;
      this.#hold(port);
      return { post: (message) => port.postMessage(message) };
    } catch {
      return null;
    }
  }

  /** Holds a lock while this tab exists: the worker waits for it, and so detects a crashed tab. */
  #hold(port) {
    const lock = `watchkeeper-tab-${Date.now()}-${Math.random()}`;
    navigator.locks?.request(lock, () => new Promise((release) => {
      this.release = release;
      port.postMessage({ lock });
    }));
  }

  #joinHere() {
    const connection = new Connection();
    this.port = null;
    document.removeEventListener("visibilitychange", this.hide);
    this.hide = () => (document.hidden ? connection.release() : connection.resume());
    this.connection = connection;
    const later = (message) => queueMicrotask(() => this.connection === connection && this.#receive(message)); // asynchronous, as from a worker
    const client = connection.add(later);
    document.addEventListener("visibilitychange", this.hide);
    return { post: (message) => connection.receive(client, message) };
  }

  #leave() {
    this.post({ close: true });
    this.release?.();
    this.post = () => {};
    this.left = true;
  }

  /** Joins again after the tab was left, or with another worker. Everything is received again. */
  #rejoin() {
    for (const { receive } of this.subscriptions.values()) receive("reset", {});
    this.left = false;
    this.#join();
  }

  /** Pings the worker; one that misses two pings is gone. */
  #ping() {
    if (this.port === null || this.left) return;
    if (this.pings >= 2) return this.#rejoin();
    this.pings++;
    this.port.postMessage({ ping: true });
  }

  #receive({ id, event, data, status, pong }) {
    if (pong) this.pings = 0;
    else if (status) this.#status(status);
    else this.subscriptions.get(id)?.receive(event, JSON.parse(data));
  }

  #status({ stale, ...status }) {
    for (const [id, subscription] of this.subscriptions) {
      const outage = stale[id] ?? null;
      if (outage?.since === subscription.stale?.since) continue;
      subscription.stale = outage;
      subscription.receive("stale", outage);
    }
    this.onStatus(status);
  }
}
