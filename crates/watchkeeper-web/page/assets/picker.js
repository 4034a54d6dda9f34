// Picker: a button that opens a searchable list of options.

import { h } from "./dom.js";

let pickers = 0;

export class Picker {
  /** `options()` returns `[{value, label, detail, group, words}]`; `onPick(value)` is called with the choice. */
  constructor(button, { name, options, onPick }) {
    this.button = button;
    this.options = options;
    this.onPick = onPick;
    this.current = null;
    const id = `picker-${++pickers}`;
    this.list = h("div", { role: "listbox", id: `${id}-list`, class: "options", "aria-label": name });
    this.input = h("input", { type: "text", role: "combobox", "aria-expanded": "true", "aria-controls": `${id}-list`,
      "aria-autocomplete": "list", "aria-label": `Find ${name}`, placeholder: `Find ${name}`, autocomplete: "off", spellcheck: "false",
      input: () => this.#fill(), keydown: (event) => this.#key(event) });
    this.popover = h("div", { popover: "auto", class: "picker", id }, this.input, this.list);
    document.body.append(this.popover);
    button.setAttribute("aria-haspopup", "listbox");
    button.setAttribute("aria-expanded", "false");
    button.addEventListener("click", () => this.open());
    this.popover.addEventListener("toggle", (event) => button.setAttribute("aria-expanded", event.newState === "open"));
    this.list.addEventListener("click", (event) => {
      const option = event.target.closest("[role=option]");
      if (option) this.#pick(option);
    });
  }

  /** Sets the selected value. */
  choose(value) {
    this.current = value;
  }

  open() {
    const place = this.button.getBoundingClientRect();
    const width = Math.min(380, document.documentElement.clientWidth - 16);
    this.popover.style.width = `${width}px`;
    this.popover.style.left = `${Math.max(8, Math.min(place.left, document.documentElement.clientWidth - width - 8))}px`;
    this.popover.style.top = `${place.bottom + 4}px`;
    this.popover.style.maxHeight = `${innerHeight - place.bottom - 16}px`;
    this.input.value = "";
    this.popover.showPopover();
    this.#fill();
    this.input.focus();
  }

  #fill() {
    const words = this.input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const matching = this.options().filter(({ label, detail = "", words: more = "" }) => {
      const text = `${label} ${detail} ${more}`.toLowerCase();
      return words.every((word) => text.includes(word));
    });
    if (words.length > 0) matching.sort((a, b) => rank(b, words[0]) - rank(a, words[0]));
    const parts = [];
    let group = null;
    matching.forEach((option, i) => {
      if (option.group !== group && words.length === 0) {
        group = option.group;
        if (group) parts.push(h("div", { class: "group", role: "presentation" }, group));
      }
      parts.push(h("div", { role: "option", id: `${this.popover.id}-${i}`, "data-value": option.value,
        "aria-selected": String(option.value === this.current) },
      h("span", { class: "label" }, option.label), h("span", { class: "detail" }, option.detail ?? "")));
    });
    if (parts.length === 0) parts.push(h("div", { class: "group" }, "No matches."));
    this.list.replaceChildren(...parts);
    const selected = words.length === 0 ? this.list.querySelector("[aria-selected=true]") : null;
    this.#point(selected ?? this.list.querySelector("[role=option]"));
  }

  #point(option) {
    this.list.querySelector(".pointed")?.classList.remove("pointed");
    this.input.removeAttribute("aria-activedescendant");
    if (!option) return;
    option.classList.add("pointed");
    option.scrollIntoView({ block: "nearest" });
    this.input.setAttribute("aria-activedescendant", option.id);
  }

  #key(event) {
    const options = [...this.list.querySelectorAll("[role=option]")];
    const at = options.findIndex((option) => option.classList.contains("pointed"));
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + 10, PageUp: at - 10 }[event.key];
    if (to !== undefined) this.#point(options[Math.max(0, Math.min(options.length - 1, to))]);
    else if (event.key === "Enter" && options[at]) this.#pick(options[at]);
    else return;
    event.preventDefault();
  }

  #pick(option) {
    this.popover.hidePopover();
    this.button.focus();
    this.onPick(option.dataset.value);
  }
}

function rank({ label, words = "" }, word) {
  if (label.toLowerCase() === word || ` ${words} `.includes(` ${word} `)) return 2;
  return label.toLowerCase().startsWith(word) ? 1 : 0;
}
