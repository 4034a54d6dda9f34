//! Managed fields: the owners of the fields of a written object (`write.W5`).

use serde_json::Value;

use super::Call;
use super::draft::Draft;
use crate::apply::{Managers, Subject, Writing, is_reset, same_but_times};
use crate::clock::now;

const MANAGED_FIELDS: &str = "managedFields";

/// Returns the `managedFields` that a client has sent; a write to a subresource cannot set them.
pub(super) fn sent(call: &Call<'_>, body: &Value) -> Option<Value> {
    match call.subresource {
        None => body.get("metadata")?.get(MANAGED_FIELDS).filter(|fields| !fields.is_null()).cloned(),
        Some(_) => None,
    }
}

/// Returns the managers of an object; none if it is not tracked. Managed fields that cannot be decoded are
/// logged and discarded.
pub(super) fn managers_of(object: &Draft) -> Managers {
    Managers::read(object.meta(MANAGED_FIELDS)).unwrap_or_else(|error| {
        tracing::warn!(%error, "failed to decode managed fields; ignoring them");
        Managers::default()
    })
}

/// Sets the managers of an object.
pub(super) fn set_managers(object: &mut Draft, managers: &Managers) {
    object.set_meta(MANAGED_FIELDS, managers.json());
}

/// Updates the managers of a tracked object that is replaced by `new`, which has its defaults.
pub(super) fn track(call: &Call<'_>, old: &Draft, new: &mut Draft, sent: Option<&Value>, manager: &str) {
    if old.meta(MANAGED_FIELDS).is_none() && sent.is_none() {
        return;
    }
    let managers = if is_reset(sent) {
        Managers::default()
    } else {
        let theirs = sent.and_then(|sent| Managers::read(Some(sent)).ok());
        theirs.filter(|theirs| !theirs.is_empty()).unwrap_or_else(|| managers_of(old))
    };
    let (before, after) = (shown(call, old), shown(call, new));
    let managers = subject(call).update(&before, &after, managers, Writing { manager, now: now() });
    set_managers(new, &managers);
}

/// Keeps the times of the managers if nothing else has changed.
pub(super) fn keep_times(old: &Draft, new: &mut Draft) {
    let (Some(before), Some(after)) = (old.meta(MANAGED_FIELDS), new.meta(MANAGED_FIELDS)) else { return };
    if before == after || !same_but_times(before, after) {
        return;
    }
    let mut kept = new.clone();
    kept.set_meta(MANAGED_FIELDS, Some(before.clone()));
    if kept == *old {
        *new = kept;
    }
}

/// Returns the object in the version of the request, without its managers.
pub(super) fn shown(call: &Call<'_>, object: &Draft) -> Value {
    let mut shown = object.typed(call.resource);
    if let Some(Value::Object(metadata)) = shown.get_mut("metadata") {
        metadata.remove(MANAGED_FIELDS);
    }
    shown
}

/// Returns the subject for the resource.
pub(super) fn subject(call: &Call<'_>) -> Subject {
    let resource = call.resource;
    let reset = resource.rules().reset_fields(call.subresource, resource.has_status());
    let types = resource.custom.as_ref().map(|custom| custom.types().clone());
    Subject::new(resource.group_version_kind(), call.subresource, reset).defined_by(types)
}
