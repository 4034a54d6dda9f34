//! Object metadata that is available without decoding the object.
//!
//! Metadata is parsed once, when the object arrives, and kept as long as the object. It is compact:
//! all text is in one allocation, and the parts are spans of it.
//!
//! - `object_meta.H1`: every span lies within `text`, on character boundaries. Only [`ObjectMetaBuilder`] creates
//!   spans, from whole strings that it has just appended.

use std::fmt;

use crate::{ObjectKey, ResourceVersion, Timestamp};

/// The metadata of an object: key, version, uid, timestamps, labels, annotations and owners.
#[derive(Clone)]
pub struct ObjectMeta {
    key: ObjectKey,
    version: ResourceVersion,
    generation: i64,
    created: Option<Timestamp>,
    deleted: Option<Timestamp>,
    text: Box<str>,
    uid: Span,
    /// Labels, then annotations.
    pairs: Box<[(Span, Span)]>,
    labels: u32,
    owners: Box<[OwnerSpans]>,
}

/// A range of `ObjectMeta::text`.
#[derive(Debug, Clone, Copy, Default)]
struct Span {
    start: u32,
    end: u32,
}

#[derive(Debug, Clone, Copy)]
struct OwnerSpans {
    api_version: Span,
    kind: Span,
    name: Span,
    uid: Span,
    controller: bool,
}

/// A reference to an owner of the object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OwnerReference<'a> {
    /// `apps/v1`.
    pub api_version: &'a str,
    /// `ReplicaSet`.
    pub kind: &'a str,
    /// The owner's name. The owner is in the same namespace, or cluster-scoped.
    pub name: &'a str,
    /// The owner's uid.
    pub uid: &'a str,
    /// Whether this owner is the managing controller.
    pub controller: bool,
}

impl ObjectMeta {
    /// Returns the object's key.
    pub fn key(&self) -> &ObjectKey {
        &self.key
    }

    /// Returns the resource version.
    pub fn resource_version(&self) -> &ResourceVersion {
        &self.version
    }

    /// Returns the uid. An object that is deleted and created again has a new one.
    pub fn uid(&self) -> &str {
        self.part(self.uid)
    }

    /// Returns the generation, which counts changes of the desired state; 0 if the kind has none.
    pub fn generation(&self) -> i64 {
        self.generation
    }

    /// Returns the creation timestamp.
    pub fn creation_timestamp(&self) -> Option<Timestamp> {
        self.created
    }

    /// Returns the deletion timestamp, if the object is being deleted.
    pub fn deletion_timestamp(&self) -> Option<Timestamp> {
        self.deleted
    }

    /// Returns the labels, in the order of the body.
    pub fn labels(&self) -> impl ExactSizeIterator<Item = (&str, &str)> {
        self.pairs[..self.labels as usize].iter().map(|&(key, value)| (self.part(key), self.part(value)))
    }

    /// Returns the value of a label.
    pub fn label(&self, key: &str) -> Option<&str> {
        self.labels().find(|(other, _)| *other == key).map(|(_, value)| value)
    }

    /// Returns the annotations that were kept when the object was read.
    pub fn annotations(&self) -> impl ExactSizeIterator<Item = (&str, &str)> {
        self.pairs[self.labels as usize..].iter().map(|&(key, value)| (self.part(key), self.part(value)))
    }

    /// Returns the value of an annotation.
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.annotations().find(|(other, _)| *other == key).map(|(_, value)| value)
    }

    /// Returns the owner references, in the order of the body.
    pub fn owner_references(&self) -> impl ExactSizeIterator<Item = OwnerReference<'_>> {
        self.owners.iter().map(|owner| OwnerReference {
            api_version: self.part(owner.api_version),
            kind: self.part(owner.kind),
            name: self.part(owner.name),
            uid: self.part(owner.uid),
            controller: owner.controller,
        })
    }

    /// Returns the owner that is the managing controller.
    pub fn controller(&self) -> Option<OwnerReference<'_>> {
        self.owner_references().find(|owner| owner.controller)
    }

    /// Returns the size of this value's heap allocations in bytes, except that of a resource version that is not a number.
    pub fn heap_bytes(&self) -> usize {
        let key = self.key.as_str().len() + 2 * size_of::<usize>();
        key + self.text.len() + size_of_val(&*self.pairs) + size_of_val(&*self.owners)
    }

    fn part(&self, span: Span) -> &str {
        &self.text[span.start as usize..span.end as usize] // object_meta.H1
    }
}

