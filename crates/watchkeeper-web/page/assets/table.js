// Table: the visible rows, as a grid. Only rows in the viewport are elements; they are reused while scrolling, and a cell
// is written only when its text changes.

import { aged, momentOf } from "./age.js";
import { now as clock } from "./clock.js";
import { fit, headline } from "./columns.js";
import { dot, h, set, write } from "./dom.js";

const OVERSCAN = 6;
const FLASH = 1500;

export class Table {
  /** `onOpen(row)`, `onSort(column)` and `onMove(row)` are called for the user's actions. */
  constructor(grid, { onOpen, onSort, onMove }) {
    this.grid = grid;
    this.onOpen = onOpen;
    this.onSort = onSort;
    this.onMove = onMove;
    this.head = h("div", { class: "head", role: "row", "aria-rowindex": 1 });
    this.body = h("div", { class: "body", role: "rowgroup" });
    grid.append(h("div", { role: "rowgroup", class: "headgroup" }, this.head), this.body);
    this.columns = [];
    this.lines = [];
    this.view = null;
    this.current = null;
    this.opened = null;
    grid.addEventListener("scroll", () => this.#draw(), { passive: true });
    grid.addEventListener("keydown", (event) => this.#key(event));
    this.body.addEventListener("click", (event) => this.#click(event));
    new ResizeObserver(() => this.#fit()).observe(grid);
  }

  /** Shows a view with these columns; keeps the scroll position if the view is the same. */
  show(view, columns, characters) {
    if (view !== this.view) {
      this.grid.scrollTop = 0;
      this.current = null;
    }
    this.view = view;
    this.characters = characters;
    if (JSON.stringify(columns) !== JSON.stringify(this.columns)) {
      this.columns = columns;
      this.headline = headline(columns);
      set(this.grid, "data-lines", columns.some(({ role }) => role === "message") ? 3 : 2);
      this.lines.splice(0).forEach((line) => line.element.remove());
    }
    this.#header();
    this.#fit();
  }

  /** Draws what has changed. */
  refresh(characters) {
    if (characters && characters.some((count, i) => count !== this.characters[i])) {
      this.characters = characters;
      this.#fit();
    } else this.#draw();
  }

  /** Updates the ages. */
  tick() {
    const now = clock();
    for (const line of this.lines) if (line.row) this.#ages(line, now);
  }

  /** Moves by a key, from the current row, or the opened one, or the viewport; false for other keys. */
  move(key) {
    const rows = this.view?.rows ?? [];
    const page = Math.max(1, Math.floor(this.grid.clientHeight / this.height) - 2);
    const by = { ArrowDown: 1, ArrowUp: -1, j: 1, k: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity }[key];
    if (by === undefined) return false;
    if (rows.length === 0) return true;
    const at = this.#at();
    const to = at >= 0 ? at + by : Number.isFinite(by) ? this.#first() + (by > 0 ? by - 1 : by) : by;
    this.select(rows[Math.max(0, Math.min(rows.length - 1, to))]);
    this.onMove(this.current);
    return true;
  }

  #at() {
    const row = this.current ?? this.view.source.byKey.get(this.opened);
    return row ? this.view.indexOf(row) : -1;
  }

  /** Makes a row the current one and scrolls to it. */
  select(row) {
    this.current = row;
    const at = row === null ? -1 : this.view.indexOf(row);
    if (at >= 0) {
      const top = at * this.height;
      const room = this.grid.clientHeight - this.#headHeight();
      if (top < this.grid.scrollTop) this.grid.scrollTop = top;
      else if (top + this.height > this.grid.scrollTop + room) this.grid.scrollTop = top + this.height - room;
    }
    this.#draw();
  }

  #first() {
    return Math.max(0, Math.ceil(this.grid.scrollTop / this.height));
  }

  #headHeight() {
    return this.head.offsetHeight;
  }

  #header() {
    const { column, descending } = this.view.order;
    const cells = this.columns.map((each, i) => {
      const sort = column !== each.name ? "none" : descending ? "descending" : "ascending";
      return h("div", { role: "columnheader", "aria-sort": sort, "aria-colindex": i + 1, class: numeric(each) ? "number" : null },
        h("button", { type: "button", title: each.description || `Sort by ${each.name}`, "data-column": each.name,
          click: () => this.onSort(each.name) }, each.name, h("span", { class: "arrow", "aria-hidden": "true" })));
    });
    const focused = document.activeElement?.closest?.(".head") ? document.activeElement.dataset.column : null;
    this.head.replaceChildren(...cells);
    if (focused) this.head.querySelector(`[data-column="${CSS.escape(focused)}"]`)?.focus();
    set(this.grid, "aria-colcount", this.columns.length);
  }

