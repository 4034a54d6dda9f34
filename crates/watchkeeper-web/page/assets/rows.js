// Rows: what a subscription has sent so far, by key. While held back, what arrives waits, the newest for each key.

import { momentOf } from "./age.js";
import { textOf } from "./filter.js";

const SAMPLED = 60;
const AGO = " (9m59s ago)".length;

export class Rows {
  constructor() {
    this.columns = null;
    this.byKey = new Map();
    this.synced = false;
    this.failure = null;
    this.stale = null;
    this.widest = [];
    this.isDate = [];
    this.held = null;
    this.changed = new Set();
    this.round = 0;
  }

  /** Takes in a message of the stream. */
  receive(event, message) {
    if (event === "columns") this.#columns(message.columns);
    else if (event === "rows") this.#rows(message);
    else if (event === "synced") this.#synced();
    else if (event === "reset") this.#again();
    else if (event === "stale") this.stale = message;
    else if (event === "failed") this.failure = { status: message.status, message: message.message };
  }

  /** The rows that came, changed or went (`gone`) since this was last called. */
  take() {
    const changed = this.changed;
    this.changed = new Set();
    return changed;
  }

  /** Whether what arrives waits. What there is before the first whole content is shown in any case. */
  hold(held) {
    if (held && this.held === null) this.held = new Map();
    if (held || this.held === null) return;
    const waiting = this.held;
    this.held = null;
    for (const [key, row] of waiting) {
      if (row === null) this.#remove(key);
      else this.#put(row);
    }
  }

  /** How many rows have something waiting. */
  get heldCount() {
    return this.held?.size ?? 0;
  }

  #columns(columns) {
    this.columns = columns;
    this.failure = null;
    this.isDate = columns.map((column) => column.type === "date");
    this.widest = columns.map((column) => column.name.length + 2);
  }

  #rows({ rows, gone }) {
    this.failure = null;
    if (this.held !== null && this.synced) {
      for (const row of rows) this.held.set(row[0], row);
      for (const key of gone ?? []) this.held.set(key, null);
      return;
    }
    for (const row of rows) this.#put(row);
    for (const key of gone ?? []) this.#remove(key);
  }

  /** Everything is sent again: what is not sent by then is gone, and stays in sight till then. */
  #again() {
    this.round++;
    if (this.held === null) this.synced = false;
  }

  #synced() {
    this.synced = true;
    this.failure = null;
    for (const row of this.byKey.values()) {
      if (row.round === this.round) continue;
      if (this.held === null) this.#remove(row.key);
      else if (!this.held.has(row.key)) this.held.set(row.key, null);
    }
  }

  #put([key, uid, version, created, labels, cells, health]) {
    let row = this.byKey.get(key);
    if (row === undefined || row.uid !== uid) {
      if (row !== undefined) this.#remove(key);
      const slash = key.indexOf("/");
      row = { key, namespace: slash < 0 ? "" : key.slice(0, slash), name: key.slice(slash + 1), uid, seen: 0, changedAt: 0 };
      this.byKey.set(key, row);
      if (this.synced) row.changedAt = performance.now();
    } else if (row.version !== version) {
      row.changedAt = performance.now();
    }
    row.round = this.round;
    row.version = version;
    row.created = created;
    row.labels = labels ?? {};
    row.cells = cells;
    const timeless = cells.map((cell) => (momentOf(cell, false) === null ? cell : cell.replace(/ \([^(]*$/, "")));
    row.text = textOf(key, timeless, row.labels, this.isDate);
    row.health = health ?? null;
    row.gone = false;
    row.seen++;
    for (let i = 0; i < cells.length; i++) {
      const length = typeof cells[i] !== "string" || this.isDate[i] ? 6 : timeless[i].length + (timeless[i] === cells[i] ? 0 : AGO);
      if (length > this.widest[i]) this.widest[i] = Math.min(length, SAMPLED);
    }
    this.changed.add(row);
  }

  #remove(key) {
    const row = this.byKey.get(key);
    if (row === undefined) return;
    this.byKey.delete(key);
    row.gone = true;
    this.changed.add(row);
  }
}
