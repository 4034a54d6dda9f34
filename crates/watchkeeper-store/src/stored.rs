//! Stored objects: one version of an object, as written.

use watchkeeper_core::{Encoded, Object, ObjectKey, ObjectMeta, ObjectMetaBuilder};

use super::Revision;

/// One version of an object. Immutable.
///
/// `store.T2`: the body, the metadata and [`modified`](Self::modified) carry the same revision.
#[derive(Debug, PartialEq, Eq)]
pub struct Stored {
    object: Object,
    created: Revision,
    modified: Revision,
    /// Offset in the body of the digits of `modified`.
    version_at: usize,
}

impl Stored {
    /// Inserts the digits of a revision into the body between `before` and `rest`, and its number into a copy of the
    /// metadata.
    pub(super) fn assemble(
        metadata: &ObjectMeta,
        (before, rest): (&[u8], &[u8]),
        created: Revision,
        modified: Revision,
    ) -> Self {
        let digits = modified.to_string();
        let mut body = Vec::with_capacity(before.len() + digits.len() + rest.len()); // `encoded.E2`
        body.extend_from_slice(before);
        body.extend_from_slice(digits.as_bytes());
        body.extend_from_slice(rest);
        let object = Object { metadata: metadata_at(metadata, &digits), encoded: Encoded::json(body) };
        Self { object, created, modified, version_at: before.len() }
    }

    /// Returns the metadata and the body. The body is JSON without `apiVersion` and `kind`.
    pub fn object(&self) -> &Object {
        &self.object
    }

    /// Returns the key of the object.
    pub fn key(&self) -> &ObjectKey {
        self.object.metadata.key()
    }

    /// Returns the revision at which the object was created.
    pub fn created(&self) -> Revision {
        self.created
    }

    /// Returns the revision of the last write.
    pub fn modified(&self) -> Revision {
        self.modified
    }

    /// Returns a copy of this state with another revision, as watchers receive it when the object is deleted.
    pub fn under(&self, revision: Revision) -> Self {
        Self::assemble(&self.object.metadata, self.around_version(), self.created, revision)
    }

    /// Returns the body before and after the digits of its revision.
    pub(super) fn around_version(&self) -> (&[u8], &[u8]) {
        let (before, rest) = self.object.encoded.body.split_at(self.version_at);
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        (before, &rest[digits..])
    }

    /// Returns the size in bytes, as counted by the history's limits.
    pub(super) fn heap_bytes(&self) -> usize {
        size_of::<Self>() + self.object.metadata.heap_bytes() + self.object.encoded.body.len()
    }
}

/// Returns a copy of the metadata with another version.
fn metadata_at(metadata: &ObjectMeta, version: &str) -> ObjectMeta {
    let mut copy = ObjectMetaBuilder::default();
    let key = metadata.key();
    copy.namespace(key.namespace().unwrap_or_default()).name(key.name()).version(version).uid(metadata.uid());
    copy.generation(metadata.generation())
        .created(metadata.creation_timestamp())
        .deleted(metadata.deletion_timestamp());
    for (name, value) in metadata.labels() {
        copy.label(name, value);
    }
    for (name, value) in metadata.annotations() {
        copy.annotation(name, value);
    }
    for owner in metadata.owner_references() {
        copy.owner(&owner);
    }
    copy.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Unversioned;

    #[test]
    fn body_metadata_and_revision_agree_and_nothing_else_changes_with_the_revision() {
        let body = r#"{"metadata":{"name":"a","namespace":"n","uid":"u","resourceVersion":"7","generation":2,
            "creationTimestamp":"2026-11-15T10:00:00Z","labels":{"app":"web"},"annotations":{"note":"x"},
            "ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"p","uid":"v","controller":true}]},"spec":{}}"#;
        let value = Unversioned::from_json(body.as_bytes()).unwrap();
        let nine = value.commit(Revision::new(9), Revision::new(9));
        let thousand = nine.under(Revision::new(1000));
        for (stored, number) in [(&nine, 9), (&thousand, 1000)] {
            let expected = body.replace(r#":"7""#, &format!(r#":"{number}""#));
            assert_eq!(stored.object().encoded, Encoded::json(expected.into_bytes()));
            assert_eq!(stored.object().metadata.resource_version(), &number.into());
            assert_eq!((stored.modified().get(), stored.created().get()), (number, 9));
        }
        assert_eq!(thousand.under(Revision::new(9)), nine);
        assert_eq!(thousand.object().metadata.annotation("note"), Some("x"));
        assert_eq!(thousand.object().metadata.owner_references().len(), 1);
    }
}
