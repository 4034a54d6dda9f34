//! Unversioned objects: complete except for the revision, which is only known at commit.

use watchkeeper_core::{ObjectKey, ObjectMeta, ObjectMetaBuilder};
use watchkeeper_wire::{Annotations, Malformed, json};

use super::version_slot::version_value;
use super::{Revision, Stored};

/// An object to be written. The commit inserts the revision into the body and the metadata.
///
/// `unversioned.U1`: the digits of the revision go between two quotes.
#[derive(Debug, Clone)]
pub struct Unversioned {
    /// Its version is ignored.
    metadata: ObjectMeta,
    body: Vec<u8>,
    /// `unversioned.U1`: `body[at - 1]` and `body[at]` are quotes.
    at: usize,
}

/// Why an [`Unversioned`] cannot be created.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UnversionedError {
    /// The body is not a JSON object, or its metadata cannot be read.
    #[error("invalid metadata in the object")]
    Malformed(#[from] Malformed),
    /// The offset is not that of the closing quote of an empty string: correct it, or use [`Unversioned::from_json`].
    #[error("byte {at} of the object is not inside an empty string")]
    NotEmptyString {
        /// The offset passed, or the one at which the search ended.
        at: usize,
    },
}

impl Unversioned {
    /// Creates an object from JSON without `apiVersion` and `kind`, whose `metadata.resourceVersion` is an empty
    /// string with its closing quote at `at`. The version in `metadata` is ignored.
    ///
    /// # Errors
    /// Returns [`UnversionedError::NotEmptyString`] if `at` is not between two quotes.
    pub fn new(metadata: ObjectMeta, body: Vec<u8>, at: usize) -> Result<Self, UnversionedError> {
        match at.checked_sub(1).and_then(|open| body.get(open..=at)) {
            Some(br#""""#) => Ok(Self { metadata, body, at }), // unversioned.U1
            _ => Err(UnversionedError::NotEmptyString { at }),
        }
    }

    /// Creates an object from JSON without `apiVersion` and `kind`. Replaces `metadata.resourceVersion`, or inserts
    /// it as the first member of the metadata. The metadata, annotations included, is read from the body.
    ///
    /// # Errors
    /// Returns [`UnversionedError::Malformed`] if the body is not a JSON object or its metadata cannot be read, and
    /// [`UnversionedError::NotEmptyString`] if the key `metadata` is written with escapes.
    pub fn from_json(body: &[u8]) -> Result<Self, UnversionedError> {
        let metadata = json::read_object_meta(body, Annotations::Keep, &mut ObjectMetaBuilder::default())?;
        let place = version_value(body).ok_or(UnversionedError::NotEmptyString { at: body.len() })?;
        let (before, after) = (&body[..place.value.start], &body[place.value.end..]);
        let parts = [before, place.prefix.as_bytes(), br#""""#, place.suffix.as_bytes(), after];
        let at = before.len() + place.prefix.len() + 1;
        Self::new(metadata, parts.concat(), at)
    }

    /// Returns the key of the object.
    pub fn key(&self) -> &ObjectKey {
        self.metadata.key()
    }

    /// Returns the body before and after the position of the revision.
    pub fn around_version(&self) -> (&[u8], &[u8]) {
        self.body.split_at(self.at)
    }

    /// Returns whether writing this object would change nothing but the revision.
    pub fn is_same_as(&self, stored: &Stored) -> bool {
        self.around_version() == stored.around_version()
    }

    /// Returns the object as stored at the given revisions.
    pub fn commit(&self, created: Revision, modified: Revision) -> Stored {
        Stored::assemble(&self.metadata, self.around_version(), created, modified)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn committed(body: &str) -> String {
        let stored =
            Unversioned::from_json(body.as_bytes()).unwrap().commit(Revision::new(42), Revision::new(42));
        assert_eq!(stored.object().metadata.resource_version(), &42.into());
        String::from_utf8(stored.object().encoded.body.to_vec()).unwrap()
    }

    #[test]
    fn a_version_is_replaced_where_it_stands_and_put_first_where_there_is_none() {
        let table = [
            (r#"{"metadata":{"name":"a"}}"#, r#"{"metadata":{"resourceVersion":"42","name":"a"}}"#),
            (r#"{"metadata":{}}"#, r#"{"metadata":{"resourceVersion":"42"}}"#),
            (r#"{"metadata":{ } }"#, r#"{"metadata":{"resourceVersion":"42" } }"#),
            (
                r#"{"spec":{"metadata":{"resourceVersion":"1"}},"metadata":{"name":"a","resourceVersion":"7"}}"#,
                r#"{"spec":{"metadata":{"resourceVersion":"1"}},"metadata":{"name":"a","resourceVersion":"42"}}"#,
            ),
            (
                r#"{"metadata" : {"resourceVersion" : null, "name":"a\"}"}}"#,
                r#"{"metadata" : {"resourceVersion" : "42", "name":"a\"}"}}"#,
            ),
            (
                r#"{"data":{"k":"\"metadata\":{"},"metadata":{"labels":{"resourceVersion":"x"},"resourceVersion":""}}"#,
                r#"{"data":{"k":"\"metadata\":{"},"metadata":{"labels":{"resourceVersion":"x"},"resourceVersion":"42"}}"#,
            ),
        ];
        for (body, expected) in table {
            assert_eq!(committed(body), expected);
        }
    }

    #[test]
    fn a_body_without_readable_metadata_is_refused() {
        for body in
            ["", "[]", "{}", r#"{"metadata":null}"#, r#"{"metadata":{"name":1}}"#, r#"{"metadata":{}"#]
        {
            assert!(
                matches!(Unversioned::from_json(body.as_bytes()), Err(UnversionedError::Malformed(_))),
                "{body}"
            );
        }
    }

    #[test]
    fn a_place_that_is_not_between_two_quotes_is_refused() {
        let body = br#"{"metadata":{"resourceVersion":""}}"#;
        let metadata = ObjectMetaBuilder::default().finish();
        for at in (0..body.len() + 2).chain([usize::MAX]) {
            let value = Unversioned::new(metadata.clone(), body.to_vec(), at);
            assert_eq!(value.is_ok(), at == 32, "{at}");
        }
    }

    #[test]
    fn only_the_version_may_differ_between_objects_that_are_the_same() {
        let value = |text: &str| Unversioned::from_json(text.as_bytes()).unwrap();
        let stored = value(r#"{"metadata":{"resourceVersion":"1","name":"a"}}"#)
            .commit(Revision::new(12), Revision::new(12));
        assert!(value(r#"{"metadata":{"resourceVersion":"345","name":"a"}}"#).is_same_as(&stored));
        assert!(value(r#"{"metadata":{"name":"a"}}"#).is_same_as(&stored));
        assert!(!value(r#"{"metadata":{"name":"a"},"data":{}}"#).is_same_as(&stored));
    }
}
