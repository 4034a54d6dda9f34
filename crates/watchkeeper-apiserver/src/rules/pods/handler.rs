//! Handlers of probes and lifecycle hooks.

use serde_json::Value;
use watchkeeper_core::Quoted;

use crate::validate::faults::Faults;
use crate::validate::field::Field;
use crate::validate::syntax::{header, port_name, port_number};

const HANDLERS: [&str; 5] = ["exec", "httpGet", "tcpSocket", "grpc", "sleep"];

/// Checks lifecycle hooks.
pub(super) fn lifecycle(container: &Field<'_>, spec: &Field<'_>, faults: &mut Faults) {
    let field = container.child("lifecycle");
    for name in ["postStart", "preStop"] {
        if field.child(name).is_set() {
            handler(&field.child(name), spec, faults);
        }
    }
    let signal = field.child("stopSignal");
    if signal.is_set() && !spec.child("os").is_set() {
        faults.forbidden(&signal, "may not be set for containers with empty `spec.os.name`");
    }
}

/// Checks probes.
pub(super) fn probes(container: &Field<'_>, spec: &Field<'_>, faults: &mut Faults) {
    for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
        let field = container.child(name);
        if !field.is_set() {
            continue;
        }
        probe(&field, spec, faults);
        let (successes, grace) =
            (field.child("successThreshold"), field.child("terminationGracePeriodSeconds"));
        if name == "readinessProbe" {
            if grace.is_set() {
                faults.invalid(&grace, "must not be set for readinessProbes");
            }
        } else if !matches!(successes.count(), 0 | 1) {
            faults.invalid(&successes, "must be 1");
        }
    }
}

fn probe(field: &Field<'_>, spec: &Field<'_>, faults: &mut Faults) {
    handler(field, spec, faults);
    let counts =
        ["initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"];
    for name in counts {
        faults.negative(&field.child(name));
    }
    let grace = field.child("terminationGracePeriodSeconds");
    if grace.number().is_some_and(|seconds| seconds <= 0) {
        faults.invalid(&grace, "must be greater than 0");
    }
}

fn handler(field: &Field<'_>, spec: &Field<'_>, faults: &mut Faults) {
    let mut count = 0;
    for name in HANDLERS {
        let action = field.child(name);
        if !action.is_set() {
            continue;
        }
        count += 1;
        if count > 1 {
            faults.forbidden(&action, "may not specify more than 1 handler type");
            continue;
        }
        match name {
            "exec" if action.child("command").is_empty() => faults.required(&action.child("command"), ""),
            "httpGet" => get(&action, faults),
            "tcpSocket" | "grpc" => port(&action.child("port"), faults),
            "sleep" => sleep(&action, spec, faults),
            _ => {}
        }
    }
    if count == 0 {
        faults.required(field, "must specify a handler type");
    }
}

fn get(action: &Field<'_>, faults: &mut Faults) {
    port(&action.child("port"), faults);
    faults.one_of(&action.child("scheme"), &["HTTP", "HTTPS"]);
    let headers = action.child("httpHeaders");
    for item in headers.items() {
        let name = item.child("name").text();
        for why in header(name) {
            faults.invalid_value(&headers, Quoted(name), &why);
        }
    }
}

fn sleep(action: &Field<'_>, spec: &Field<'_>, faults: &mut Faults) {
    let grace = spec.child("terminationGracePeriodSeconds").number().unwrap_or(30);
    let seconds = action.child("seconds").count();
    if !(0..=grace).contains(&seconds) {
        let why = format!("must be non-negative and less than terminationGracePeriodSeconds ({grace})");
        faults.invalid_value(action, seconds, &why);
    }
}

/// Checks a port number or name.
pub(in crate::rules) fn port(field: &Field<'_>, faults: &mut Faults) {
    match field.value() {
        Value::String(name) => faults.malformed(field, port_name(name)),
        _ => {
            for why in port_number(field.count()) {
                faults.invalid_value(field, field.count(), &why);
            }
        }
    }
}
