//! Options of a client that requests a table.

use std::str::FromStr;

use watchkeeper_core::Quoted;

/// The part of the object that a row carries: `includeObject` in the query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum IncludeObject {
    /// Nothing.
    None,
    /// The metadata of the object. This is the default.
    #[default]
    Metadata,
    /// The whole object.
    Object,
}

/// An invalid `includeObject`: a 400 of reason `BadRequest` with this message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "Unable to convert to Table as requested: includeObject: Invalid value: {}: \
     must be 'Metadata', 'Object', 'None', or empty",
    Quoted(text)
)]
pub struct IncludeObjectError {
    text: String,
}

impl FromStr for IncludeObject {
    type Err = IncludeObjectError;

    fn from_str(text: &str) -> Result<Self, IncludeObjectError> {
        match text {
            "None" => Ok(Self::None),
            "Metadata" | "" => Ok(Self::Metadata),
            "Object" => Ok(Self::Object),
            _ => Err(IncludeObjectError { text: text.to_owned() }),
        }
    }
}

/// The requested version of group `meta.k8s.io`. The versions differ only in name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum TableVersion {
    /// `meta.k8s.io/v1`.
    #[default]
    V1,
    /// `meta.k8s.io/v1beta1`.
    V1Beta1,
}

impl TableVersion {
    pub(super) fn api_version(self) -> &'static str {
        match self {
            Self::V1 => "meta.k8s.io/v1",
            Self::V1Beta1 => "meta.k8s.io/v1beta1",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn include_object_accepts_only_known_values() {
        assert_eq!("".parse(), Ok(IncludeObject::Metadata));
        assert_eq!("None".parse(), Ok(IncludeObject::None));
        assert_eq!(
            "foo".parse::<IncludeObject>().unwrap_err().to_string(),
            "Unable to convert to Table as requested: includeObject: Invalid value: \"foo\": \
             must be 'Metadata', 'Object', 'None', or empty"
        );
    }
}
