//! Containers: their names, images, ports, variables and mounts.

use serde_json::Value;
use watchkeeper_core::Quoted;

use super::super::amount::{Amount, requirements, written};
use super::super::faults::Faults;
use super::super::field::Field;
use super::super::form::{config_key, label, port_name, port_number, qualified_name, subdomain, variable};
use super::handler::{lifecycle, probes};
use super::security;
use super::volume::{Volumes, descending, has_backsteps};

/// What a variable may take from its pod.
const POD_FIELDS: [&str; 9] = [
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];
/// What a variable may take from its container.
const CONTAINER_FIELDS: [&str; 6] = [
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
];

/// All containers of a spec, of all three sorts.
pub(super) fn containers(spec: &Field<'_>, volumes: &Volumes<'_>, claims: &[&str], faults: &mut Faults) {
    let regular = spec.child("containers");
    if regular.is_empty() {
        faults.required(&regular, "");
    }
    let mut names: Vec<&str> = Vec::new();
    for container in regular.items() {
        common(&container, spec, volumes, claims, faults);
        let name = container.child("name");
        if names.contains(&name.text()) {
            faults.duplicate(&name);
        } else {
            names.push(name.text());
        }
        lifecycle(&container, spec, faults);
        probes(&container, spec, faults);
        restart_policy(&container, faults);
    }
    host_ports(&regular, faults);
    for container in spec.child("initContainers").items() {
        init_container(&container, spec, volumes, claims, &mut names, faults);
    }
    for container in spec.child("ephemeralContainers").items() {
        let name = container.child("name");
        if name.is_empty() {
            faults.required(&name, "");
        } else {
            faults.malformed(&name, label(name.text()));
        }
        if container.child("image").is_empty() {
            faults.required(&container.child("image"), "");
        }
        if names.contains(&name.text()) {
            faults.duplicate(&name);
        }
        names.push(name.text());
    }
}

fn init_container<'a>(
    container: &Field<'a>,
    spec: &Field<'a>,
    volumes: &Volumes<'_>,
    claims: &[&str],
    names: &mut Vec<&'a str>,
    faults: &mut Faults,
) {
    common(container, spec, volumes, claims, faults);
    restart_policy(container, faults);
    let name = container.child("name");
    if names.contains(&name.text()) {
        faults.duplicate(&name);
    } else if !name.is_empty() {
        names.push(name.text());
    }
    if container.child("restartPolicy").text() == "Always" {
        lifecycle(container, spec, faults);
        probes(container, spec, faults);
        return;
    }
    for part in ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"] {
        if container.child(part).is_set() {
            let why = "may not be set for init containers without restartPolicy=Always";
            faults.forbidden(&container.child(part), why);
        }
    }
}

fn restart_policy(container: &Field<'_>, faults: &mut Faults) {
    let (policy, rules) = (container.child("restartPolicy"), container.child("restartPolicyRules"));
    if !policy.is_set() && !rules.is_empty() {
        faults.required(&policy, "must specify restartPolicy when restart rules are used");
    }
    faults.one_of_set(&policy, &["Always", "Never", "OnFailure"]);
}

/// What containers of all sorts have in common.
fn common(
    container: &Field<'_>,
    spec: &Field<'_>,
    volumes: &Volumes<'_>,
    claims: &[&str],
    faults: &mut Faults,
) {
    let name = container.child("name");
    if name.is_empty() {
        faults.required(&name, "");
    } else {
        faults.malformed(&name, label(name.text()));
    }
    if container.child("image").is_empty() {
        faults.required(&container.child("image"), "");
    }
    faults.one_of(&container.child("terminationMessagePolicy"), &["File", "FallbackToLogsOnError"]);
    ports(&container.child("ports"), faults);
    for variable in container.child("env").items() {
        environment(&variable, faults);
    }
    environment_from(&container.child("envFrom"), faults);
    mounts(container, volumes, faults);
    devices(container, volumes, faults);
    faults.one_of(&container.child("imagePullPolicy"), &["Always", "IfNotPresent", "Never"]);
    requirements(&container.child("resources"), claims, faults);
    resize_policy(&container.child("resizePolicy"), spec, faults);
    security::of_container(&container.child("securityContext"), spec, faults);
}

