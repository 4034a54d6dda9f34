//! Selections: the objects of a list or a watch.

use crate::http::ListOptions;
use crate::store::Stored;
use watchkeeper_core::{FieldSelector, LabelSelector, Status};

use super::Scope;

/// Filters the objects of a list or a watch by name, labels and fields.
#[derive(Debug, Clone)]
pub struct Selection {
    scope: Scope,
    labels: LabelSelector,
    fields: FieldSelector,
    /// Whether all fields are in the metadata, so that bodies need not be parsed.
    metadata_only: bool,
}

impl Selection {
    /// Creates the selection of a request.
    ///
    /// # Errors
    /// Returns 400 if the resource does not support a field.
    pub fn new(scope: &Scope, options: &ListOptions) -> Result<Self, Status> {
        let fields = options.field_selector.clone();
        scope.resource.check_fields(&fields).map_err(|error| Status::bad_request(error.to_string()))?;
        let own = |label: &str| scope.resource.fields.own.iter().any(|field| field.label == label);
        let metadata_only = !fields.requirements().iter().any(|it| own(it.field()));
        Ok(Self { scope: scope.clone(), labels: options.label_selector.clone(), fields, metadata_only })
    }

    /// Returns whether everything in the namespace is selected.
    pub fn is_everything(&self) -> bool {
        self.labels.is_everything() && self.fields.is_everything() && self.scope.name.is_none()
    }

    /// Returns whether an object is selected.
    pub fn matches(&self, stored: &Stored) -> bool {
        let metadata = &stored.object().metadata;
        let key = metadata.key();
        if self.scope.name.as_deref().is_some_and(|name| name != key.name())
            || !self.labels.matches(|label| metadata.label(label))
        {
            return false;
        }
        if self.metadata_only {
            return self.fields.matches(|field| match field {
                "metadata.name" => Some(key.name()),
                "metadata.namespace" => Some(key.namespace().unwrap_or_default()),
                _ => None,
            });
        }
        match self.scope.view.value(stored) {
            Ok(value) => self.scope.resource.selects(&self.fields, &value),
            Err(_) => true, // not omitted in silence: encoding it fails too, and reports why
        }
    }
}
