//! Cells of nodes, events, quotas, policies and server resources.

use serde_json::Value;
use watchkeeper_wire::json_path::at;

use crate::cell::Subject;
use crate::value::{amount, int, list, or_placeholder, text, text_or_empty};

pub(crate) fn node_status(subject: &Subject<'_>) -> Value {
    let conditions = list(subject.object, "status.conditions");
    // The last of several counts.
    let ready = conditions.iter().rfind(|condition| text(condition, "type") == Some("Ready"));
    let ready = match ready.map(|condition| text_or_empty(condition, "status")) {
        Some("True") => "Ready",
        Some(_) => "NotReady",
        None => "Unknown",
    };
    let is_closed = at(subject.object, "spec.unschedulable").and_then(Value::as_bool) == Some(true);
    Value::from(format!("{ready}{}", if is_closed { ",SchedulingDisabled" } else { "" }))
}

/// Roles, from labels with the role in the key or in the value.
pub(crate) fn node_roles(subject: &Subject<'_>) -> Value {
    let labels = at(subject.object, "metadata.labels").and_then(Value::as_object);
    let role = |(key, value): (&String, &Value)| match key.strip_prefix("node-role.kubernetes.io/") {
        Some(role) => Some(role.to_owned()),
        None if key == "kubernetes.io/role" => value.as_str().map(str::to_owned),
        None => None,
    };
    let mut roles: Vec<String> = labels.into_iter().flatten().filter_map(role).collect();
    roles.retain(|role| !role.is_empty());
    roles.sort();
    roles.dedup();
    Value::from(or_placeholder(roles.join(","), "<none>"))
}

/// First address of a type.
pub(crate) fn node_address(subject: &Subject<'_>, wanted: &'static str) -> Value {
    let addresses = list(subject.object, "status.addresses");
    let address = addresses.iter().find(|address| text(address, "type") == Some(wanted));
    Value::from(address.map_or("<none>", |address| text_or_empty(address, "address")))
}

pub(crate) fn node_kernel(subject: &Subject<'_>) -> Value {
    let kernel = text_or_empty(subject.object, "status.nodeInfo.kernelVersion").to_owned();
    let kernel = or_placeholder(kernel, "<unknown>");
    Value::from(match text_or_empty(subject.object, "status.nodeInfo.architecture") {
        "" => kernel,
        architecture => format!("{kernel} ({architecture})"),
    })
}

/// Returns the first of two fields: `events.k8s.io` has other names for the fields of an event.
fn either<'a>(event: &'a Value, paths: [&str; 2]) -> &'a str {
    paths.iter().find_map(|path| text(event, path).filter(|text| !text.is_empty())).unwrap_or_default()
}

fn first_seen(subject: &Subject<'_>) -> String {
    let paths = ["firstTimestamp", "deprecatedFirstTimestamp", "eventTime"];
    paths.iter().find_map(|path| subject.since(path)).unwrap_or_else(|| "<unknown>".to_owned())
}

pub(crate) fn event_first(subject: &Subject<'_>) -> Value {
    Value::from(first_seen(subject))
}

pub(crate) fn event_last(subject: &Subject<'_>) -> Value {
    if at(subject.object, "series").is_some() {
        return Value::from(
            subject.since("series.lastObservedTime").unwrap_or_else(|| "<unknown>".to_owned()),
        );
    }
    let last = ["lastTimestamp", "deprecatedLastTimestamp"].iter().find_map(|path| subject.since(path));
    Value::from(last.unwrap_or_else(|| first_seen(subject)))
}

pub(crate) fn event_count(subject: &Subject<'_>) -> Value {
    let event = subject.object;
    Value::from(match at(event, "series") {
        Some(series) => int(series, "count"),
        None => match int(event, "count").max(int(event, "deprecatedCount")) {
            0 => 1, // a single event has no count
            count => count,
        },
    })
}

/// `pod/web`.
pub(crate) fn event_object(subject: &Subject<'_>) -> Value {
    let about =
        |field| either(subject.object, [&format!("involvedObject.{field}"), &format!("regarding.{field}")]);
    let kind = about("kind").to_lowercase();
    Value::from(match about("name") {
        "" => kind,
        name => format!("{kind}/{name}"),
    })
}

/// `kubelet, node1`.
pub(crate) fn event_source(subject: &Subject<'_>) -> Value {
    let event = subject.object;
    let old = |field| either(event, [&format!("source.{field}"), &format!("deprecatedSource.{field}")]);
    let component = match old("component") {
        "" => either(event, ["reportingComponent", "reportingController"]),
        component => component,
    };
    let host = match old("host") {
        "" => text_or_empty(event, "reportingInstance"),
        host => host,
    };
    Value::from(if host.is_empty() { component.to_owned() } else { format!("{component}, {host}") })
}

pub(crate) fn event_message(subject: &Subject<'_>) -> Value {
    Value::from(either(subject.object, ["message", "note"]).trim())
}

/// Used and hard values by name. Limits have their own column.
fn quota(subject: &Subject<'_>, limits: bool) -> Value {
    let hard = at(subject.object, "status.hard").and_then(Value::as_object);
    let used = at(subject.object, "status.used");
    let mut entries: Vec<_> =
        hard.into_iter().flatten().filter(|(name, _)| name.starts_with("limits.") == limits).collect();
    entries.sort_by_key(|(name, _)| *name);
    let entry = |(name, hard): (&String, &Value)| {
        let used = used.and_then(|used| used.get(name));
        format!("{name}: {}/{}", amount(used), amount(Some(hard)))
    };
    Value::from(entries.into_iter().map(entry).collect::<Vec<_>>().join(", "))
}