fn ports(list: &Field<'_>, faults: &mut Faults) {
    let mut names = Vec::new();
    for port in list.items() {
        let name = port.child("name");
        if !name.is_empty() {
            let found = port_name(name.text());
            if found.is_empty() && names.contains(&name.text()) {
                faults.duplicate(&name);
            } else if found.is_empty() {
                names.push(name.text());
            }
            faults.malformed(&name, found);
        }
        let inside = port.child("containerPort");
        match inside.count() {
            0 => faults.required(&inside, ""),
            number => faults.malformed(&inside, port_number(number)),
        }
        let outside = port.child("hostPort");
        if outside.count() != 0 {
            faults.malformed(&outside, port_number(outside.count()));
        }
        faults.one_of(&port.child("protocol"), &["SCTP", "TCP", "UDP"]);
    }
}

/// Two containers cannot have one port of the host.
fn host_ports(list: &Field<'_>, faults: &mut Faults) {
    let mut taken = Vec::new();
    for container in list.items() {
        for port in container.child("ports").items() {
            let number = port.child("hostPort");
            if number.count() == 0 {
                continue;
            }
            let protocol = match port.child("protocol").text() {
                "" => "TCP",
                protocol => protocol,
            };
            let place = format!("{protocol}/{}/{}", port.child("hostIP").text(), number.count());
            if taken.contains(&place) {
                faults.duplicate_value(&number, Quoted(&place), "");
            }
            taken.push(place);
        }
    }
}

