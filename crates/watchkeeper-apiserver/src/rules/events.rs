//! Events: two groups serve the same objects with different field names. The stored form is that of the core group.

use serde_json::{Map, Value};
use watchkeeper_core::Quoted;

use crate::rules::KindRules;
use crate::validate::faults::{Faults, shown};
use crate::validate::field::Object;
use crate::validate::metadata;
use crate::validate::syntax::qualified_name;

/// Field names in the core group, and in `events.k8s.io`. Other fields have the same name in both.
pub(crate) const NAMES: [(&str, &str); 7] = [
    ("count", "deprecatedCount"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("involvedObject", "regarding"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("message", "note"),
    ("reportingComponent", "reportingController"),
    ("source", "deprecatedSource"),
];

const MOST_BYTES: usize = 128;

const MOST_MESSAGE_BYTES: usize = 1024;

/// Events of the core group.
#[derive(Debug)]
pub(in crate::rules) struct Events;

impl KindRules for Events {
    fn allow_create_on_update(&self) -> bool {
        true
    }

    fn validate_content(&self, _old: Option<Object<'_>>, new: Object<'_>, faults: &mut Faults) {
        event(new, faults);
    }

    /// kube-apiserver validates the metadata of events generically, after everything else.
    fn validate(&self, new: Object<'_>, faults: &mut Faults) {
        self.validate_content(None, new, faults);
        metadata::new_generic(new, faults);
    }

    fn validate_update(&self, old: Object<'_>, new: Object<'_>, faults: &mut Faults) {
        self.validate_content(Some(old), new, faults);
    }
}

/// Events of `events.k8s.io`. Only their metadata is validated here: requests over HTTP are converted to the core group,
/// and validated by [`Events`].
#[derive(Debug)]
pub(in crate::rules) struct EventsV1;

impl KindRules for EventsV1 {
    fn rename_to_storage(&self, fields: &mut Map<String, Value>) {
        NAMES.iter().for_each(|(stored, shown)| rename(fields, shown, stored));
    }

    fn convert_from_storage(&self, fields: &mut Map<String, Value>) {
        NAMES.iter().for_each(|(stored, shown)| rename(fields, stored, shown));
    }

    fn allow_create_on_update(&self) -> bool {
        true
    }
}

fn rename(fields: &mut Map<String, Value>, from: &str, to: &str) {
    if let Some(value) = fields.remove(from) {
        fields.insert(to.to_owned(), value);
    }
}

/// Checks a stored event. The stricter rules of `events.k8s.io` are not implemented.
fn event(object: Object<'_>, faults: &mut Faults) {
    let about = object.field("involvedObject").child("namespace");
    let namespace = object.field("metadata").child("namespace").text();
    let reporter = object.field("reportingComponent");
    let mismatch = |faults: &mut Faults| {
        let shown = shown(&Value::String(about.text().to_owned()));
        faults.invalid_value(&about, shown, "does not match event.namespace");
    };
    if object.field("eventTime").is_empty() {
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
        faults.invalid_value(&reporter, Quoted(reporter.text()), &why);
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
