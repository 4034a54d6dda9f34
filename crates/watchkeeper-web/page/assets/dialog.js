// Dialog: a modal dialog that returns the focus when it is closed.

import { h } from "./dom.js";

/** Opens a dialog with this title and returns it; it is removed when closed. */
export function openDialog(title, ...content) {
  const close = h("button", { type: "button", class: "button close", "aria-label": "Close", click: () => dialog.close() }, "×");
  const dialog = h("dialog", { "aria-label": title }, h("header", {}, h("h2", {}, title), close), h("div", { class: "content" }, content));
  const before = document.activeElement;
  dialog.addEventListener("close", () => {
    dialog.remove();
    before?.focus?.();
  });
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}
