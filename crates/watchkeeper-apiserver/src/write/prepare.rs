//! Prepare: what the server writes into objects of some kinds, when they are new and whenever they change.

use crate::convert::TEMPLATE_GENERATION;
use crate::registry::Resource;
use serde_json::{Map, Value, json};

use super::draft::{Draft, empty_status};
use super::{Call, admission, definition, pod_resources, service};
use crate::clock::now;

/// Completes a new object, which has its name and its uid.
pub(super) fn begin(draft: &mut Draft, resource: &Resource) {
    match (&*resource.group, &*resource.name) {
        ("", "pods") => begin_pod(draft),
        ("", "persistentvolumeclaims") => relate_sources(draft.part_mut("spec")),
        ("", "services") => service::begin(draft.part_mut("spec")),
        ("", "serviceaccounts") => name_secrets(draft),
        ("apps", "daemonsets") => {
            let said = template_generation(draft).filter(|said| *said >= 1);
            draft.set_pair("annotations", TEMPLATE_GENERATION, &said.unwrap_or(1).to_string());
        }
        ("batch", "jobs") => select_pods(draft),
        ("apiextensions.k8s.io", "customresourcedefinitions") => {
            draft.set_part("status", empty_status(resource));
            definition::note_stored_version(draft);
        }
        ("apiregistration.k8s.io", "apiservices") => {
            let is_local = draft.part("spec").is_none_or(|spec| spec.get("service").is_none());
            if is_local {
                let available = json!({
                    "type": "Available",
                    "status": "True",
                    "lastTransitionTime": now().to_string(),
                    "reason": "Local",
                    "message": "Local APIServices are always available",
                });
                draft.set_in("status", "conditions", Some(json!([available])));
            }
        }
        _ => {}
    }
}

/// Completes what an object becomes.
pub(super) fn revise(call: &Call<'_>, old: &Draft, new: &mut Draft) {
    match (&*call.resource.group, &*call.resource.name) {
        ("", "pods") => {
            for name in ["priority", "preemptionPolicy"] {
                let before = old.part("spec").and_then(|spec| spec.get(name));
                if let Some(before) = before {
                    new.part_mut("spec").entry(name).or_insert_with(|| before.clone());
                }
            }
            admission::tolerate(new);
        }
        ("", "persistentvolumeclaims") => relate_sources(new.part_mut("spec")),
        ("", "services") => service::revise(old, new),
        ("apiextensions.k8s.io", "customresourcedefinitions") => definition::note_stored_version(new),
        ("apps", "daemonsets") => {
            let template = |draft: &Draft| draft.part("spec").and_then(|spec| spec.get("template").cloned());
            let before = template_generation(old).unwrap_or_default();
            let generation = before.saturating_add(i64::from(template(old) != template(new)));
            new.set_pair("annotations", TEMPLATE_GENERATION, &generation.to_string());
        }
        _ => {}
    }
}

fn template_generation(draft: &Draft) -> Option<i64> {
    draft.meta("annotations")?.get(TEMPLATE_GENERATION)?.as_str()?.parse().ok()
}

/// What a claim is filled from has two names, of which one can say more.
fn relate_sources(spec: &mut Map<String, Value>) {
    if !spec.contains_key("dataSourceRef") {
        let is_known = |source: &Value| {
            let group = source["apiGroup"].as_str().unwrap_or_default();
            let kind = source["kind"].as_str().unwrap_or_default();
            (group.is_empty() && kind == "PersistentVolumeClaim")
                || (group == "snapshot.storage.k8s.io" && kind == "VolumeSnapshot")
        };
        match spec.get("dataSource").cloned() {
            Some(source) if is_known(&source) => drop(spec.insert("dataSourceRef".to_owned(), source)),
            _ => drop(spec.remove("dataSource")),
        }
    } else if !spec.contains_key("dataSource")
        && let Some(source) = spec.get("dataSourceRef").cloned()
        && source["namespace"].as_str().is_none_or(str::is_empty)
    {
        spec.insert("dataSource".to_owned(), source);
    }
}

/// Of its secrets, an account says only the names.
fn name_secrets(account: &mut Draft) {
    let Some(Value::Array(secrets)) = account.part("secrets").cloned() else { return };
    let names: Vec<Value> = secrets.iter().map(|secret| json!({"name": secret["name"]})).collect();
    account.set_part("secrets", Some(names.into()));
}

/// The pods of a job carry its name and its uid, and it selects them by the latter.
fn select_pods(job: &mut Draft) {
    let (name, uid) = (job.text("name").to_owned(), job.text("uid").to_owned());
    let spec = job.part_mut("spec");
    if spec.get("manualSelector") == Some(&Value::Bool(true)) {
        return;
    }
    let labels = nested(spec, &["template", "metadata", "labels"]);
    for (key, value) in [
        ("job-name", &name),
        ("batch.kubernetes.io/job-name", &name),
        ("controller-uid", &uid),
        ("batch.kubernetes.io/controller-uid", &uid),
    ] {
        labels.entry(key).or_insert_with(|| value.as_str().into());
    }
    labels.sort_keys();
    let selected = nested(spec, &["selector", "matchLabels"]);
    selected.entry("batch.kubernetes.io/controller-uid").or_insert_with(|| uid.into());
    selected.sort_keys();
}

