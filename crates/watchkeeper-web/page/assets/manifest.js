// Manifest: the YAML of an object, with the lines of its last change marked.

import { json, objectPath } from "./api.js";
import { h } from "./dom.js";
import { diff } from "./diff.js";
import { yaml } from "./yaml.js";

const COLOURED = 6000;

export class Manifest {
  constructor(target) {
    this.target = target;
    this.managed = false;
    this.text = "";
    const box = h("input", { type: "checkbox", change: () => this.#managed(box.checked) });
    this.copied = h("span", { class: "quiet", role: "status" });
    this.code = h("pre", { class: "code" });
    this.element = h("div", {},
      h("div", { class: "tools" }, h("button", { type: "button", class: "button", click: () => this.#copy() }, "Copy"), this.copied,
        h("span", { class: "grow" }), h("label", {}, box, " managedFields")), this.code);
    this.element.className = "manifest";
  }

  /** Shows a newer version of the object. */
  update(object) {
    this.object = object;
    if (this.managed) this.#fetch();
    else this.#show(yaml(object));
  }

  #show(text) {
    if (text === this.text) return;
    const lines = text.replace(/\n$/, "").split("\n");
    const fresh = new Set();
    if (this.text !== "") for (const line of diff(this.text, text)) if (line.sign === "+") fresh.add(line.after);
    this.text = text;
    if (lines.length > COLOURED) this.code.textContent = text;
    else {
      const plain = literals(lines);
      this.code.replaceChildren(...lines.map((line, i) => h("span", { class: fresh.has(i + 1) ? "l new" : "l" }, plain[i] ? [line] : coloured(line), "\n")));
    }
  }

  #managed(wanted) {
    this.managed = wanted;
    if (wanted) this.#fetch();
    else this.#show(yaml(this.object));
  }

  async #fetch() {
    try {
      const object = await json(`${objectPath("objects", this.target)}?format=json&managedFields=true`);
      if (this.managed) this.#show(yaml(object, { managedFields: true }));
    } catch (error) {
      this.copied.textContent = error.message;
    }
  }

  async #copy() {
    try {
      await navigator.clipboard.writeText(this.text);
      this.copied.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(this.code);
      this.copied.textContent = "Selected: copy with the keyboard";
    }
  }
}

/** Which lines are inside a literal block, where nothing is a key. */
function literals(lines) {
  let inside = -1;
  return lines.map((line) => {
    const indent = line.search(/\S/);
    if (inside >= 0 && (indent < 0 || indent > inside)) return true;
    inside = /(^|[:-] )\|[-+0-9]*$/.test(line) ? indent : -1;
    return false;
  });
}

function coloured(line) {
  const match = /^(\s*(?:- )*)((?:"(?:[^"\\]|\\.)*"|'[^']*'|[^\s:'"#][^:]*|[^\s:]+:[^\s][^:]*)):( (.*))?$/.exec(line);
  if (!match) return value(line);
  const [, lead, key, rest, text] = match;
  return [h("span", { class: "p" }, lead), h("span", { class: "k" }, key), h("span", { class: "p" }, ":"), rest ? " " : "", ...value(text ?? "")];
}

function value(text) {
  if (/^\s*(- )*["']/.test(text)) return [h("span", { class: "s" }, text)];
  if (/^(true|false|null|-?\d[\d.e+]*|\{\}|\[\])$/.test(text)) return [h("span", { class: "n" }, text)];
  return [text];
}
