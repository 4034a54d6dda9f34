//! An object as a tree of values.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// An object of any kind.
///
/// ```
/// use serde_json::json;
/// use watchkeeper_client::dynamic::DynamicObject;
///
/// let mut web = DynamicObject::new("apps/v1", "Deployment", "web");
/// web.set(&["spec", "replicas"], json!(3));
/// assert_eq!(web.get(&["spec", "replicas"]), Some(&json!(3)));
/// assert_eq!(web.text(&["metadata", "name"]), "web");
/// web.remove(&["spec", "replicas"]);
/// assert_eq!(web.get(&["spec", "replicas"]), None);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DynamicObject {
    fields: Map<String, Value>,
}

/// Something else than an object: a list, a text, a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a value that is no object")]
pub struct NotAnObject;

impl DynamicObject {
    /// An object of this kind and name, and nothing else.
    pub fn new(api_version: &str, kind: &str, name: &str) -> Self {
        let mut object = Self::default();
        object.set(&["apiVersion"], api_version.into());
        object.set(&["kind"], kind.into());
        object.set(&["metadata", "name"], name.into());
        object
    }

    /// Of a type that can be written.
    ///
    /// # Errors
    /// If it cannot, or is no object.
    pub fn from_typed<T: Serialize>(typed: &T) -> Result<Self, serde_json::Error> {
        serde_json::from_value(serde_json::to_value(typed)?)
    }

    /// As a type that can be read.
    ///
    /// # Errors
    /// If this is something else.
    pub fn to_typed<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_value(Value::Object(self.fields.clone()))
    }

    /// What is at the end of a path of names.
    pub fn get(&self, path: &[&str]) -> Option<&Value> {
        let (first, rest) = path.split_first()?;
        rest.iter().try_fold(self.fields.get(*first)?, |value, name| value.get(name))
    }

    /// The text at the end of a path; empty where there is none.
    pub fn text(&self, path: &[&str]) -> &str {
        self.get(path).and_then(Value::as_str).unwrap_or_default()
    }

    /// Sets what is at the end of a path. What is missing on the way is made; what is no object makes way.
    pub fn set(&mut self, path: &[&str], value: Value) {
        let Some((last, way)) = path.split_last() else { return };
        let mut fields = &mut self.fields;
        for name in way {
            let slot = fields.entry(*name).or_insert(Value::Null);
            if !slot.is_object() {
                *slot = Value::Object(Map::new());
            }
            let Value::Object(inner) = slot else { return };
            fields = inner;
        }
        fields.insert((*last).to_owned(), value);
    }

    /// Takes out what is at the end of a path.
    pub fn remove(&mut self, path: &[&str]) -> Option<Value> {
        let (last, way) = path.split_last()?;
        let mut fields = &mut self.fields;
        for name in way {
            fields = fields.get_mut(*name)?.as_object_mut()?;
        }
        fields.remove(*last)
    }

    /// `v1`, `apps/v1`; empty where it does not say.
    pub fn api_version(&self) -> &str {
        self.text(&["apiVersion"])
    }

    /// `Pod`; empty where it does not say.
    pub fn kind(&self) -> &str {
        self.text(&["kind"])
    }

    /// The name.
    pub fn name(&self) -> &str {
        self.text(&["metadata", "name"])
    }

    /// The namespace; empty where there is none.
    pub fn namespace(&self) -> &str {
        self.text(&["metadata", "namespace"])
    }

    /// The version that it was read in; empty where it was not.
    pub fn resource_version(&self) -> &str {
        self.text(&["metadata", "resourceVersion"])
    }

    /// The labels that are texts.
    pub fn labels(&self) -> impl Iterator<Item = (&str, &str)> {
        let labels = self.get(&["metadata", "labels"]).and_then(Value::as_object);
        labels.into_iter().flatten().filter_map(|(key, value)| Some((key.as_str(), value.as_str()?)))
    }

    /// All fields.
    pub fn fields(&self) -> &Map<String, Value> {
        &self.fields
    }
}

impl TryFrom<Value> for DynamicObject {
    type Error = NotAnObject;

    fn try_from(value: Value) -> Result<Self, NotAnObject> {
        match value {
            Value::Object(fields) => Ok(Self { fields }),
            _ => Err(NotAnObject),
        }
    }
}

impl From<DynamicObject> for Value {
    fn from(object: DynamicObject) -> Self {
        Self::Object(object.fields)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn paths_lead_through_objects_alone() {
        let mut object = DynamicObject::try_from(json!({"a": {"b": [1]}, "c": "text"})).unwrap();
        assert_eq!(object.get(&["a", "b"]), Some(&json!([1])));
        assert_eq!(
            (object.get(&["a", "b", "c"]), object.get(&["c", "d"]), object.get(&[])),
            (None, None, None)
        );
        object.set(&["c", "d"], json!(2));
        assert_eq!(object.get(&["c"]), Some(&json!({"d": 2})), "what is no object makes way");
        assert_eq!(object.remove(&["x", "y"]), None);
        assert_eq!(object.remove(&["a", "b"]), Some(json!([1])));
        assert_eq!(DynamicObject::try_from(json!([])), Err(NotAnObject));
    }

    #[test]
    fn an_object_becomes_a_type_and_back() {
        #[derive(Serialize, Deserialize)]
        struct Placed {
            metadata: Named,
        }
        #[derive(Serialize, Deserialize)]
        struct Named {
            name: String,
        }
        let object = DynamicObject::new("v1", "Pod", "a");
        let typed: Placed = object.to_typed().unwrap();
        assert_eq!(typed.metadata.name, "a");
        assert_eq!(DynamicObject::from_typed(&typed).unwrap().name(), "a");
    }
}
