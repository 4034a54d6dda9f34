// Namespaces: their names, kept up to date.

import { Rows } from "./rows.js";

/** Watches the namespaces; returns a function that lists them as options. */
export function namespaces(stream) {
  const rows = new Rows();
  stream.subscribe({ resource: "namespaces" }, (event, message) => {
    rows.receive(event, message);
    rows.take();
  });
  return () => [{ value: "", label: "all namespaces" },
    ...[...rows.byKey.keys()].sort().map((name) => ({ value: name, label: name }))];
}
