// Route: the part of the URL after `#`, and what it shows.
//
//   #/r/{group}/{version}/{resource}?ns=&l=&q=&sort=&cols=                          a table
//   #/o/{group}/{version}/{resource}/{namespace or -}/{name}?tab=&from=g/v/r&ns=... an object, beside its table
//   #/t/{group}/{version}/{resource}/{namespace or -}/{name}                        the same, at its owner tree

export const HOME = { group: "core", version: "v1", resource: "pods" };

const EMPTY = { ns: "", l: "", q: "", sort: "", cols: "" };

/** Parses a hash: the table `{group, version, resource, ns, l, q, sort, cols}` and, if one is open, `object`. */
export function read(hash) {
  const [path, query = ""] = hash.replace(/^#/, "").split("?");
  const [, kind, ...parts] = path.split("/").map(decoded);
  const parameters = new URLSearchParams(query);
  const list = { ...EMPTY };
  for (const name of Object.keys(EMPTY)) list[name] = parameters.get(name) ?? "";
  const [group, version, resource, namespace, name] = parts;
  if (kind === "r" && resource) return { group, version, resource, ...list, object: null };
  if ((kind !== "o" && kind !== "t") || !name) return { ...HOME, ...list, object: null };
  const object = { group, version, resource, namespace: namespace === "-" ? "" : namespace, name,
    tab: kind === "t" ? "tree" : parameters.get("tab") ?? "yaml" };
  const from = (parameters.get("from") ?? "").split("/");
  const table = from.length === 3 ? { group: from[0], version: from[1], resource: from[2] } : { group, version, resource };
  return { ...table, ...list, object };
}

/** The hash of a route. */
export function address({ group, version, resource, object, ...list }) {
  const query = new URLSearchParams();
  let path = ["r", group, version, resource];
  if (object) {
    path = ["o", object.group, object.version, object.resource, object.namespace || "-", object.name];
    if (object.tab && object.tab !== "yaml") query.set("tab", object.tab);
    const other = object.group !== group || object.version !== version || object.resource !== resource;
    if (other) query.set("from", [group, version, resource].join("/"));
  }
  for (const name of Object.keys(EMPTY)) if (list[name]) query.set(name, list[name]);
  const asked = String(query);
  return `#/${path.map(encodeURIComponent).join("/")}${asked && `?${asked}`}`;
}

/** Goes to a route. `replace` adds no history entry. */
export function go(route, { replace = false } = {}) {
  const to = address(route);
  if (to === location.hash) return;
  if (replace) {
    history.replaceState(null, "", to);
    dispatchEvent(new Event("hashchange"));
  } else location.hash = to;
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
