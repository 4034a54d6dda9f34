//! CustomResourceDefinitions.

use serde_json::{Map, Value, json};
use std::borrow::Cow;
use watchkeeper_core::StatusCause;

use crate::apply::Reset;
use crate::clock::now;
use crate::custom::schema::{check_definition, check_definition_update};
use crate::custom::{CLEANUP, terminating};
use crate::registry::Resource;
use crate::rules::KindRules;
use crate::validate::typed;
use crate::write::{Draft, empty_status};

#[derive(Debug)]
pub(in crate::rules) struct Definitions;

impl KindRules for Definitions {
    fn storage_prefix<'a>(&self, resource: &'a Resource) -> Cow<'a, str> {
        format!("{}/{}", resource.group, resource.name).into()
    }

    fn prepare_for_create(&self, resource: &Resource, new: &mut Draft) {
        new.set_part("status", empty_status(resource));
        note_stored_version(new);
    }

    fn allow_unconditional_update(&self) -> bool {
        false
    }

    fn prepare_for_update(&self, subresource: Option<&str>, _old: &Draft, new: &mut Draft) {
        if subresource.is_none() {
            note_stored_version(new);
        }
    }

    fn reset_fields(&self, subresource: Option<&str>, has_status: bool) -> Reset {
        Reset::outside_status(subresource, has_status)
    }

    /// A definition is held until its objects are deleted.
    fn terminate(&self, old: &Draft, new: &mut Draft) -> bool {
        if old.is_being_deleted() {
            return false;
        }
        new.set_meta("deletionTimestamp", Some(now().to_string().into()));
        let mut finalizers: Vec<Value> = new.finalizers().into_iter().map(Into::into).collect();
        if !finalizers.iter().any(|finalizer| finalizer == CLEANUP) {
            finalizers.push(CLEANUP.into());
        }
        new.set_meta("finalizers", Some(finalizers.into()));
        let mut whole = json!({"status": new.part("status")});
        terminating(&mut whole, now());
        new.set_part("status", Some(whole["status"].take()));
        true
    }

    fn validate_schema(
        &self,
        resource: &Resource,
        subresource: Option<&str>,
        old: Option<&Map<String, Value>>,
        new: &Map<String, Value>,
    ) -> Vec<StatusCause> {
        match (subresource, old) {
            (Some(_), _) => Vec::new(),
            (None, None) => check_definition(&typed(resource, new)),
            (None, Some(old)) => check_definition_update(&typed(resource, new), &typed(resource, old)),
        }
    }

    fn defines_resources(&self) -> bool {
        true
    }
}

/// Adds the storage version to `status.storedVersions`.
fn note_stored_version(definition: &mut Draft) {
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
