// Namespaces: their names, as they come and go.

import { Rows } from "./rows.js";

/** Follows the namespaces of the cluster; returns a function that lists them as choices. */
export function namespaces(stream) {
  const rows = new Rows();
  stream.subscribe({ resource: "namespaces" }, (event, message) => {
    rows.receive(event, message);
    rows.take();
  });
  return () => [{ value: "", label: "all namespaces" },
    ...[...rows.byKey.keys()].sort().map((name) => ({ value: name, label: name }))];
}
