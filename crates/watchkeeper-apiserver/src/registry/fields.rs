//! Selectable fields: the fields that a field selector may use, and their paths in an object.
//!
//! Input: `tables/fields.txt`, or the `selectableFields` of a custom resource.
//! Output: lists and watches, which reject other fields with kube-apiserver's messages.
//!
//! ```text
//! fields <group or -> <version> <plural> <wording>
//! <label> <format> <path>...
//! -metadata.namespace
//! ```

use std::borrow::Cow;
use std::collections::HashMap;

use serde_json::Value;
use watchkeeper_core::FieldSelector;
use watchkeeper_core::table::{self, TableError};
use watchkeeper_wire::json_path::at;

use super::{Resource, Text};

/// The selectable fields of a resource, besides `metadata.name`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fields {
    /// The selectable fields besides `metadata.name` and `metadata.namespace`.
    pub own: Vec<SelectableField>,
    /// Whether `metadata.namespace` is selectable, which it is even for most cluster-scoped resources.
    pub namespace: bool,
    /// The message for a field that is not selectable.
    pub refusal: Refusal,
}

/// A selectable field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SelectableField {
    /// Its name in a selector: `spec.nodeName`.
    pub label: Text,
    /// The format of its value.
    pub format: FieldFormat,
    /// Its paths in an object: the value is the first that is not empty. Without paths it is always empty.
    pub paths: Vec<Text>,
}

/// The format of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FieldFormat {
    /// A string; empty if absent.
    Text,
    /// A number; `0` if absent.
    Int,
    /// `true` or `false`; `false` if absent.
    Bool,
}

/// The message for an unsupported field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// Most built-in kinds.
    OnlyMetadata,
    /// Built-in kinds with fields of their own, and custom resources.
    Label,
    /// Jobs: names the kind too.
    LabelOfKind,
}

/// A field selector uses an unsupported field: a 400 of reason `BadRequest` with this message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnsupportedField {
    /// See [`Refusal::OnlyMetadata`].
    #[error("\"{label}\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"")]
    OnlyMetadata {
        /// The field in the selector.
        label: String,
    },
    /// See [`Refusal::Label`].
    #[error("field label not supported: {label}")]
    Label {
        /// The field in the selector.
        label: String,
    },
    /// See [`Refusal::LabelOfKind`].
    #[error("field label {label:?} not supported for {kind}")]
    LabelOfKind {
        /// The field in the selector.
        label: String,
        /// `Job`.
        kind: String,
    },
}

impl Default for Fields {
    fn default() -> Self {
        Self { own: Vec::new(), namespace: true, refusal: Refusal::OnlyMetadata }
    }
}

impl Resource {
    /// Checks that a selector uses only selectable fields.
    ///
    /// # Errors
    /// [`UnsupportedField`] for the first field that is not selectable.
    pub fn check_fields(&self, selector: &FieldSelector) -> Result<(), UnsupportedField> {
        match selector.requirements().iter().find(|it| !self.has_field(it.field())) {
            None => Ok(()),
            Some(unknown) => Err(self.refuse(unknown.field())),
        }
    }

    /// Returns whether the field is selectable.
    pub fn has_field(&self, label: &str) -> bool {
        match label {
            "metadata.name" => true,
            "metadata.namespace" => self.fields.namespace,
            _ => self.fields.own.iter().any(|field| field.label == label),
        }
    }

    /// Returns the value of a field in an object, or `None` if it is not selectable.
    ///
    /// ```
    /// use serde_json::json;
    /// use watchkeeper_apiserver::registry;
    ///
    /// let pods = registry::builtin().get("", "v1", "pods").unwrap();
    /// let pod = json!({"spec": {"nodeName": "n1"}});
    /// assert_eq!(pods.field_value(&pod, "spec.nodeName").as_deref(), Some("n1"));
    /// assert_eq!(pods.field_value(&pod, "spec.hostNetwork").as_deref(), Some("false"));
    /// assert_eq!(pods.field_value(&pod, "spec.containers"), None);
    /// ```
    pub fn field_value<'a>(&self, object: &'a Value, label: &str) -> Option<Cow<'a, str>> {
        if !self.has_field(label) {
            return None;
        }
        match self.fields.own.iter().find(|field| field.label == label) {
            Some(field) => Some(field.value(object)),
            None => Some(text(at(object, label))), // metadata: the label is the path
        }
    }

    /// Returns whether an object matches a selector. A field that is not selectable counts as empty: call
    /// [`check_fields`](Self::check_fields) first.
    pub fn selects(&self, selector: &FieldSelector, object: &Value) -> bool {
        selector.requirements().iter().all(|it| it.matches(self.field_value(object, it.field()).as_deref()))
    }

    fn refuse(&self, label: &str) -> UnsupportedField {
        let label = label.to_owned();
        match self.fields.refusal {
            Refusal::OnlyMetadata => UnsupportedField::OnlyMetadata { label },
            Refusal::Label => UnsupportedField::Label { label },
            Refusal::LabelOfKind => UnsupportedField::LabelOfKind { label, kind: self.kind.to_string() },
        }
    }
}

