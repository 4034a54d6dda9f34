//! Stored objects: what is under a key after one write.

use watchkeeper_core::{Encoded, Head, HeadBuilder, Object, ObjectKey};

use super::Revision;

/// One version of an object. It never changes.
///
/// T2: the body, the head and [`modified`](Self::modified) say the same revision.
#[derive(Debug, PartialEq, Eq)]
pub struct Stored {
    object: Object,
    created: Revision,
    modified: Revision,
    /// Where in the body the digits of `modified` stand.
    version_at: usize,
}

impl Stored {
    /// Puts the digits of a revision into a body at `version_at`, and its number into a copy of the
    /// head. `rest` is the body from there on, less the digits that it had.
    pub(super) fn assemble(
        head: &Head,
        (before, rest): (&[u8], &[u8]),
        created: Revision,
        modified: Revision,
    ) -> Self {
        let digits = modified.to_string();
        let mut body = Vec::with_capacity(before.len() + digits.len() + rest.len()); // E2 of `Encoded`
        body.extend_from_slice(before);
        body.extend_from_slice(digits.as_bytes());
        body.extend_from_slice(rest);
        let object = Object { head: head_under(head, &digits), encoded: Encoded::json(body) };
        Self { object, created, modified, version_at: before.len() }
    }

    /// Head and body. The body is JSON without `apiVersion` and `kind`.
    pub fn object(&self) -> &Object {
        &self.object
    }

    /// Which object.
    pub fn key(&self) -> &ObjectKey {
        self.object.head.key()
    }

    /// The revision at which it came to be.
    pub fn created(&self) -> Revision {
        self.created
    }

    /// The revision at which it was last written.
    pub fn modified(&self) -> Revision {
        self.modified
    }

    /// The same state under another revision: what a watcher is told when the object goes.
    pub fn under(&self, revision: Revision) -> Self {
        Self::assemble(&self.object.head, self.around_version(), self.created, revision)
    }

    /// The body before and after the digits of its revision.
    pub(super) fn around_version(&self) -> (&[u8], &[u8]) {
        let (before, rest) = self.object.encoded.body.split_at(self.version_at);
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        (before, &rest[digits..])
    }

    /// The bytes that it holds: what a bound counts.
    pub(super) fn heap_bytes(&self) -> usize {
        size_of::<Self>() + self.object.head.heap_bytes() + self.object.encoded.body.len()
    }
}

/// A copy of a head with another version.
fn head_under(head: &Head, version: &str) -> Head {
    let mut copy = HeadBuilder::default();
    let key = head.key();
    copy.namespace(key.namespace().unwrap_or_default()).name(key.name()).version(version).uid(head.uid());
    copy.generation(head.generation()).created(head.created()).deleted(head.deleted());
    for (name, value) in head.labels() {
        copy.label(name, value);
    }
    for (name, value) in head.annotations() {
        copy.annotation(name, value);
    }
    for owner in head.owners() {
        copy.owner(&owner);
    }
    copy.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Unversioned;

    #[test]
    fn body_head_and_revision_agree_and_nothing_else_changes_with_the_revision() {
        let body = r#"{"metadata":{"name":"a","namespace":"n","uid":"u","resourceVersion":"7","generation":2,
            "creationTimestamp":"2026-11-15T10:00:00Z","labels":{"app":"web"},"annotations":{"note":"x"},
            "ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"p","uid":"v","controller":true}]},"spec":{}}"#;
        let value = Unversioned::from_json(body.as_bytes()).unwrap();
        let nine = value.commit(Revision::new(9), Revision::new(9));
        let thousand = nine.under(Revision::new(1000));
        for (stored, number) in [(&nine, 9), (&thousand, 1000)] {
            let expected = body.replace(r#":"7""#, &format!(r#":"{number}""#));
            assert_eq!(stored.object().encoded, Encoded::json(expected.into_bytes()));
            assert_eq!(stored.object().head.version(), &number.into());
            assert_eq!((stored.modified().get(), stored.created().get()), (number, 9));
        }
        assert_eq!(thousand.under(Revision::new(9)), nine);
        assert_eq!(thousand.object().head.annotation("note"), Some("x"));
        assert_eq!(thousand.object().head.owners().len(), 1);
    }
}