  #fit() {
    if (!this.view) return;
    const style = getComputedStyle(this.grid);
    const height = parseFloat(style.getPropertyValue("--row-height")) || 30;
    if (height !== this.height) for (const line of this.lines) this.#unbind(line);
    this.height = height;
    this.width = this.grid.clientWidth;
    this.room = Math.ceil(this.grid.clientHeight / this.height);
    const widths = fit(this.characters, this.width);
    this.grid.style.setProperty("--columns", widths.map((width) => `${width.toFixed(1)}px`).join(" "));
    this.grid.style.setProperty("--width", `${Math.max(this.width, widths.reduce((a, b) => a + b, 0)).toFixed(1)}px`);
    this.#draw();
  }

  #draw() {
    if (!this.view) return;
    const { rows } = this.view;
    set(this.grid, "aria-rowcount", rows.length + 1);
    const height = `${rows.length * this.height}px`;
    if (this.body.style.height !== height) this.body.style.height = height;
    const first = Math.max(0, Math.floor(this.grid.scrollTop / this.height) - OVERSCAN);
    const last = Math.min(rows.length, first + this.room + 2 * OVERSCAN);
    const size = this.room + 2 * OVERSCAN;
    while (this.lines.length < size) this.lines.push(this.#line());
    const now = clock();
    let active = "";
    for (let i = first; i < first + size; i++) {
      const line = this.lines[i % this.lines.length];
      if (i < last) {
        this.#bind(line, rows[i], i, now);
        if (rows[i] === this.current) active = line.element.id;
      } else if (line.row !== null && (line.index < first || line.index >= last)) this.#unbind(line);
    }
    for (const line of this.lines) if (line.row !== null && (line.index < first || line.index >= last)) this.#unbind(line);
    if (active) set(this.grid, "aria-activedescendant", active);
    else this.grid.removeAttribute("aria-activedescendant");
  }

  #line() {
    const cells = this.columns.map((column, i) => h("div", { role: "gridcell", "aria-colindex": i + 1,
      class: [i === this.headline ? "name" : "", column.at < 0 ? "namespace" : "", numeric(column) ? "number" : ""].filter(Boolean).join(" ") || null,
      "data-label": column.name, "data-role": column.role ?? null }));
    const element = h("div", { role: "row", class: "row", id: `row-${this.lines.length}`, hidden: true }, cells);
    const name = h("span", { class: "text" });
    cells[this.headline]?.append(name);
    this.body.append(element);
    return { element, cells, name, row: null, seen: 0, index: -1, level: null };
  }

  #unbind(line) {
    line.row = null;
    line.index = -1;
    line.element.hidden = true;
  }

  #bind(line, row, index, now) {
    const { element } = line;
    if (line.index !== index) {
      line.index = index;
      element.style.transform = `translateY(${index * this.height}px)`;
      element.setAttribute("aria-rowindex", index + 2);
    }
    if (line.row !== row || line.seen !== row.seen) {
      const another = line.row !== row;
      line.row = row;
      line.seen = row.seen;
      element.hidden = false;
      element.dataset.key = row.key;
      this.#cells(line, now);
      this.#flash(line, another);
    }
    const current = row === this.current;
    if (line.current !== current || line.opened !== (row.key === this.opened)) {
      line.current = current;
      line.opened = row.key === this.opened;
      element.classList.toggle("current", current);
      element.classList.toggle("opened", line.opened);
      element.setAttribute("aria-selected", current);
    }
  }

  #cells(line, now) {
    const { row } = line;
    this.columns.forEach((column, i) => {
      const element = line.cells[i];
      if (column.type === "date") return;
      const text = column.at < 0 ? row.namespace : column.role === "name" ? row.name : textOf(row.cells[column.at]);
      if (i === this.headline) {
        if (line.level !== row.health) {
          line.level = row.health;
          element.querySelector(".dot")?.remove();
          if (row.health) element.prepend(dot(row.health));
        }
        write(line.name, text);
      } else {
        if (momentOf(text, false) === null) write(element, text);
        if (column.role === "status") set(element, "data-level", row.health ?? "");
        if (column.role === "restarts") set(element, "data-level", /^[1-9]/.test(text) ? "progressing" : "");
      }
      element.title = text;
    });
    this.#ages(line, now);
  }

  #ages(line, now) {
    this.columns.forEach((column, i) => {
      const cell = column.at < 0 ? null : line.row.cells[column.at];
      const time = momentOf(cell, column.type === "date");
      if (column.type !== "date" && time === null) return;
      write(line.cells[i], aged(textOf(cell), time, now));
      if (line.cells[i].title !== (time ?? "")) line.cells[i].title = time ?? "";
    });
  }

  #flash(line, another) {
    const { element, row } = line;
    const recent = row.changedAt > 0 && performance.now() - row.changedAt < FLASH;
    if (another || recent) element.classList.remove("flash");
    if (!recent) return;
    void element.offsetWidth;
    element.classList.add("flash");
  }

  #click(event) {
    const element = event.target.closest(".row");
    const line = this.lines.find((each) => each.element === element);
    if (!line?.row || String(getSelection()).length > 0) return;
    this.select(line.row);
    this.onOpen(line.row);
  }

  #key(event) {
    if (event.target !== this.grid || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Enter" && this.current) this.onOpen(this.current);
    else if (!this.move(event.key)) return;
    event.preventDefault();
  }
}

const numeric = (column) => column.type === "integer" || column.type === "number";

const textOf = (cell) => (cell === null || cell === undefined ? "" : typeof cell === "object" ? JSON.stringify(cell) : String(cell));