/// Compares each part, labels and owners in their order. The order in which the parts were set does not matter.
impl PartialEq for ObjectMeta {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
            && self.version == other.version
            && self.uid() == other.uid()
            && self.generation == other.generation
            && self.created == other.created
            && self.deleted == other.deleted
            && self.labels().eq(other.labels())
            && self.annotations().eq(other.annotations())
            && self.owner_references().eq(other.owner_references())
    }
}

impl Eq for ObjectMeta {}

impl fmt::Debug for ObjectMeta {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ObjectMeta")
            .field("key", &self.key)
            .field("version", &self.version)
            .field("uid", &self.uid())
            .field("generation", &self.generation)
            .field("created", &self.created)
            .field("deleted", &self.deleted)
            .field("labels", &self.labels().collect::<Vec<_>>())
            .field("annotations", &self.annotations().collect::<Vec<_>>())
            .field("owners", &self.owner_references().collect::<Vec<_>>())
            .finish()
    }
}

/// A builder of an [`ObjectMeta`]. Parts can be set in any order.
///
/// A builder can be reused after [`finish`](Self::finish), and then allocates only what the result
/// needs.
///
/// # Panics
/// If the text of one object exceeds 4 GiB. Callers limit the size of bodies.
///
/// ```
/// use watchkeeper_core::ObjectMetaBuilder;
///
/// let mut builder = ObjectMetaBuilder::default();
/// builder.namespace("default").name("web-0").version("17").label("app", "web");
/// let metadata = builder.finish();
/// assert_eq!(metadata.key().to_string(), "default/web-0");
/// assert_eq!(metadata.label("app"), Some("web"));
/// ```
#[derive(Debug, Default)]
pub struct ObjectMetaBuilder {
    /// Text of the key and the version, which have their own allocations.
    identity: String,
    text: String,
    namespace: Span,
    name: Span,
    version: Span,
    uid: Span,
    generation: i64,
    created: Option<Timestamp>,
    deleted: Option<Timestamp>,
    labels: Vec<(Span, Span)>,
    annotations: Vec<(Span, Span)>,
    owners: Vec<OwnerSpans>,
}

impl ObjectMetaBuilder {
    /// Sets the name.
    pub fn name(&mut self, text: &str) -> &mut Self {
        self.name = append(&mut self.identity, text);
        self
    }

    /// Sets the namespace; empty for a cluster-scoped object.
    pub fn namespace(&mut self, text: &str) -> &mut Self {
        self.namespace = append(&mut self.identity, text);
        self
    }

    /// Sets the resource version.
    pub fn version(&mut self, text: &str) -> &mut Self {
        self.version = append(&mut self.identity, text);
        self
    }

    /// Sets the uid.
    pub fn uid(&mut self, text: &str) -> &mut Self {
        self.uid = append(&mut self.text, text);
        self
    }

    /// Sets the generation.
    pub fn generation(&mut self, generation: i64) -> &mut Self {
        self.generation = generation;
        self
    }

    /// Sets the creation timestamp.
    pub fn created(&mut self, created: Option<Timestamp>) -> &mut Self {
        self.created = created;
        self
    }

    /// Sets the deletion timestamp.
    pub fn deleted(&mut self, deleted: Option<Timestamp>) -> &mut Self {
        self.deleted = deleted;
        self
    }

