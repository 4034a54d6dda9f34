//! References: which object an event is about.

use serde::Serialize;
use serde_json::{Map, Value};
use watchkeeper_client::dynamic::DynamicObject;
use watchkeeper_core::{GroupVersionKind, Head};

/// An object, or a part of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Reference {
    /// `apps/v1`.
    pub api_version: String,
    /// `Deployment`.
    pub kind: String,
    /// Empty if it is in none: its events are in `default` then.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Which of that name; may be empty.
    pub uid: String,
    /// In which version it was like that; may be empty.
    pub resource_version: String,
    /// Which part of it, as `spec.containers{web}`; empty for all of it.
    pub field_path: String,
}

/// An object that does not say what it is, or has no name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an object without {missing} cannot be referred to")]
pub struct NotReferable {
    /// What it does not say.
    pub missing: &'static str,
}

impl Reference {
    /// The object of this kind with this head, as an informer has it.
    pub fn of(kind: &GroupVersionKind, head: &Head) -> Self {
        Self {
            api_version: kind.group_version().to_string(),
            kind: kind.kind.clone(),
            namespace: head.key().namespace().unwrap_or_default().to_owned(),
            name: head.key().name().to_owned(),
            uid: head.uid().to_owned(),
            resource_version: head.version().to_string(),
            field_path: String::new(),
        }
    }

    /// An object of any type that says what it is.
    ///
    /// # Errors
    /// If it does not.
    pub fn of_object(object: &impl Serialize) -> Result<Self, NotReferable> {
        let object = DynamicObject::from_typed(object).map_err(|_| NotReferable { missing: "fields" })?;
        Self::try_from(&object)
    }

    /// A part of it.
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

    /// Where its events are.
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
    fn an_object_is_referred_to_by_its_head_or_by_what_it_says_of_itself() {
        let mut head = watchkeeper_core::HeadBuilder::default();
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
