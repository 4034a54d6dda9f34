//! Defaults of pods that depend on other fields.

use serde_json::{Value, json};

use super::image;
use crate::defaults::{Fields, made, number, objects, set, text};

/// Defaults of a pod, but not of a template: requests default to limits, and host ports to container ports on the host
/// network.
pub(crate) fn pod(pod: &mut Fields) {
    let Some(Value::Object(spec)) = pod.get_mut("spec") else { return };
    if number(spec, "terminationGracePeriodSeconds") < 0 {
        spec.insert("terminationGracePeriodSeconds".to_owned(), 1.into());
    }
    let shares_network = spec.get("hostNetwork") == Some(&Value::Bool(true));
    for list in ["containers", "initContainers"] {
        for container in objects(spec, list) {
            if let Some(Value::Object(resources)) = container.get_mut("resources") {
                request_limits(resources);
            }
            if shares_network {
                objects(container, "ports").for_each(expose);
            }
        }
    }
}

fn request_limits(resources: &mut Fields) {
    let Some(Value::Object(limits)) = resources.get("limits").cloned() else { return };
    let Some(requests) = made(resources, "requests") else { return };
    for (name, limit) in limits {
        requests.entry(name).or_insert(limit);
    }
}

fn expose(port: &mut Fields) {
    if number(port, "hostPort") == 0
        && let Some(number) = port.get("containerPort").cloned()
    {
        port.insert("hostPort".to_owned(), number);
    }
}

/// Keeps `podIP` and `podIPs` equal; `podIP` wins.
pub(crate) fn status(status: &mut Fields) {
    let first = status.get("podIPs").and_then(|ips| Some(ips.get(0)?.get("ip")?.as_str()?.to_owned()));
    match (text(status, "podIP"), first) {
        ("", Some(first)) => set(status, "podIP", first),
        ("", None) => {}
        (ip, Some(first)) if ip == first => {}
        (ip, _) => {
            let ips = json!([{"ip": ip}]);
            status.insert("podIPs".to_owned(), ips);
        }
    }
}

/// Keeps `serviceAccount` and `serviceAccountName` equal; the latter wins.
pub(crate) fn service_account(spec: &mut Fields) {
    let account = match text(spec, "serviceAccountName") {
        "" => text(spec, "serviceAccount"),
        account => account,
    };
    if !account.is_empty() {
        let account = Value::from(account);
        spec.insert("serviceAccountName".to_owned(), account.clone());
        spec.insert("serviceAccount".to_owned(), account);
    }
}

/// Images tagged `latest` are always pulled.
pub(crate) fn pull_policy(container: &mut Fields) {
    let policy = policy_for(text(container, "image"));
    set(container, "imagePullPolicy", policy);
}

fn policy_for(image: &str) -> &'static str {
    if image::is_latest(image) { "Always" } else { "IfNotPresent" }
}

/// A volume without a source is an empty directory.
pub(crate) fn volume(volume: &mut Fields) {
    if volume.keys().all(|name| name == "name") {
        volume.insert("emptyDir".to_owned(), json!({}));
    }
    if let Some(Value::Object(source)) = volume.get_mut("image") {
        let policy = policy_for(text(source, "reference"));
        set(source, "pullPolicy", policy);
    }
}
