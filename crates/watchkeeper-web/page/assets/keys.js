// Keys: keyboard shortcuts, active while no field has the focus.

const CHORD = 1200;

/** Binds keys, and sequences of two keys (`g p`). Keys with Ctrl, Alt or Meta are left to the browser. */
export function listen(bindings) {
  let [prefix, since] = ["", 0];
  addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (document.querySelector("dialog[open]") || document.querySelector("[popover]:popover-open")) return;
    const typing = event.target.closest?.("input, textarea, select, [contenteditable]");
    if (typing && event.key !== "Escape") return;
    const chord = prefix && performance.now() - since < CHORD ? `${prefix} ${event.key}` : event.key;
    prefix = "";
    const action = bindings[chord] ?? bindings[event.key];
    if (action) {
      if (action(event) !== false) event.preventDefault();
    } else if (Object.keys(bindings).some((keys) => keys.startsWith(`${event.key} `))) {
      [prefix, since] = [event.key, performance.now()];
    }
  });
}
