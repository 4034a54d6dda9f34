//! Events: whom they are about and who tells of it.

use super::faults::Faults;
use super::field::{Field, Object};
use super::form::qualified_name;

const MOST_BYTES: usize = 128;
const MOST_MESSAGE_BYTES: usize = 1024;

/// An event as it is stored. Those of `events.k8s.io` follow stricter rules.
pub(super) fn event(object: Object<'_>, is_new_group: bool, faults: &mut Faults) {
    let about = object.field("involvedObject").child("namespace");
    let namespace = object.field("metadata").child("namespace").text();
    let reporter = Field::at(
        if is_new_group { "reportingController" } else { "reportingComponent" },
        object.field("reportingComponent").value(),
    );
    let mismatch = |faults: &mut Faults| {
        faults.invalid_value(
            &about,
            super::faults::shown(&serde_json::Value::String(about.text().to_owned())),
            "does not match event.namespace",
        );
    };
    if !has_time(&object.field("eventTime")) {
        let fits = match about.text() {
            "" => matches!(namespace, "" | "default"),
            about => about == namespace,
        };
        if !fits {
            mismatch(faults);
        }
        return;
    }
    if about.is_empty() && !matches!(namespace, "default" | "kube-system") {
        mismatch(faults);
    }
    if reporter.is_empty() {
        faults.required(&reporter, "");
    }
    for why in qualified_name(reporter.text()) {
        faults.invalid_value(&reporter, watchkeeper_core::Quoted(reporter.text()), &why);
    }
    for name in ["reportingInstance", "action", "reason"] {
        let field = object.field(name);
        if field.is_empty() {
            faults.required(&field, "");
        }
        if field.len() > MOST_BYTES {
            faults.invalid_value(&field, "\"\"", &format!("can have at most {MOST_BYTES} characters"));
        }
    }
    let message = object.field("message");
    if message.len() > MOST_MESSAGE_BYTES {
        faults.invalid_value(&message, "\"\"", &format!("can have at most {MOST_MESSAGE_BYTES} characters"));
    }
}

/// What is asked of a new event of `events.k8s.io` besides.
pub(super) fn strict(object: Object<'_>, faults: &mut Faults) {
    series(object, faults);
    let (time, kind) = (object.field("eventTime"), object.field("type"));
    if !has_time(&time) {
        faults.required(&time, "");
    }
    if !matches!(kind.text(), "Normal" | "Warning") {
        faults.invalid_value(&kind, "\"\"", &format!("has invalid value: {}", kind.text()));
    }
    for name in ["firstTimestamp", "lastTimestamp"] {
        if has_time(&object.field(name)) {
            faults.invalid_value(&object.field(name), "\"\"", "needs to be unset");
        }
    }
    if object.field("count").count() != 0 {
        faults.invalid_value(&object.field("count"), "\"\"", "needs to be unset");
    }
    let source = object.field("source");
    if !source.child("component").is_empty() || !source.child("host").is_empty() {
        faults.invalid_value(&source, "\"\"", "needs to be unset");
    }
}

fn series(object: Object<'_>, faults: &mut Faults) {
    let series = object.field("series");
    if !series.is_set() {
        return;
    }
    if series.child("count").count() < 2 {
        faults.invalid_value(&series.child("count"), "\"\"", "should be at least 2");
    }
    if !has_time(&series.child("lastObservedTime")) {
        faults.required(&series.child("lastObservedTime"), "");
    }
}

fn has_time(field: &Field<'_>) -> bool {
    !field.is_empty()
}
