//! References: the object that an event is about.

use serde::Serialize;
use serde_json::{Map, Value};
use watchkeeper_client::dynamic::DynamicObject;
use watchkeeper_core::{GroupVersionKind, ObjectMeta};

/// A reference to an object or to a part of it (`ObjectReference` in the API).
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Reference {
    /// `apps/v1`.
    pub api_version: String,
    /// `Deployment`.
    pub kind: String,
    /// Empty for a cluster-scoped object, whose events are in `default`.
    pub namespace: String,
    /// The name of the object.
    pub name: String,
    /// The UID; may be empty.
    pub uid: String,
    /// The resource version; may be empty.
    pub resource_version: String,
    /// The part of the object, such as `spec.containers{web}`; empty for the whole.
    pub field_path: String,
}

/// The object lacks a field that a reference needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("object has no {missing}")]
pub struct NotReferable {
    /// The missing field.
    pub missing: &'static str,
}

impl Reference {
    /// Creates a reference from a kind and the metadata of a cached object.
    pub fn of(kind: &GroupVersionKind, metadata: &ObjectMeta) -> Self {
        Self {
            api_version: kind.group_version().to_string(),
            kind: kind.kind.clone(),
            namespace: metadata.key().namespace().unwrap_or_default().to_owned(),
            name: metadata.key().name().to_owned(),
            uid: metadata.uid().to_owned(),
            resource_version: metadata.resource_version().to_string(),
            field_path: String::new(),
        }
    }

    /// Creates a reference to an object of any type, from its `apiVersion`, `kind` and `metadata`.
    ///
    /// # Errors
    /// Returns an error if one of them is missing.
    pub fn of_object(object: &impl Serialize) -> Result<Self, NotReferable> {
        let object = DynamicObject::from_typed(object).map_err(|_| NotReferable { missing: "fields" })?;
        Self::try_from(&object)
    }

    /// Narrows the reference to a field.
    #[must_use]
    pub fn field(mut self, path: &str) -> Self {
        self.field_path = path.to_owned();
        self
    }

    pub(super) fn to_json(&self) -> Value {
        let fields = [
            ("kind", &self.kind),
            ("namespace", &self.namespace),
            ("name", &self.name),
            ("uid", &self.uid),
            ("apiVersion", &self.api_version),
            ("resourceVersion", &self.resource_version),
            ("fieldPath", &self.field_path),
        ];
        let fields = fields.into_iter().filter(|(_, value)| !value.is_empty());
        Value::Object(
            fields.map(|(name, value)| (name.to_owned(), value.as_str().into())).collect::<Map<_, _>>(),
        )
    }

    /// Returns the namespace of events about this object.
    pub(super) fn event_namespace(&self) -> &str {
        if self.namespace.is_empty() { "default" } else { &self.namespace }
    }
}

impl TryFrom<&DynamicObject> for Reference {
    type Error = NotReferable;

    fn try_from(object: &DynamicObject) -> Result<Self, NotReferable> {
        for (value, missing) in
            [(object.api_version(), "apiVersion"), (object.kind(), "kind"), (object.name(), "name")]
        {
            if value.is_empty() {
                return Err(NotReferable { missing });
            }
        }
        Ok(Self {
            api_version: object.api_version().to_owned(),
            kind: object.kind().to_owned(),
            namespace: object.namespace().to_owned(),
            name: object.name().to_owned(),
            uid: object.text(&["metadata", "uid"]).to_owned(),
            resource_version: object.resource_version().to_owned(),
            field_path: String::new(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_reference_from_metadata_equals_one_from_the_whole_object() {
        let mut head = watchkeeper_core::ObjectMetaBuilder::default();
        head.namespace("shop").name("web").uid("u").version("7");
        let kind = GroupVersionKind { group: "apps".into(), version: "v1".into(), kind: "Deployment".into() };
        let by_head = Reference::of(&kind, &head.finish());
        let whole = json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"namespace": "shop", "name": "web", "uid": "u", "resourceVersion": "7"},
        });
        assert_eq!(Reference::of_object(&whole), Ok(by_head.clone()));
        let mut expected = whole["metadata"].clone();
        expected["apiVersion"] = "apps/v1".into();
        expected["kind"] = "Deployment".into();
        expected["fieldPath"] = "spec".into();
        assert_eq!(by_head.field("spec").to_json(), expected);
        let nameless = json!({"apiVersion": "v1", "kind": "Pod"});
        assert_eq!(Reference::of_object(&nameless), Err(NotReferable { missing: "name" }));
        assert_eq!(Reference::of_object(&"text"), Err(NotReferable { missing: "fields" }));
    }
}
