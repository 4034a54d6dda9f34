// Chooser: the dialog for columns and sorting.

import { headline } from "./columns.js";
import { openDialog } from "./dialog.js";
import { h } from "./dom.js";

/** Opens the dialog. `all` are the columns, `chosen` the names shown. `onColumns(names or null)` and
 * `onSort(name, descending)` are called on changes. */
export function openChooser({ all, chosen, order, onColumns, onSort }) {
  const boxes = all.map((column, i) => h("input", { type: "checkbox", value: column.name, checked: chosen.includes(column.name), disabled: i === headline(all),
    change: () => onColumns(boxes.filter((box) => box.checked).map((box) => box.value)) }));
  const by = h("select", { class: "field", "aria-label": "Order by", change: () => sort() },
    h("option", { value: "" }, "namespace and name"),
    all.map(({ name }) => h("option", { value: name, selected: order.column === name }, name)));
  const direction = h("select", { class: "field", "aria-label": "Direction", disabled: order.column === null, change: () => sort() },
    h("option", { value: "" }, "ascending"), h("option", { value: "-", selected: order.descending }, "descending"));
  const sort = () => {
    direction.disabled = by.value === ""; // sorting by namespace and name has one direction
    if (direction.disabled) direction.value = "";
    onSort(by.value || null, direction.value === "-");
  };
  const usual = h("button", { type: "button", class: "button", click: () => {
    onColumns(null);
    dialog.close();
  } }, "Default columns");
  const dialog = openDialog("Columns and sorting",
    h("div", { class: "line" }, "Order by", by, direction),
    h("div", { class: "checks" }, all.map((column, i) => h("label", {}, boxes[i],
      h("span", {}, column.name, " ", h("span", { class: "quiet" }, shortened(column.description)))))),
    h("p", {}), usual);
}

const shortened = (text = "") => (text.length > 110 ? `${text.slice(0, 107)}…` : text);