/// Labels a job like its pods, for which it must have been completed. It is for those that came without labels.
pub(super) fn label(draft: &mut Draft, resource: &Resource) {
    if resource.group == "batch" && resource.name == "jobs" {
        let labels = draft.part("spec").and_then(|spec| spec.pointer("/template/metadata/labels").cloned());
        draft.set_meta("labels", labels);
    }
}

/// The object at the end of a path. What else is on the way makes way.
fn nested<'a>(fields: &'a mut Map<String, Value>, path: &[&str]) -> &'a mut Map<String, Value> {
    path.iter().fold(fields, |fields, name| {
        let slot = fields.entry(*name).or_insert(Value::Null);
        if !slot.is_object() {
            *slot = json!({});
        }
        slot.as_object_mut().expect("it was made an object just now")
    })
}

fn begin_pod(pod: &mut Draft) {
    let is_gated = pod.part("spec").is_some_and(|spec| {
        spec.get("schedulingGates").and_then(Value::as_array).is_some_and(|gates| !gates.is_empty())
    });
    if is_gated {
        let condition = json!({
            "type": "PodScheduled",
            "status": "False",
            "lastProbeTime": null,
            "lastTransitionTime": now().to_string(),
            "reason": "SchedulingGated",
            "message": "Scheduling is blocked due to non-empty scheduling gates",
        });
        pod.set_in("status", "conditions", Some(json!([condition])));
    }
    let pairs = |pod: &Draft, name| pod.meta(name).and_then(Value::as_object).cloned().unwrap_or_default();
    let (labels, annotations) = (pairs(pod, "labels"), pairs(pod, "annotations"));
    let spec = pod.part_mut("spec");
    confine(spec, &annotations);
    pod_resources::complete(spec);
    let spreads = spec.get_mut("topologySpreadConstraints").and_then(Value::as_array_mut);
    spreads.into_iter().flatten().for_each(|constraint| select_by_keys(constraint, &labels));
    for affinity in ["podAffinity", "podAntiAffinity"] {
        let Some(affinity) = spec.get_mut("affinity").and_then(|all| all.get_mut(affinity)) else { continue };
        let required = affinity.get_mut("requiredDuringSchedulingIgnoredDuringExecution");
        let required = required.and_then(Value::as_array_mut).into_iter().flatten();
        required.for_each(|term| select_by_keys(term, &labels));
        let preferred = affinity.get_mut("preferredDuringSchedulingIgnoredDuringExecution");
        for weighted in preferred.and_then(Value::as_array_mut).into_iter().flatten() {
            if let Some(term) = weighted.get_mut("podAffinityTerm") {
                select_by_keys(term, &labels);
            }
        }
    }
    let quality = pod_resources::quality_of_service(pod.part("spec"));
    pod.set_in("status", "qosClass", Some(quality.into()));
}

/// A term that names keys of labels selects by what the pod itself has under them.
fn select_by_keys(term: &mut Value, labels: &Map<String, Value>) {
    let mut wanted = Vec::new();
    for (keys, operator) in [("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")] {
        for key in term[keys].as_array().into_iter().flatten().filter_map(Value::as_str) {
            if let Some(value) = labels.get(key) {
                wanted.push(json!({"key": key, "operator": operator, "values": [value]}));
            }
        }
    }
    if let Some(selector) = term.get_mut("labelSelector").and_then(Value::as_object_mut)
        && !wanted.is_empty()
        && let Value::Array(expressions) = selector.entry("matchExpressions").or_insert_with(|| json!([]))
    {
        expressions.extend(wanted);
    }
}

/// Turns the annotations that once named the profiles of containers into fields.
fn confine(spec: &mut Map<String, Value>, annotations: &Map<String, Value>) {
    const PREFIX: &str = "container.apparmor.security.beta.kubernetes.io/";
    if spec.get("os").is_some_and(|os| os["name"] == "windows") {
        return;
    }
    let of_pod = spec.get("securityContext").and_then(|context| context.get("appArmorProfile").cloned());
    for list in ["containers", "initContainers", "ephemeralContainers"] {
        let containers = spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten();
        for container in containers.filter_map(Value::as_object_mut) {
            let name = container.get("name").and_then(Value::as_str).unwrap_or_default();
            let said = annotations.get(&format!("{PREFIX}{name}")).and_then(Value::as_str);
            let profile = said.and_then(profile);
            if profile.is_some() && profile != of_pod {
                let context = nested(container, &["securityContext"]);
                if let Some(profile) = profile {
                    context.entry("appArmorProfile").or_insert(profile);
                }
            }
        }
    }
}

fn profile(said: &str) -> Option<Value> {
    match said {
        "unconfined" => Some(json!({"type": "Unconfined"})),
        "runtime/default" => Some(json!({"type": "RuntimeDefault"})),
        _ => {
            let name = said.strip_prefix("localhost/").filter(|name| !name.is_empty())?;
            Some(json!({"type": "Localhost", "localhostProfile": name}))
        }
    }
}