impl SelectableField {
    /// Returns its value in an object.
    pub fn value<'a>(&self, object: &'a Value) -> Cow<'a, str> {
        let mut values = self.paths.iter().map(|path| text(at(object, path)));
        let value = values.find(|value| !value.is_empty()).unwrap_or_default();
        match self.format {
            FieldFormat::Int if value.is_empty() => Cow::Borrowed("0"),
            FieldFormat::Bool if value.is_empty() => Cow::Borrowed("false"),
            _ => value,
        }
    }
}

fn text(value: Option<&Value>) -> Cow<'_, str> {
    match value {
        Some(Value::String(text)) => Cow::Borrowed(text),
        Some(Value::Bool(true)) => Cow::Borrowed("true"),
        Some(Value::Bool(false)) => Cow::Borrowed("false"),
        Some(Value::Number(number)) => Cow::Owned(number.to_string()),
        _ => Cow::Borrowed(""),
    }
}

/// Group, version and plural.
pub(super) type Key = (Text, Text, Text);

pub(super) fn read(text: &'static str) -> Result<HashMap<Key, Fields>, TableError> {
    let mut read: Vec<(Key, Fields)> = Vec::new();
    for row in table::rows(text) {
        let words = row.words();
        match words[..] {
            ["fields", group, version, plural, wording] => {
                let refusal = match wording {
                    "label" => Refusal::Label,
                    "kind" => Refusal::LabelOfKind,
                    other => return Err(row.error(format!("unknown wording {other:?}"))),
                };
                let key =
                    (Text::Borrowed(table::value(group)), Text::Borrowed(version), Text::Borrowed(plural));
                read.push((key, Fields { refusal, ..Fields::default() }));
            }
            [label, ref rest @ ..] => {
                let (_, fields) = read.last_mut().ok_or_else(|| row.error("no resource yet"))?;
                let format = match rest.first() {
                    None if label == "-metadata.namespace" => {
                        fields.namespace = false;
                        continue;
                    }
                    Some(&"text") => FieldFormat::Text,
                    Some(&"int") => FieldFormat::Int,
                    Some(&"bool") => FieldFormat::Bool,
                    _ => return Err(row.invalid()),
                };
                let paths = rest[1..].iter().copied().map(Text::Borrowed).collect();
                fields.own.push(SelectableField { label: Text::Borrowed(label), format, paths });
            }
            [] => {}
        }
    }
    Ok(read.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::builtin;
    use serde_json::json;

    fn refusal(group: &str, resource: &str, selector: &str) -> String {
        let resource = builtin().get(group, "v1", resource).unwrap();
        let selector = FieldSelector::parse(selector).unwrap();
        resource.check_fields(&selector).err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn kinds_have_their_own_message_for_unsupported_fields() {
        assert_eq!(
            refusal("", "configmaps", "a=b"),
            "\"a\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
        );
        assert_eq!(refusal("", "pods", "spec.nodeName=n,a=b"), "field label not supported: a");
        assert_eq!(refusal("batch", "jobs", "a!=b"), "field label \"a\" not supported for Job");
        assert_eq!(
            refusal("", "nodes", "metadata.namespace=x"),
            "field label not supported: metadata.namespace"
        );
        assert_eq!(refusal("storage.k8s.io", "storageclasses", "metadata.namespace=x"), "");
        assert_eq!(refusal("", "pods", "spec.nodeName=n,metadata.name=b"), "");
    }

    #[test]
    fn the_first_path_with_a_value_counts() {
        let events = builtin().get("", "v1", "events").unwrap();
        let event = json!({"source": {"component": ""}, "reportingComponent": "kubelet"});
        assert_eq!(events.field_value(&event, "source").unwrap(), "kubelet");
        let event = json!({"source": {"component": "c"}, "reportingComponent": "kubelet"});
        assert_eq!(events.field_value(&event, "source").unwrap(), "c");
    }

    #[test]
    fn absent_values_are_gos_zero_values() {
        let value = |group, resource, label| {
            let resource = builtin().get(group, "v1", resource).unwrap();
            resource.field_value(&json!({}), label).unwrap().into_owned()
        };
        assert_eq!(value("", "pods", "status.podIP"), "");
        assert_eq!(value("", "nodes", "spec.unschedulable"), "false");
        assert_eq!(value("batch", "jobs", "status.successful"), "0");
    }

    #[test]
    fn an_object_must_match_all_requirements() {
        let pods = builtin().get("", "v1", "pods").unwrap();
        let pod = json!({"metadata": {"name": "a", "namespace": "ns"},
                         "status": {"phase": "Running", "podIPs": [{"ip": "1.2.3.4"}]}});
        let selects = |text| pods.selects(&FieldSelector::parse(text).unwrap(), &pod);
        assert!(selects("metadata.name=a,status.phase=Running,status.podIP=1.2.3.4,spec.nodeName="));
        assert!(selects("spec.nodeName!=n1,spec.hostNetwork=false"));
        assert!(!selects("metadata.name=a,status.phase!=Running"));
        assert!(selects(""));
    }

    #[test]
    fn errors_in_the_table_name_the_line() {
        let problem = |text| read(text).expect_err("the table is wrong").to_string();
        assert_eq!(problem("a text a"), "line 1: no resource yet");
        assert_eq!(problem("fields - v1 pods rude"), "line 1: unknown wording \"rude\"");
        assert_eq!(problem("fields - v1 pods label\na float b"), "line 2: invalid row \"a float b\"");
    }
}
