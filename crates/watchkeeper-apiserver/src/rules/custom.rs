//! Custom kinds: their rules are in their definition.

use std::borrow::Cow;

use serde_json::{Map, Value};
use watchkeeper_core::{Quoted, StatusCause};

use super::{ALL_METADATA, KindRules, Update};
use crate::apply::Reset;
use crate::registry::Resource;
use crate::validate::faults::Faults;
use crate::validate::field::Object;
use crate::validate::metadata::Finalizers;
use crate::validate::typed;
use crate::write::Draft;

/// The rules of every kind with a definition.
#[derive(Debug)]
pub(super) struct Custom;

impl KindRules for Custom {
    fn finalizer_rule(&self) -> Finalizers {
        Finalizers::Any
    }

    fn storage_prefix<'a>(&self, resource: &'a Resource) -> Cow<'a, str> {
        format!("{}/{}", resource.group, resource.name).into()
    }

    fn allow_unconditional_update(&self) -> bool {
        false
    }

    /// A write to the status changes nothing else.
    fn fixed_metadata(&self, subresource: &str) -> &'static [&'static str] {
        match subresource {
            "status" | "ephemeralcontainers" | "resize" => ALL_METADATA,
            _ => &[],
        }
    }

    /// A status that is not a subresource counts like the rest.
    fn is_new_generation(&self, call: Update<'_>, old: &Draft, new: &Draft) -> bool {
        if call.resource.has_status() {
            !old.desired_state().eq(new.desired_state())
        } else {
            !old.content().eq(new.content())
        }
    }

    fn reset_fields(&self, subresource: Option<&str>, has_status: bool) -> Reset {
        Reset::outside_status(subresource, has_status)
    }

    fn validate_update(&self, _old: Object<'_>, _new: Object<'_>, _faults: &mut Faults) {}

    fn validates_metadata_of_subresources(&self) -> bool {
        false
    }

    fn validate_schema(
        &self,
        resource: &Resource,
        subresource: Option<&str>,
        old: Option<&Map<String, Value>>,
        new: &Map<String, Value>,
    ) -> Vec<StatusCause> {
        let Some(custom) = &resource.custom else { return Vec::new() };
        let (old, new) = (old.map(|old| typed(resource, old)), typed(resource, new));
        match (subresource, old) {
            (Some(_), Some(old)) => custom.validate_status(&new, &old),
            (_, old) => custom.validate(&new, old.as_ref()),
        }
    }
}

/// Returns the warnings for finalizers that an update adds to a custom object without naming their owner.
pub(crate) fn finalizer_warnings(resource: &Resource, old: Option<&Draft>, new: &Draft) -> Vec<String> {
    if resource.custom.is_none() {
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
