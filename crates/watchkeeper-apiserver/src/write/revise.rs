//! Revise: completes and validates an object that replaces another.

use crate::registry::Resource;
use crate::validate;
use watchkeeper_core::{CauseType, GroupKind, Quoted, Status};

use super::Call;
use super::draft::Draft;
use super::refusal::{MODIFIED, check, fault, invalid_value, unexplained};
use crate::rules::Update;

/// Returns whether objects of this resource are updated at this endpoint.
pub(super) fn is_endpoint(resource: &Resource, subresource: Option<&str>) -> bool {
    let Some(name) = subresource else { return true };
    resource.subresource(name).is_some()
        && matches!(name, "status" | "finalize" | "ephemeralcontainers" | "resize" | "approval")
}

/// 400 if the object is not the one of the path.
pub(super) fn check_path(call: &Call<'_>, new: &Draft) -> Result<(), Status> {
    let (path, name) = (call.name.unwrap_or_default(), new.text("name"));
    if name.is_empty() {
        return Err(Status::bad_request(format!(
            "the name of the object ({path} based on URL) was undeterminable: name must be provided"
        )));
    }
    if name != path {
        return Err(Status::bad_request(format!(
            "the name of the object ({name}) does not match the name on the URL ({path})"
        )));
    }
    match (call.namespace.unwrap_or_default(), new.text("namespace")) {
        (_, "") | ("", _) => Ok(()),
        (path, given) if path == given => Ok(()),
        _ => Err(Status::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        )),
    }
}

/// 409 if the update is for another object, or for another version of it.
pub(super) fn check_versions(call: &Call<'_>, old: &Draft, new: &Draft, dry_run: bool) -> Result<(), Status> {
    let (uid, version) = (new.text("uid"), new.text("resourceVersion"));
    if !uid.is_empty() && uid != old.text("uid") {
        return Err(wrong_uid(call, uid, old.text("uid"), dry_run));
    }
    if version.is_empty() || version == old.text("resourceVersion") || parse_version(version)? == 0 {
        return Ok(());
    }
    Err(call.conflict(MODIFIED))
}

/// 500 if the resource version is not a number.
pub(super) fn parse_version(text: &str) -> Result<u64, Status> {
    let invalid = |_| unexplained(format!("strconv.ParseUint: parsing {}: invalid syntax", Quoted(text)));
    text.parse::<u64>().map_err(invalid)
}

/// 409: the object with this name has another uid.
pub(super) fn wrong_uid(call: &Call<'_>, given: &str, uid: &str, dry_run: bool) -> Status {
    let prefix = call.resource.rules().storage_prefix(call.resource);
    // A dry run does not reach the storage of kube-apiserver.
    let root = if dry_run { "" } else { "/registry" };
    let place = [Some(root), Some(&*prefix), call.namespace, call.name];
    let place: Vec<&str> = place.into_iter().flatten().collect();
    call.conflict(format_args!(
        "StorageError: invalid object, Code: 4, Key: {}, ResourceVersion: 0, AdditionalErrorMsg: \
         Precondition failed: UID in precondition: {given}, UID in object meta: {uid}",
        place.join("/"),
    ))
}

/// Completes and validates `new`: parts that the endpoint does not write are taken from `old`.
pub(super) fn revise(call: &Call<'_>, old: &Draft, new: &mut Draft, dry_run: bool) -> Result<(), Status> {
    let (resource, rules) = (call.resource, call.resource.rules());
    check_versions(call, old, new, dry_run)?;
    if matches!(new.text("resourceVersion"), "" | "0") && !rules.allow_unconditional_update() {
        let message = "Invalid value: 0: must be specified for an update";
        let fault = fault(CauseType::FieldValueInvalid, "metadata.resourceVersion", message);
        // Here, and only here, kube-apiserver has the resource in place of the kind.
        let kind = GroupKind { group: resource.group.to_string(), kind: resource.name.to_string() };
        return Err(Status::invalid(&kind, old.text("name"), vec![fault]));
    }
    let mut faults = Vec::new();
    if let Some(given) =
        Some(new.text("deletionTimestamp")).filter(|given| !given.is_empty() && !old.is_being_deleted())
    {
        faults.push(invalid_value("metadata.deletionTimestamp", given, "field is immutable"));
    }
    keep_parts(call, old, new);
    keep_metadata(call, old, new);
    rules.prepare_for_update(call.subresource, old, new);
    if call.subresource == Some("resize") {
        faults.extend(rules.validate_resize(old, new));
    }
    faults.extend(validate::changed_object(resource, call.subresource, old.fields(), new.fields()));
    check(resource, old.text("name"), faults)?;
    let update = Update { resource, subresource: call.subresource };
    if resource.counts_generation && rules.is_new_generation(update, old, new) {
        new.set_meta("generation", Some((old.generation().saturating_add(1)).into()));
    }
    Ok(())
}

fn keep_parts(call: &Call<'_>, old: &Draft, new: &mut Draft) {
    match call.subresource {
        Some("status" | "approval") => new.take_all_but("status", old),
        Some("ephemeralcontainers") => keep_but(old, new, "ephemeralContainers"),
        Some("resize") => keep_but(old, new, "containers"),
        _ if call.resource.has_status() => new.set_part("status", old.part("status").cloned()),
        _ => {}
    }
}

/// Takes everything but one field of the spec from `old`.
fn keep_but(old: &Draft, new: &mut Draft, field: &str) {
    let value = new.part("spec").and_then(|spec| spec.get(field)).cloned();
    new.take_all_but("", old);
    new.set_in("spec", field, value);
}

fn keep_metadata(call: &Call<'_>, old: &Draft, new: &mut Draft) {
    let fixed: [&str; 8] = [
        "name",
        "namespace",
        "uid",
        "resourceVersion",
        "creationTimestamp",
        "generation",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
    ];
    let below = call.subresource.map(|name| call.resource.rules().fixed_metadata(name)).unwrap_or_default();
    for name in fixed.iter().chain(below) {
        new.set_meta(name, old.meta(name).cloned());
    }
}

/// Returns whether the update removes an object that is being deleted.
pub(super) fn is_removed(call: &Call<'_>, draft: &Draft) -> bool {
    draft.is_being_deleted() && draft.finalizers().is_empty() && call.resource.rules().is_finished(draft)
}
