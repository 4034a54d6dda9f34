//! Reset fields: the fields that an endpoint does not write, so that a write there does not own them.

use super::field_set::FieldSet;

/// The fields that an endpoint writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reset {
    /// All but these and their descendants.
    But(FieldSet),
    /// Only these; `*` is any item.
    Only(&'static [&'static [&'static str]]),
}

impl Reset {
    /// Returns all fields but those at these paths.
    pub(crate) fn fields(paths: &[&[&str]]) -> Self {
        Self::But(FieldSet::of_fields(paths))
    }

    /// Returns only the status at the `status` endpoint, and everything else elsewhere.
    pub(crate) fn outside_status(subresource: Option<&str>, has_status: bool) -> Self {
        match subresource {
            Some("status") => Self::fields(&[&["metadata"], &["spec"]]),
            _ if has_status => Self::fields(&[&["status"]]),
            _ => Self::fields(&[]),
        }
    }

    /// Returns those of `fields` that the endpoint writes.
    pub(super) fn filter(&self, fields: &FieldSet) -> FieldSet {
        match self {
            Self::But(reset) => fields.without(reset),
            Self::Only(patterns) => fields.along(patterns),
        }
    }
}