fn environment(field: &Field<'_>, faults: &mut Faults) {
    let name = field.child("name");
    if name.is_empty() {
        faults.required(&name, "");
    } else {
        faults.malformed(&name, variable(name.text()));
    }
    let from = field.child("valueFrom");
    if !from.is_set() {
        return;
    }
    let mut sources = 0;
    let mut source = |name: &str, check: &mut dyn FnMut(&Field<'_>)| {
        let source = from.child(name);
        if source.is_set() {
            sources += 1;
            check(&source);
        }
    };
    source("fieldRef", &mut |at| pod_field(at, &POD_FIELDS, faults));
    source("resourceFieldRef", &mut |at| container_field(at, false, faults));
    source("configMapKeyRef", &mut |at| key_of(at, faults));
    source("secretKeyRef", &mut |at| key_of(at, faults));
    source("fileKeyRef", &mut |_| {});
    if sources == 0 {
        let why = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`";
        faults.invalid_value(&from, "\"\"", why);
    } else if !field.child("value").is_empty() {
        faults.invalid_value(&from, "\"\"", "may not be specified when `value` is not empty");
    } else if sources > 1 {
        faults.invalid_value(&from, "\"\"", "may not have more than one field specified at a time");
    }
}

/// A reference to a field of the pod.
pub(super) fn pod_field(at: &Field<'_>, known: &[&str], faults: &mut Faults) {
    let (path, version) = (at.child("fieldPath"), at.child("apiVersion"));
    if path.is_empty() {
        faults.required(&path, "");
        return;
    }
    let text = path.text();
    if !matches!(version.text(), "" | "v1") {
        let why = format!("error converting fieldPath: unsupported pod version: {}", version.text());
        faults.invalid(&path, &why);
        return;
    }
    let subscript = text
        .strip_suffix(']')
        .and_then(|text| text.split_once("['"))
        .and_then(|(path, key)| Some((path, key.strip_suffix('\'')?)));
    if let Some((base, key)) = subscript {
        let key = if base == "metadata.annotations" { key.to_lowercase() } else { key.to_owned() };
        match base {
            "metadata.annotations" | "metadata.labels" => {
                for why in qualified_name(&key) {
                    faults.invalid_value(at, Quoted(&key), &why);
                }
            }
            _ => {
                let why =
                    format!("error converting fieldPath: field label does not support subscript: {text}");
                faults.invalid(&path, &why);
            }
        }
        return;
    }
    let convertible = known.contains(&text)
        || POD_FIELDS.contains(&text)
        || matches!(
            text,
            "metadata.annotations"
                | "metadata.labels"
                | "spec.restartPolicy"
                | "spec.schedulerName"
                | "status.phase"
                | "spec.host"
        );
    if !convertible {
        faults.invalid(&path, &format!("error converting fieldPath: field label not supported: {text}"));
    } else if !known.contains(&text) {
        faults.not_supported(&path, known);
    }
}

/// A reference to a field of a container.
pub(super) fn container_field(at: &Field<'_>, is_volume: bool, faults: &mut Faults) {
    let resource = at.child("resource");
    let is_pages =
        ["requests.hugepages-", "limits.hugepages-"].iter().any(|start| resource.text().starts_with(start));
    if is_volume && at.child("containerName").is_empty() {
        faults.required(&at.child("containerName"), "");
    } else if resource.is_empty() {
        faults.required(&resource, "");
    } else if !CONTAINER_FIELDS.contains(&resource.text()) && !is_pages {
        faults.not_supported(&resource, &CONTAINER_FIELDS);
    }
    let divisor = at.child("divisor");
    if Amount::of(divisor.value()).is_none_or(|amount| amount.sign().is_eq()) {
        return;
    }
    let text = written(&divisor);
    let (known, why): (&[&str], &str) = match resource.text() {
        "limits.cpu" | "requests.cpu" => {
            (&["1m", "1"], "only divisor's values 1m and 1 are supported with the cpu resource")
        }
        "limits.memory" | "requests.memory" => (
            &DIVISORS,
            "only divisor's values 1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei are supported with the memory resource",
        ),
        "limits.ephemeral-storage" | "requests.ephemeral-storage" => (
            &DIVISORS,
            "only divisor's values 1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei are supported with the local ephemeral storage resource",
        ),
        _ => return,
    };
    if !known.contains(&text.as_str()) {
        faults.invalid_value(&divisor, Quoted(resource.text()), why);
    }
}

const DIVISORS: [&str; 13] =
    ["1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"];

fn key_of(at: &Field<'_>, faults: &mut Faults) {
    let (name, key) = (at.child("name"), at.child("key"));
    for why in subdomain(name.text()) {
        faults.invalid_value(&name, Quoted(name.text()), &why);
    }
    if key.is_empty() {
        faults.required(&key, "");
    } else {
        faults.malformed(&key, config_key(key.text()));
    }
}

fn environment_from(list: &Field<'_>, faults: &mut Faults) {
    for source in list.items() {
        let prefix = source.child("prefix");
        if !prefix.is_empty() {
            faults.malformed(&prefix, variable(prefix.text()));
        }
        let mut sources = 0;
        for name in ["configMapRef", "secretRef"] {
            let reference = source.child(name);
            if !reference.is_set() {
                continue;
            }
            sources += 1;
            let name = reference.child("name");
            if name.is_empty() {
                faults.required(&name, "");
            } else {
                let rule = super::NameRule::Subdomain;
                faults.malformed(&name, rule.prefix_faults(name.text()));
            }
        }
        match sources {
            0 => faults.invalid_value(list, "\"\"", "must specify one of: `configMapRef` or `secretRef`"),
            1 => {}
            _ => faults.invalid_value(list, "\"\"", "may not have more than one field specified at a time"),
        }
    }
}

fn mounts(container: &Field<'_>, volumes: &Volumes<'_>, faults: &mut Faults) {
    let list = container.child("volumeMounts");
    let devices = container.child("volumeDevices");
    let mut paths = Vec::new();
    for mount in list.items() {
        let (name, path) = (mount.child("name"), mount.child("mountPath"));
        if name.is_empty() {
            faults.required(&name, "");
        }
        if !volumes.has(name.text()) {
            faults.not_found(&name, name.text(), "");
        }
        if path.is_empty() {
            faults.required(&path, "");
        }
        if paths.contains(&path.text()) {
            faults.invalid(&path, "must be unique");
        }
        paths.push(path.text());
        if devices.items().any(|device| device.child("name").text() == name.text()) {
            faults.invalid(&name, "must not already exist in volumeDevices");
        }
        if devices.items().any(|device| device.child("devicePath").text() == path.text()) {
            faults.invalid(&path, "must not already exist as a path in volumeDevices");
        }
        let (part, expression) = (mount.child("subPath"), mount.child("subPathExpr"));
        descending(&Field::at(list.path_of("subPath"), part.value()), faults);
        if !expression.is_empty() {
            if !part.is_empty() {
                faults.invalid(&expression, "subPathExpr and subPath are mutually exclusive");
            }
            descending(&Field::at(list.path_of("subPathExpr"), expression.value()), faults);
        }
        propagation(&list, &mount, container, faults);
    }
}

fn propagation(list: &Field<'_>, mount: &Field<'_>, container: &Field<'_>, faults: &mut Faults) {
    let mode = Field::at(list.path_of("mountPropagation"), mount.child("mountPropagation").value());
    faults.one_of_set(&mode, &["Bidirectional", "HostToContainer", "None"]);
    if mode.text() == "Bidirectional" && !container.child("securityContext").child("privileged").is_true() {
        let why = "Bidirectional mount propagation is available only to privileged containers";
        faults.forbidden(&mode, why);
    }
    let recursive = Field::at(list.path_of("recursiveReadOnly"), mount.child("recursiveReadOnly").value());
    faults.one_of_set(&recursive, &["Disabled", "Enabled", "IfPossible"]);
    if matches!(recursive.text(), "Enabled" | "IfPossible") {
        if !mount.child("readOnly").is_true() {
            faults.forbidden(&recursive, "may only be specified when readOnly is true");
        }
        if !matches!(mode.text(), "" | "None") {
            let why = "may only be specified when mountPropagation is None or not specified";
            faults.forbidden(&recursive, why);
        }
    }
}

fn devices(container: &Field<'_>, volumes: &Volumes<'_>, faults: &mut Faults) {
    let (mut names, mut paths) = (Vec::new(), Vec::new());
    for device in container.child("volumeDevices").items() {
        let (name, path) = (device.child("name"), device.child("devicePath"));
        if name.is_empty() {
            faults.required(&name, "");
        }
        if names.contains(&name.text()) {
            faults.invalid(&name, "must be unique");
        }
        if !volumes.has(name.text()) {
            faults.not_found(&name, name.text(), "");
        } else if !volumes.is_claim(name.text()) {
            let why = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode";
            faults.invalid(&name, why);
        }
        if path.is_empty() {
            faults.required(&path, "");
        }
        if paths.contains(&path.text()) {
            faults.invalid(&path, "must be unique");
        }
        if has_backsteps(path.text()) {
            faults.invalid(&path, "can not contain backsteps ('..')");
        } else {
            paths.push(path.text());
        }
        let mounts = container.child("volumeMounts");
        if mounts.items().any(|mount| mount.child("name").text() == name.text()) {
            faults.invalid(&name, "must not already exist in volumeMounts");
        }
        if mounts.items().any(|mount| mount.child("mountPath").text() == path.text()) {
            faults.invalid(&path, "must not already exist as a path in volumeMounts");
        }
        if !name.is_empty() {
            names.push(name.text());
        }
    }
}

fn resize_policy(list: &Field<'_>, spec: &Field<'_>, faults: &mut Faults) {
    let mut seen: Vec<&Value> = Vec::new();
    for policy in list.items() {
        let (resource, restart) = (policy.child("resourceName"), policy.child("restartPolicy"));
        if seen.contains(&resource.value()) {
            faults.duplicate_value(&policy, super::super::faults::json(resource.value()), "");
        }
        seen.push(resource.value());
        let of_list = |field: &Field<'_>| super::super::faults::json(field.value());
        match resource.text() {
            "cpu" | "memory" => {}
            "" => faults.required(list, ""),
            _ => faults.not_supported_value(list, of_list(&resource), &["cpu", "memory"]),
        }
        match restart.text() {
            "NotRequired" | "RestartContainer" => {}
            "" => faults.required(list, ""),
            _ => faults.not_supported_value(list, of_list(&restart), &["NotRequired", "RestartContainer"]),
        }
        if spec.child("restartPolicy").text() == "Never" && restart.text() != "NotRequired" {
            let why = "must be 'NotRequired' when pod `restartPolicy` is 'Never'";
            faults.invalid_value(list, of_list(&restart), why);
        }
    }
}