    /// Adds a label.
    pub fn label(&mut self, key: &str, value: &str) -> &mut Self {
        let pair = (append(&mut self.text, key), append(&mut self.text, value));
        self.labels.push(pair);
        self
    }

    /// Adds an annotation.
    pub fn annotation(&mut self, key: &str, value: &str) -> &mut Self {
        let pair = (append(&mut self.text, key), append(&mut self.text, value));
        self.annotations.push(pair);
        self
    }

    /// Adds an owner reference.
    pub fn owner(&mut self, owner: &OwnerReference<'_>) -> &mut Self {
        let spans = OwnerSpans {
            api_version: append(&mut self.text, owner.api_version),
            kind: append(&mut self.text, owner.kind),
            name: append(&mut self.text, owner.name),
            uid: append(&mut self.text, owner.uid),
            controller: owner.controller,
        };
        self.owners.push(spans);
        self
    }

    /// Returns the metadata, and clears the builder.
    pub fn finish(&mut self) -> ObjectMeta {
        let part = |span: Span| &self.identity[span.start as usize..span.end as usize];
        let pairs: Box<[(Span, Span)]> = match self.annotations.len() {
            0 => self.labels.as_slice().into(),
            _ => [self.labels.as_slice(), self.annotations.as_slice()].concat().into(),
        };
        let metadata = ObjectMeta {
            key: ObjectKey::namespaced(part(self.namespace), part(self.name)),
            version: part(self.version).into(),
            generation: self.generation,
            created: self.created,
            deleted: self.deleted,
            uid: self.uid,
            labels: u32::try_from(self.labels.len()).expect("a body is far smaller than 4 GiB"),
            pairs,
            owners: self.owners.as_slice().into(),
            text: self.text.as_str().into(),
        };
        self.clear();
        metadata
    }

    /// Clears the builder, keeping its allocations.
    pub fn clear(&mut self) {
        self.identity.clear();
        self.text.clear();
        self.labels.clear();
        self.annotations.clear();
        self.owners.clear();
        (self.namespace, self.name, self.version, self.uid) = Default::default();
        (self.generation, self.created, self.deleted) = (0, None, None);
    }
}

