//! Events: whom they are about and who tells of it.

use super::faults::Faults;
use super::field::{Field, Object};
use super::form::qualified_name;

const MOST_BYTES: usize = 128;
const MOST_MESSAGE_BYTES: usize = 1024;

/// An event as it is stored. The stricter rules of `events.k8s.io` are not looked at.
pub(super) fn event(object: Object<'_>, faults: &mut Faults) {
    let about = object.field("involvedObject").child("namespace");
    let namespace = object.field("metadata").child("namespace").text();
    let reporter = object.field("reportingComponent");
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

fn has_time(field: &Field<'_>) -> bool {
    !field.is_empty()
}
