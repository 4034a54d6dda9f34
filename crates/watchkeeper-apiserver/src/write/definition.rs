//! Definition: what the server writes into CustomResourceDefinitions, and what these allow.

use serde_json::{Value, json};
use watchkeeper_core::{Quoted, Status};

use super::Call;
use super::draft::Draft;
use crate::clock::now;
use crate::custom::{CLEANUP, terminating};

/// Notes the version in which objects are stored among those in which some may be.
pub(super) fn note_stored_version(definition: &mut Draft) {
    let versions = definition.part("spec").and_then(|spec| spec.get("versions")?.as_array());
    let stored = versions.into_iter().flatten().find(|version| version["storage"] == true);
    let Some(name) = stored.map(|version| version["name"].clone()) else { return };
    let status = definition.part_mut("status");
    match status.get_mut("storedVersions") {
        Some(Value::Array(known)) if known.contains(&name) => {}
        Some(Value::Array(known)) => known.push(name),
        _ => drop(status.insert("storedVersions".to_owned(), json!([name]))),
    }
}

/// Has a definition held until its objects are gone.
pub(super) fn terminate(definition: &mut Draft) {
    definition.set_meta("deletionTimestamp", Some(now().to_string().into()));
    let mut finalizers: Vec<Value> = definition.finalizers().into_iter().map(Into::into).collect();
    if !finalizers.iter().any(|finalizer| finalizer == CLEANUP) {
        finalizers.push(CLEANUP.into());
    }
    definition.set_meta("finalizers", Some(finalizers.into()));
    let mut whole = json!({"status": definition.part("status")});
    terminating(&mut whole, now());
    definition.set_part("status", Some(whole["status"].take()));
}

/// What whoever gives a custom object a finalizer is warned of that does not say whose it is.
pub(super) fn finalizer_warnings(call: &Call<'_>, old: Option<&Draft>, new: &Draft) -> Vec<String> {
    if call.resource.custom.is_none() {
        return Vec::new();
    }
    let known = old.map(Draft::finalizers).unwrap_or_default();
    let mut added = new.finalizers();
    added.retain(|finalizer| !known.contains(finalizer));
    added.sort_unstable();
    added.dedup();
    let standard = ["kubernetes", "orphan", "foregroundDeletion"];
    added.retain(|finalizer| !finalizer.contains('/') && !standard.contains(finalizer));
    let warning = |finalizer: &str| {
        let path = if finalizer.contains('.') { " including a path (/)" } else { "" };
        let finalizer = Quoted(finalizer);
        format!(
            "metadata.finalizers: {finalizer}: prefer a domain-qualified finalizer name{path} to avoid accidental \
             conflicts with other finalizer writers"
        )
    };
    added.into_iter().map(warning).collect()
}

/// 403 where the definition of the kind is on its way out.
pub(super) fn check_serving(call: &Call<'_>, name: &str) -> Result<(), Status> {
    let why = "create not allowed while custom resource definition is terminating";
    match &call.resource.custom {
        Some(custom) if custom.is_terminating() => {
            Err(Status::forbidden(Some(&call.resource.group_resource()), name, why))
        }
        _ => Ok(()),
    }
}