pub(crate) fn quota_requests(subject: &Subject<'_>) -> Value {
    quota(subject, false)
}

pub(crate) fn quota_limits(subject: &Subject<'_>) -> Value {
    quota(subject, true)
}

pub(crate) fn binding_role(subject: &Subject<'_>) -> Value {
    let role = |field| text_or_empty(&subject.object["roleRef"], field);
    Value::from(format!("{}/{}", role("kind"), role("name")))
}

/// The subjects of one kind; service accounts with their namespace.
pub(crate) fn binding_subjects(subject: &Subject<'_>, kind: &'static str) -> Value {
    let named = |it: &Value| match kind {
        "ServiceAccount" => format!("{}/{}", text_or_empty(it, "namespace"), text_or_empty(it, "name")),
        _ => text_or_empty(it, "name").to_owned(),
    };
    let subjects = list(subject.object, "subjects").iter().filter(|it| text(it, "kind") == Some(kind));
    Value::from(subjects.map(named).collect::<Vec<_>>().join(", "))
}

pub(crate) fn apiservice_service(subject: &Subject<'_>) -> Value {
    Value::from(match at(subject.object, "spec.service") {
        Some(service) => {
            format!("{}/{}", text_or_empty(service, "namespace"), text_or_empty(service, "name"))
        }
        None => "Local".to_owned(),
    })
}

/// Returns whether a CustomResourceDefinition is established.
pub(crate) fn definition_established(subject: &Subject<'_>) -> Value {
    let mut conditions = list(subject.object, "status.conditions").iter();
    conditions.any(|it| it["type"] == "Established" && it["status"] == "True").into()
}

/// The served versions of a CustomResourceDefinition, and the storage version.
pub(crate) fn definition_versions(subject: &Subject<'_>) -> Value {
    let served = list(subject.object, "spec.versions").iter().filter(|version| version["served"] == true);
    let versions = served.map(|version| {
        let name = version["name"].as_str().unwrap_or_default();
        if version["storage"] == true { format!("{name}(storage)") } else { name.to_owned() }
    });
    versions.collect::<Vec<_>>().join(",").into()
}

/// `True`, or the reason: `False (MissingEndpoints)`.
pub(crate) fn apiservice_available(subject: &Subject<'_>) -> Value {
    let conditions = list(subject.object, "status.conditions");
    let Some(available) = conditions.iter().find(|condition| text(condition, "type") == Some("Available"))
    else {
        return Value::from("Unknown");
    };
    let (status, reason) = (text_or_empty(available, "status"), text_or_empty(available, "reason"));
    Value::from(match (status, reason) {
        ("True", _) | (_, "") => status.to_owned(),
        _ => format!("{status} ({reason})"),
    })
}

/// `rules.example.com/v1/ReplicaLimit`.
pub(crate) fn policy_parameters(subject: &Subject<'_>) -> Value {
    Value::from(match at(subject.object, "spec.paramKind") {
        Some(kind) => format!("{}/{}", text_or_empty(kind, "apiVersion"), text_or_empty(kind, "kind")),
        None => "<unset>".to_owned(),
    })
}

pub(crate) fn policybinding_parameters(subject: &Subject<'_>) -> Value {
    let Some(parameters) = at(subject.object, "spec.paramRef") else { return Value::from("<unset>") };
    let (namespace, name) = (text_or_empty(parameters, "namespace"), text_or_empty(parameters, "name"));
    Value::from(match (name, at(parameters, "selector")) {
        ("", None) => "<unset>".to_owned(),
        ("", Some(selector)) => go_selector(selector),
        (name, _) => format!("{}/{name}", if namespace.is_empty() { "*" } else { namespace }),
    })
}

/// Formats a selector as Go prints the struct, which is what the server sends.
fn go_selector(selector: &Value) -> String {
    let mut labels: Vec<_> =
        at(selector, "matchLabels").and_then(Value::as_object).into_iter().flatten().collect();
    labels.sort_by_key(|(key, _)| *key);
    let label = |(key, value): (&String, &Value)| format!("{key}: {},", value.as_str().unwrap_or_default());
    let labels: String = labels.into_iter().map(label).collect();
    let expression = |it: &Value| {
        let values: Vec<&str> = list(it, "values").iter().filter_map(Value::as_str).collect();
        let (key, operator) = (text_or_empty(it, "key"), text_or_empty(it, "operator"));
        format!("LabelSelectorRequirement{{Key:{key},Operator:{operator},Values:[{}],}},", values.join(" "))
    };
    let expressions: String = list(selector, "matchExpressions").iter().map(expression).collect();
    format!(
        "&LabelSelector{{MatchLabels:map[string]string{{{labels}}},\
         MatchExpressions:[]LabelSelectorRequirement{{{expressions}}},}}"
    )
}

fn healthy(subject: &Subject<'_>, field: &str) -> Option<String> {
    let conditions = list(subject.object, "conditions");
    let healthy = conditions.iter().find(|condition| text(condition, "type") == Some("Healthy"))?;
    Some(text_or_empty(healthy, field).to_owned())
}

pub(crate) fn component_status(subject: &Subject<'_>) -> Value {
    Value::from(match healthy(subject, "status").as_deref() {
        Some("True") => "Healthy",
        Some(_) => "Unhealthy",
        None => "Unknown",
    })
}

pub(crate) fn component_message(subject: &Subject<'_>) -> Value {
    Value::from(healthy(subject, "message").unwrap_or_default())
}

pub(crate) fn component_error(subject: &Subject<'_>) -> Value {
    Value::from(healthy(subject, "error").unwrap_or_default())
}