fn append(to: &mut String, text: &str) -> Span {
    let at = |length: usize| u32::try_from(length).expect("a body is far smaller than 4 GiB");
    let start = at(to.len());
    to.push_str(text);
    Span { start, end: at(to.len()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const OWNER: OwnerReference<'static> = OwnerReference {
        api_version: "apps/v1",
        kind: "ReplicaSet",
        name: "web-5d",
        uid: "u-2",
        controller: true,
    };

    fn pod() -> ObjectMetaBuilder {
        let mut head = ObjectMetaBuilder::default();
        head.name("web-0").namespace("default").version("17").uid("u-1").generation(3);
        head.created("2026-11-15T10:00:00Z".parse().ok()).deleted("2026-11-15T11:00:00Z".parse().ok());
        head.label("app", "web").label("tier", "").annotation("note", "a").owner(&OWNER);
        head
    }

    #[test]
    fn every_part_can_be_read_back() {
        let head = pod().finish();
        assert_eq!(head.key(), &ObjectKey::namespaced("default", "web-0"));
        assert_eq!(head.resource_version(), &17.into());
        assert_eq!((head.uid(), head.generation()), ("u-1", 3));
        assert_eq!(head.creation_timestamp().unwrap().to_string(), "2026-11-15T10:00:00Z");
        assert_eq!(head.deletion_timestamp().unwrap().to_string(), "2026-11-15T11:00:00Z");
        assert_eq!(head.labels().collect::<Vec<_>>(), [("app", "web"), ("tier", "")]);
        assert_eq!(head.annotations().collect::<Vec<_>>(), [("note", "a")]);
        assert_eq!(head.owner_references().collect::<Vec<_>>(), [OWNER]);
    }

    #[test]
    fn an_empty_label_differs_from_an_absent_one() {
        let head = pod().finish();
        assert_eq!((head.label("tier"), head.label("zone")), (Some(""), None));
    }

    #[test]
    fn a_label_is_not_an_annotation() {
        let head = pod().finish();
        assert_eq!((head.label("note"), head.annotation("app")), (None, None));
        assert_eq!(head.annotation("note"), Some("a"));
    }

    #[test]
    fn only_the_controller_owner_is_the_controller() {
        let mut builder = ObjectMetaBuilder::default();
        builder.owner(&OwnerReference { kind: "Node", controller: false, ..OWNER });
        assert_eq!(builder.finish().controller(), None);
        builder.owner(&OwnerReference { kind: "Node", controller: false, ..OWNER }).owner(&OWNER);
        assert_eq!(builder.finish().controller(), Some(OWNER));
    }

    #[test]
    fn the_last_value_of_a_part_wins() {
        let head = ObjectMetaBuilder::default().name("first").name("second").finish();
        assert_eq!(head.key().name(), "second");
    }

    #[test]
    fn a_reused_builder_starts_empty() {
        let mut builder = pod();
        builder.finish();
        assert_eq!(builder.finish(), ObjectMetaBuilder::default().finish());
        builder.label("half", "read").clear();
        assert_eq!(builder.finish(), ObjectMetaBuilder::default().finish());
    }

    #[test]
    fn equality_ignores_the_order_of_parts() {
        let mut other = ObjectMetaBuilder::default();
        other.owner(&OWNER).annotation("note", "a").label("app", "web").label("tier", "");
        other.deleted("2026-11-15T11:00:00Z".parse().ok()).created("2026-11-15T10:00:00Z".parse().ok());
        other.generation(3).uid("u-1").version("17").namespace("default").name("web-0");
        assert_eq!(other.finish(), pod().finish());
        assert_ne!(pod().label("x", "y").finish(), pod().finish());
    }

    #[test]
    fn heap_bytes_counts_every_allocation() {
        let empty = ObjectMetaBuilder::default().finish();
        assert_eq!(empty.heap_bytes(), 2 * size_of::<usize>());
        let labelled = ObjectMetaBuilder::default().label("app", "web").finish();
        assert_eq!(labelled.heap_bytes() - empty.heap_bytes(), "appweb".len() + 2 * size_of::<Span>());
        let named = ObjectMetaBuilder::default().namespace("shop").name("web-0").version("17").finish();
        assert_eq!(named.heap_bytes() - empty.heap_bytes(), "shop/web-0".len());
    }

    proptest! {
        #[test]
        fn any_text_is_preserved(
            texts in prop::collection::vec("\\PC{0,9}", 4),
            labels in prop::collection::vec(("\\PC{0,9}", "\\PC{0,9}"), 0..5),
            annotations in prop::collection::vec(("\\PC{0,9}", "\\PC{0,9}"), 0..5),
        ) {
            let mut builder = ObjectMetaBuilder::default();
            builder.name(&texts[0]).namespace(&texts[1]).version(&texts[2]).uid(&texts[3]);
            for (index, (key, value)) in labels.iter().enumerate() {
                builder.label(key, value);
                annotations.get(index).map(|(key, value)| builder.annotation(key, value));
            }
            for (key, value) in annotations.iter().skip(labels.len()) {
                builder.annotation(key, value);
            }
            let head = builder.finish(); // object_meta.H1
            prop_assert_eq!(head.key(), &ObjectKey::namespaced(&texts[1], &texts[0]));
            prop_assert_eq!(head.resource_version().to_string(), &*texts[2]);
            prop_assert_eq!(head.uid(), &*texts[3]);
            let pair = |(key, value): (&str, &str)| (key.to_owned(), value.to_owned());
            prop_assert_eq!(head.labels().map(pair).collect::<Vec<_>>(), labels);
            prop_assert_eq!(head.annotations().map(pair).collect::<Vec<_>>(), annotations);
        }
    }
}
