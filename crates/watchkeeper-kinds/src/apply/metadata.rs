//! Metadata: what most who apply say of it.

use super::meta::v1::ObjectMetaApply;

impl ObjectMetaApply {
    /// With one more label.
    #[must_use]
    pub fn with_label(mut self, key: &str, value: &str) -> Self {
        self.labels.get_or_insert_default().insert(key.to_owned(), value.to_owned());
        self
    }

    /// With one more annotation.
    #[must_use]
    pub fn with_annotation(mut self, key: &str, value: &str) -> Self {
        self.annotations.get_or_insert_default().insert(key.to_owned(), value.to_owned());
        self
    }
}
