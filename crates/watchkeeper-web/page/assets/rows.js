// Rows: the content of a subscription, by key. While held back, the newest row of each key is kept for later.

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

  /** Handles a message of the stream. */
  receive(event, message) {
    if (event === "columns") this.#columns(message.columns);
    else if (event === "rows") this.#rows(message);
    else if (event === "synced") this.#synced();
    else if (event === "reset") this.#again();
    else if (event === "stale") this.stale = message;
    else if (event === "failed") this.failure = { status: message.status, message: message.message };
  }

  /** Returns the rows that were added, changed or removed (`gone`) since the last call. */
  take() {
    const changed = this.changed;
    this.changed = new Set();
    return changed;
  }

  /** Holds changes back, or applies them. The initial content is shown in any case. */
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

  /** The number of rows held back. */
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

  /** Everything is sent again. Rows that are not sent again are removed afterwards, and shown until then. */
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
