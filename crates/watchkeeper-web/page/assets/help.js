// Help: keyboard shortcuts.

import { openDialog } from "./dialog.js";
import { h } from "./dom.js";

const KEYS = [
  [["/"], "Search cells and labels; !word excludes"],
  [["j", "k"], "Next and previous row (also the arrows, Page Up, Page Down, Home and End); an open object panel follows"],
  [["Enter"], "Open the row's object"],
  [["Esc"], "Close the object, or clear the search"],
  [["1", "…", "5"], "Tabs of the open object"],
  [["r"], "Select a resource"],
  [["n"], "Select a namespace"],
  [["l"], "Label selector"],
  [["c"], "Columns and sorting"],
  [["g", "p"], "Go to pods; d deployments, s services, r replicasets, t statefulsets, a daemonsets, n namespaces, e events"],
  [["p"], "Pause: updates are counted and applied later"],
  [["t"], "Theme: auto (as the system), light, dark"],
  [["?"], "This help"],
];

/** Opens the help dialog. */
export function openHelp() {
  const keys = (list) => list.flatMap((key, i) => [i > 0 ? " " : "", key === "…" ? key : h("kbd", {}, key)]);
  openDialog("Help",
    h("p", {}, "The table is live: changed rows flash, and ages are updated. Every view has its own URL, to bookmark or share."),
    h("dl", { class: "shortcuts" }, KEYS.flatMap(([list, words]) => [h("dt", {}, keys(list)), h("dd", {}, words)])));
}
