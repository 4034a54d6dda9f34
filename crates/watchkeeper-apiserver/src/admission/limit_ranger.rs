//! `LimitRanger`: containers get the default limits and requests of their namespace's limit ranges.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::{AdmissionFuture, AdmissionPlugin, AdmissionRequest};
use crate::store::{CollectionId, RangeQuery, Store};
use crate::write::{Draft, unavailable};

const ANNOTATION: &str = "kubernetes.io/limit-ranger";

pub(super) struct LimitRanger {
    store: Arc<dyn Store>,
}

impl LimitRanger {
    pub(super) fn new(store: Arc<dyn Store>) -> Self {
        Self { store }
    }
}

impl AdmissionPlugin for LimitRanger {
    fn name(&self) -> &str {
        "LimitRanger"
    }

    fn handles(&self, request: &AdmissionRequest<'_>) -> bool {
        request.creates("", "pods")
    }

    fn mutate<'a>(&'a self, request: &'a mut AdmissionRequest<'_>) -> AdmissionFuture<'a> {
        Box::pin(async move {
            let Some(pod) = request.object.as_deref_mut() else { return Ok(()) };
            let namespace = request.namespace.map(str::to_owned);
            let query = RangeQuery { namespace, ..RangeQuery::all(CollectionId::from("limitranges")) };
            for stored in self.store.range(query).await.map_err(unavailable)?.items {
                limit(pod, &Draft::of(&stored)?);
            }
            Ok(())
        })
    }
}

fn limit(pod: &mut Draft, range: &Draft) {
    let (limits, requests) = (for_containers(range, "default"), for_containers(range, "defaultRequest"));
    let mut given = Vec::new();
    for (list, what) in [("containers", "container"), ("initContainers", "init container")] {
        let containers = pod.part_mut("spec").get_mut(list).and_then(Value::as_array_mut);
        for container in containers.into_iter().flatten().filter_map(Value::as_object_mut) {
            let name = container.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
            let Value::Object(resources) = container.entry("resources").or_insert_with(|| json!({})) else {
                continue;
            };
            let set = give(resources, "limits", &limits);
            for (kind, set) in [("request", give(resources, "requests", &requests)), ("limit", set)] {
                if !set.is_empty() {
                    given.push(format!("{} {kind} for {what} {name}", set.join(", ")));
                }
            }
        }
    }
    if !given.is_empty() {
        pod.set_pair("annotations", ANNOTATION, &format!("LimitRanger plugin set: {}", given.join("; ")));
    }
}

/// Returns a range's amounts for containers; of several limits the last wins.
fn for_containers(range: &Draft, kind: &str) -> Map<String, Value> {
    let limits = range.part("spec").and_then(|spec| spec.get("limits")?.as_array()).into_iter().flatten();
    let of_containers = limits.filter(|limit| limit["type"] == "Container");
    of_containers.filter_map(|limit| limit[kind].as_object().cloned()).flatten().collect()
}

/// Adds the amounts that are not set, and returns their names.
fn give(resources: &mut Map<String, Value>, kind: &str, amounts: &Map<String, Value>) -> Vec<String> {
    let mut given = Vec::new();
    for (name, amount) in amounts {
        let Value::Object(set) = resources.entry(kind).or_insert_with(|| json!({})) else { continue };
        if !set.contains_key(name) {
            set.insert(name.clone(), amount.clone());
            given.push(name.clone());
        }
    }
    given.sort_unstable();
    given
}
