// Connection: one stream of the service, shared by the tabs of a browser.
//
// Input: `/v1/stream`, as server-sent events; all subscriptions are PUT to `/v1/stream/{id}`.
// Output: messages to each client: `{ id, event, data }` for a subscription, and `{ status }` whenever it changes.
//
// - `connection.T1`: after an interruption the stream is resumed. If it has expired, every subscription receives `reset`
//   and everything again.
// - `connection.T2`: at most one PUT is in flight, and the last one has the newest subscriptions.
// - `connection.T3`: a stream without any event for SILENCE is lost: the service sends a ping every HEARTBEAT seconds.

const RETRY = [250, 500, 1000]; // milliseconds before each attempt to connect; the last one repeats
const REFUSED = 4000; // the same while the service rejects us
const CARRIED = 8; // maximum number of subscriptions in the request that opens the stream
const HEARTBEAT = 1; // seconds
const SILENCE = 3500; // milliseconds
const CHECK = 500; // milliseconds between checks for silence
const ANSWER = 2000; // milliseconds until a request times out

export class Connection {
  constructor() {
    this.clients = new Map();
    this.subscriptions = new Map();
    this.next = 1;
    this.source = null;
    this.id = null;
    this.last = null;
    this.failures = 0;
    this.lastEventAt = Date.now();
    this.status = { state: "connecting", code: 0, since: null, server: null };
    this.stale = new Map();
    addEventListener("online", () => this.retry());
  }

  /** Adds a client; `send(message)` delivers to it. Returns its number. */
  add(send) {
    const client = this.next++;
    this.clients.set(client, send);
    this.#notify(client);
    return client;
  }

  /** Handles a message of a client. */
  receive(client, message) {
    if (!this.clients.has(client)) return;
    if (message.subscribe) this.#subscribe(client, message.subscribe, message.spec);
    else if (message.unsubscribe) this.#unsubscribe(`${client}.${message.unsubscribe}`);
    else if (message.retry) this.retry();
    else if (message.renew) this.renew();
    else if (message.close) this.remove(client);
  }

  /** Removes a client and its subscriptions. The stream is closed with the last client. */
  remove(client) {
    if (!this.clients.delete(client)) return;
    for (const [key, subscription] of this.subscriptions) if (subscription.client === client) this.#unsubscribe(key);
    if (this.clients.size === 0) this.release();
  }

  /** Connects immediately instead of after the backoff. */
  retry() {
    if (this.timer === undefined) return;
    clearTimeout(this.timer);
    this.#connect();
  }

  /** Opens another stream, since the credentials have changed. */
  renew() {
    this.#drop();
    this.last = null;
    this.failures = 0;
    this.#connect();
  }

  /** Closes the connection. The service keeps the stream for a while; `resume` continues it. */
  release() {
    this.#drop();
    this.released = true;
  }

  resume() {
    if (!this.released) return;
    this.released = false;
    if (this.subscriptions.size > 0) this.#connect();
  }

