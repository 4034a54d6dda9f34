// Resources: the resources of the cluster, as options of the picker.

const MAIN = ["core/v1/pods", "apps/v1/deployments", "core/v1/services", "apps/v1/replicasets", "apps/v1/statefulsets",
  "apps/v1/daemonsets", "core/v1/namespaces", "core/v1/events"];

/** The id of a resource in URLs. */
export const idOf = ({ group, version, resource }) => `${group || "core"}/${version}/${resource}`;

export class Resources {
  constructor() {
    this.all = [];
    this.byId = new Map();
  }

  /** Sets the response of `/v1/resources`. */
  fill(list) {
    this.all = list;
    this.byId = new Map(list.map((each) => [idOf(each), each]));
  }

  /** A resource by id; before the response has arrived, a guess that is right for the main ones. */
  find(id) {
    const known = this.byId.get(id);
    if (known) return known;
    const [group, version, resource] = id.split("/");
    return { group, version, resource, kind: resource, namespaced: resource !== "namespaces", shortNames: [], guessed: true };
  }

  /** The options: the main resources first, then by group. */
  options() {
    const main = MAIN.filter((id) => this.byId.has(id) || this.all.length === 0);
    const rest = this.all.filter((each) => !main.includes(idOf(each)));
    rest.sort((a, b) => order(a).localeCompare(order(b)));
    const option = (each, group) => ({ value: idOf(each), label: each.resource, group,
      detail: `${each.kind}${core(each) ? "" : ` · ${each.group}`}`, words: (each.shortNames ?? []).join(" ") });
    return [...main.map((id) => option(this.find(id), "Main")), ...rest.map((each) => option(each, `${each.group || "core"}/${each.version}`))];
  }
}

const core = ({ group }) => group === "" || group === "core";
const order = (each) => `${core(each) ? "0" : each.group.includes(".") ? "2" : "1"}${each.group}/${each.version}/${each.resource}`;
