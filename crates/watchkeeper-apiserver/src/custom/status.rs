//! Status: conditions and accepted names of a definition.

use serde_json::{Value, json};
use watchkeeper_core::Timestamp;

use super::definition::{Condition, Names};

/// Sets a condition of a definition; `lastTransitionTime` changes only with the status of the condition.
pub(super) fn set_condition(definition: &mut Value, condition: &Condition, now: Timestamp) {
    let Condition { name, status, reason, message } = condition;
    let written = |since: &Value| json!({"type": name, "status": status, "lastTransitionTime": since, "reason": reason, "message": message});
    let now = Value::from(now.to_string());
    let conditions = &mut definition["status"]["conditions"];
    if !conditions.is_array() {
        *conditions = json!([]);
    }
    let Value::Array(conditions) = conditions else { return };
    match conditions.iter_mut().find(|it| it["type"] == **name) {
        Some(known) => {
            let since = if known["status"] == **status { known["lastTransitionTime"].take() } else { now };
            *known = written(&since);
        }
        None => conditions.push(written(&now)),
    }
}

/// Sets the accepted names.
pub(super) fn set_names(definition: &mut Value, names: &Names) {
    let mut accepted = json!({"plural": names.plural, "kind": names.kind});
    let mut set = |name: &str, value: Value, is_empty: bool| {
        if !is_empty {
            accepted[name] = value;
        }
    };
    set("singular", json!(names.singular), names.singular.is_empty());
    set("shortNames", json!(names.short_names), names.short_names.is_empty());
    set("listKind", json!(names.list_kind), names.list_kind.is_empty());
    set("categories", json!(names.categories), names.categories.is_empty());
    definition["status"]["acceptedNames"] = accepted;
}

/// Sets the condition `Terminating`.
pub(crate) fn terminating(definition: &mut Value, now: Timestamp) {
    let words = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon";
    set_condition(definition, &condition("Terminating", true, "InstanceDeletionPending", words), now);
}

/// Creates a condition.
pub(super) fn condition(name: &str, is_true: bool, reason: &str, message: &str) -> Condition {
    Condition {
        name: name.to_owned(),
        status: if is_true { "True" } else { "False" }.to_owned(),
        reason: reason.to_owned(),
        message: message.to_owned(),
    }
}
