//! An untyped object.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// An object of any kind, as a JSON tree. (client-go: `unstructured.Unstructured`.)
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

/// The value is not a JSON object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a JSON object")]
pub struct NotAnObject;

impl DynamicObject {
    /// Creates an object with this kind and name.
    pub fn new(api_version: &str, kind: &str, name: &str) -> Self {
        let mut object = Self::default();
        object.set(&["apiVersion"], api_version.into());
        object.set(&["kind"], kind.into());
        object.set(&["metadata", "name"], name.into());
        object
    }

    /// Converts from a typed object.
    ///
    /// # Errors
    /// If it does not serialize to a JSON object.
    pub fn from_typed<T: Serialize>(typed: &T) -> Result<Self, serde_json::Error> {
        serde_json::from_value(serde_json::to_value(typed)?)
    }

    /// Converts to a typed object.
    ///
    /// # Errors
    /// If the fields do not match the type.
    pub fn to_typed<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_value(Value::Object(self.fields.clone()))
    }

    /// Returns the field at a path.
    pub fn get(&self, path: &[&str]) -> Option<&Value> {
        let (first, rest) = path.split_first()?;
        rest.iter().try_fold(self.fields.get(*first)?, |value, name| value.get(name))
    }

    /// Returns the string at a path; empty if there is none.
    pub fn text(&self, path: &[&str]) -> &str {
        self.get(path).and_then(Value::as_str).unwrap_or_default()
    }

    /// Sets the field at a path. Missing parents are created, and parents that are not objects are replaced.
    pub fn set(&mut self, path: &[&str], value: Value) {
        let Some((last, parents)) = path.split_last() else { return };
        let mut fields = &mut self.fields;
        for name in parents {
            let slot = fields.entry(*name).or_insert(Value::Null);
            if !slot.is_object() {
                *slot = Value::Object(Map::new());
            }
            let Value::Object(inner) = slot else { return };
            fields = inner;
        }
        fields.insert((*last).to_owned(), value);
    }

    /// Removes and returns the field at a path.
    pub fn remove(&mut self, path: &[&str]) -> Option<Value> {
        let (last, parents) = path.split_last()?;
        let mut fields = &mut self.fields;
        for name in parents {
            fields = fields.get_mut(*name)?.as_object_mut()?;
        }
        fields.remove(*last)
    }

    /// Returns the API version (`v1`, `apps/v1`); empty if not set.
    pub fn api_version(&self) -> &str {
        self.text(&["apiVersion"])
    }

    /// Returns the kind (`Pod`); empty if not set.
    pub fn kind(&self) -> &str {
        self.text(&["kind"])
    }

    /// Returns the name; empty if not set.
    pub fn name(&self) -> &str {
        self.text(&["metadata", "name"])
    }

    /// Returns the namespace; empty if not set.
    pub fn namespace(&self) -> &str {
        self.text(&["metadata", "namespace"])
    }

    /// Returns the resource version; empty if not set.
    pub fn resource_version(&self) -> &str {
        self.text(&["metadata", "resourceVersion"])
    }

    /// Returns the labels.
    pub fn labels(&self) -> impl Iterator<Item = (&str, &str)> {
        let labels = self.get(&["metadata", "labels"]).and_then(Value::as_object);
        labels.into_iter().flatten().filter_map(|(key, value)| Some((key.as_str(), value.as_str()?)))
    }

    /// Returns all fields.
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
    fn paths_go_through_objects_only() {
        let mut object = DynamicObject::try_from(json!({"a": {"b": [1]}, "c": "text"})).unwrap();
        assert_eq!(object.get(&["a", "b"]), Some(&json!([1])));
        assert_eq!(
            (object.get(&["a", "b", "c"]), object.get(&["c", "d"]), object.get(&[])),
            (None, None, None)
        );
        object.set(&["c", "d"], json!(2));
        assert_eq!(object.get(&["c"]), Some(&json!({"d": 2})), "a parent that is not an object is replaced");
        assert_eq!(object.remove(&["x", "y"]), None);
        assert_eq!(object.remove(&["a", "b"]), Some(json!([1])));
        assert_eq!(DynamicObject::try_from(json!([])), Err(NotAnObject));
    }

    #[test]
    fn an_object_converts_to_a_type_and_back() {
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
