//! Containers: names, images and ports.

use serde_json::Value;
use watchkeeper_core::Quoted;

use super::environment::{environment, environment_from};
use super::handler::{lifecycle, probes};
use super::mount::{devices, mounts};
use super::security;
use super::volume::Volumes;
use crate::validate::amount::requirements;
use crate::validate::faults::Faults;
use crate::validate::field::Field;
use crate::validate::syntax::{label, port_name, port_number};

/// Checks containers, init containers and ephemeral containers.
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
        name_and_image(&container, faults);
        let name = container.child("name");
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

fn name_and_image(container: &Field<'_>, faults: &mut Faults) {
    let name = container.child("name");
    if name.is_empty() {
        faults.required(&name, "");
    } else {
        faults.malformed(&name, label(name.text()));
    }
    if container.child("image").is_empty() {
        faults.required(&container.child("image"), "");
    }
}

/// Checks what regular containers and init containers have in common.
fn common(
    container: &Field<'_>,
    spec: &Field<'_>,
    volumes: &Volumes<'_>,
    claims: &[&str],
    faults: &mut Faults,
) {
    name_and_image(container, faults);
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

/// Checks that no two containers use the same host port.
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

fn resize_policy(list: &Field<'_>, spec: &Field<'_>, faults: &mut Faults) {
    let mut seen: Vec<&Value> = Vec::new();
    for policy in list.items() {
        let (resource, restart) = (policy.child("resourceName"), policy.child("restartPolicy"));
        if seen.contains(&resource.value()) {
            faults.duplicate_value(&policy, crate::validate::faults::json(resource.value()), "");
        }
        seen.push(resource.value());
        let of_list = |field: &Field<'_>| crate::validate::faults::json(field.value());
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
