// Help: what the keys do.

import { openDialog } from "./dialog.js";
import { h } from "./dom.js";

const KEYS = [
  [["/"], "Search cells and labels; !word leaves out"],
  [["j", "k"], "Next and previous row (also the arrows, Page Up, Page Down, Home and End); an open object follows"],
  [["Enter"], "Open the row's object"],
  [["Esc"], "Close what is open, or clear the search"],
  [["1", "…", "5"], "Tabs of the open object"],
  [["r"], "Choose a resource"],
  [["n"], "Choose a namespace"],
  [["l"], "Label selector"],
  [["c"], "Columns and order"],
  [["g", "p"], "Go to pods; d deployments, s services, r replicasets, t statefulsets, a daemonsets, n namespaces, e events"],
  [["p"], "Pause: updates are held back and counted"],
  [["t"], "Theme: as the system, light, dark"],
  [["?"], "This help"],
];

/** Opens the help. */
export function openHelp() {
  const keys = (list) => list.flatMap((key, i) => [i > 0 ? " " : "", key === "…" ? key : h("kbd", {}, key)]);
  openDialog("Help",
    h("p", {}, "The table is live: a row that changes flashes, and ages go on. Every view has an address of its own, to keep or to send."),
    h("dl", { class: "shortcuts" }, KEYS.flatMap(([list, words]) => [h("dt", {}, keys(list)), h("dd", {}, words)])));
}
