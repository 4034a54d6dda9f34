//! Builder methods for applied metadata.

use super::meta::v1::ObjectMetaApply;

impl ObjectMetaApply {
    /// Adds a label.
    #[must_use]
    pub fn with_label(mut self, key: &str, value: &str) -> Self {
        self.labels.get_or_insert_default().insert(key.to_owned(), value.to_owned());
        self
    }

    /// Adds an annotation.
    #[must_use]
    pub fn with_annotation(mut self, key: &str, value: &str) -> Self {
        self.annotations.get_or_insert_default().insert(key.to_owned(), value.to_owned());
        self
    }
}