  #subscribe(client, id, spec) {
    const key = `${client}.${id}`;
    this.subscriptions.set(key, { client, id, spec: { ...spec, id: key } });
    this.released = false;
    this.#changed();
  }

  #unsubscribe(key) {
    this.stale.delete(key);
    if (this.subscriptions.delete(key)) this.#changed();
  }

  #changed() {
    this.unsent = true;
    if (this.scheduled) return;
    this.scheduled = true;
    queueMicrotask(() => {
      this.scheduled = false;
      if (this.released) return;
      if (this.source === null && this.timer === undefined && !this.asking) this.#connect();
      else this.#put();
    });
  }

  #connect() {
    this.timer = undefined;
    if (this.failures === 0 && this.status.state !== "refused") this.#state("connecting");
    const query = new URLSearchParams({ heartbeat: HEARTBEAT });
    const specs = this.#specs();
    if (this.last !== null) query.set("last", this.last);
    else if (specs.length <= CARRIED) {
      for (const spec of specs) query.append("sub", JSON.stringify(spec));
      this.carried = JSON.stringify(specs);
      this.unsent = false;
    }
    const source = new EventSource(`/v1/stream?${query}`);
    this.source = source;
    this.puts = new AbortController();
    this.#watch();
    const on = (name, take) => source.addEventListener(name, (event) => {
      this.lastEventAt = Date.now();
      if (this.source === source) take(event);
    });
    on("error", () => this.#lost());
    on("hello", (event) => this.#hello(JSON.parse(event.data), event.lastEventId));
    on("status", (event) => this.#onStatus(JSON.parse(event.data)));
    on("ping", () => {});
    for (const name of ["columns", "rows", "synced", "objects", "reset", "failed"]) {
      on(name, (event) => {
        this.last = event.lastEventId;
        this.#deliver(name, event.data);
      });
    }
  }

  /** Forwards a message unparsed: it starts with the subscription, and only its tab parses the rest. */
  #deliver(event, data) {
    const start = '{"sub":"'.length;
    const subscription = this.subscriptions.get(data.slice(start, data.indexOf('"', start)));
    if (subscription) this.clients.get(subscription.client)?.({ id: subscription.id, event, data });
  }

  #hello({ stream, resumed }, id) {
    const again = this.id !== null && !resumed;
    this.id = stream;
    this.last = id;
    this.failures = 0;
    this.stale.clear();
    this.#state("live");
    if (again) for (const { client, id } of this.subscriptions.values()) this.clients.get(client)?.({ id, event: "reset", data: "{}" });
    if (this.unsent || again || this.carried !== JSON.stringify(this.#specs())) this.#put();
    this.carried = undefined;
  }

  /** Handles the service's report of stale content. */
  #onStatus({ server, stale }) {
    const outage = ({ forMs, reason }) => ({ since: Date.now() - forMs, reason });
    this.stale = new Map(stale.map((each) => [each.sub, outage(each)]));
    this.status = { ...this.status, server: server && outage(server) };
    this.#notifyAll();
  }

  #state(state, code = 0) {
    const lost = state === "reconnecting" || state === "refused";
    const since = lost ? this.status.since ?? this.lastEventAt : null;
    this.status = { state, code, since, server: null };
    this.#notifyAll();
  }

  #notifyAll() {
    for (const client of this.clients.keys()) this.#notify(client);
  }

  #notify(client) {
    const mine = [...this.stale].filter(([key]) => this.subscriptions.get(key)?.client === client);
    const stale = Object.fromEntries(mine.map(([key, outage]) => [this.subscriptions.get(key).id, outage]));
    this.clients.get(client)({ status: { ...this.status, stale } });
  }

  /** Detects a silent stream (`connection.T3`). If the timer itself was suspended, the silence is measured again. */
  #watch() {
    clearInterval(this.watching);
    this.lastEventAt = Date.now();
    let last = this.lastEventAt;
    this.watching = setInterval(() => {
      const now = Date.now();
      if (now - last > 3 * CHECK) this.lastEventAt = now;
      else if (now - this.lastEventAt > SILENCE) this.#lost();
      last = now;
    }, CHECK);
  }

  #drop() {
    clearInterval(this.watching);
    clearTimeout(this.timer);
    this.timer = undefined;
    this.source?.close();
    this.source = null;
    this.puts?.abort();
  }

  /** Finds out what an EventSource does not report: whether the service is reachable, and accepts us. */
  async #lost() {
    this.#drop();
    this.failures++;
    this.#state(this.status.state === "refused" ? "refused" : "reconnecting", this.status.code);
    this.asking = true;
    const request = fetch("/v1/resources", { cache: "no-store", signal: AbortSignal.timeout(ANSWER) });
    const code = await request.then((answer) => answer.status, () => 0);
    this.asking = false;
    if (this.source !== null || this.released) return;
    this.#state(code >= 400 && code < 500 ? "refused" : "reconnecting", code);
    const wait = this.status.state === "refused" ? REFUSED : RETRY[Math.min(this.failures, RETRY.length) - 1];
    this.timer = setTimeout(() => this.#connect(), wait * (0.75 + Math.random() / 2));
  }

  async #put() {
    this.unsent = this.putting || this.source === null || this.id === null;
    if (this.unsent) return;
    this.putting = true;
    const body = JSON.stringify({ subscriptions: this.#specs() });
    const headers = { "content-type": "application/json" };
    const signal = AbortSignal.any([this.puts.signal, AbortSignal.timeout(5 * ANSWER)]);
    const status = await fetch(`/v1/stream/${this.id}`, { method: "PUT", body, headers, signal }).then((answer) => answer.status, () => 0);
    this.putting = false;
    if (status === 404 && this.source !== null) {
      this.last = null;
      this.#lost();
    } else if (status === 0 || status >= 500) {
      this.unsent = true; // if the stream is lost too, hello sends it again
      setTimeout(() => this.unsent && this.#put(), ANSWER);
    } else if (this.unsent) this.#put();
  }

  #specs() {
    return [...this.subscriptions.values()].map(({ spec }) => spec);
  }
}
