// Pods: the pods of a deployment's current replica set, with their health.

import { since } from "./age.js";
import { data, explain } from "./api.js";
import { dot, h } from "./dom.js";
import { refresher } from "./refresh.js";

export class Pods {
  constructor({ stream, target, link, selector }) {
    this.link = link;
    this.namespace = target.namespace;
    this.summary = h("div", { class: "tools" });
    this.list = h("ul", { class: "pods" });
    this.element = h("div", {}, this.summary, this.list);
    const path = `/v1/workloads/${encodeURIComponent(target.namespace)}/${encodeURIComponent(target.name)}`;
    this.refresh = refresher(async (signal) => this.#show(await data(path, signal)), (error) => this.#failed(error));
    this.unsubscribe = stream.subscribe({ resource: "pods", namespace: target.namespace, labelSelector: written(selector) },
      (event) => event === "rows" && this.refresh());
    this.refresh();
  }

  /** Refreshes: the deployment has changed. */
  update() {
    this.refresh();
  }

  /** Stops refreshing: the deployment was deleted, and its last state is shown. */
  gone() {
    this.refresh.stop();
  }

  close() {
    this.refresh.stop();
    this.unsubscribe();
  }

  #show({ replicas, replicaSet, revision, pods }) {
    const ready = pods.filter((pod) => pod.ready).length;
    this.summary.textContent = `${ready} of ${replicas} ready` + (replicaSet ? ` · ${replicaSet}, revision ${revision ?? "unknown"}` : " · no replica set yet");
    this.list.replaceChildren(...pods.map((pod) => this.#pod(pod)));
  }

  #pod(pod) {
    const href = this.link({ group: "core", version: "v1", resource: "pods", namespace: this.namespace, name: pod.name });
    return h("li", {}, dot(pod.health),
      h("a", { class: "what", href }, pod.name),
      h("span", { class: "when" }, h("span", { "data-level": pod.health === "healthy" ? null : pod.health }, pod.status || pod.phase), since("span", pod.created, " · %")),
      h("span", { class: "where" }, `${pod.node || "no node yet"} · ${pod.images.join(", ")}`),
      h("div", { class: "conditions" }, pod.conditions.map(({ type, status, reason, message }) =>
        h("span", { class: "chip", title: [reason, message].filter(Boolean).join(": ") || null, "data-level": status === "True" ? null : "progressing" },
          `${type}: ${status}`))),
      pod.message ? h("span", { class: "message" }, pod.message) : null);
  }

  #failed(error) {
    const { title, hint } = explain(error);
    this.summary.textContent = `${title}. ${hint}`;
    return error.status === 503 || error.status === 0 ? Math.max(1, error.retryAfter) * 1000 : null;
  }
}

/** Formats an object's selector for a subscription. */
function written({ matchLabels = {}, matchExpressions = [] }) {
  const expressions = matchExpressions.map(({ key, operator, values = [] }) => ({ In: `${key} in (${values})`, NotIn: `${key} notin (${values})`,
    Exists: key, DoesNotExist: `!${key}` })[operator]);
  return [...Object.entries(matchLabels).map(([key, value]) => `${key}=${value}`), ...expressions].join(",");
}
