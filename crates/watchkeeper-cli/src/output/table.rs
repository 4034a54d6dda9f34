//! Table: the server's `Table` format, one cell per column.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};
use watchkeeper_web::tree::{Condition, Health, assess};

/// `Accept` header that prefers tables; a server without them sends objects.
pub(crate) const ACCEPT: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,\
                                 application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json";

/// Rows of objects.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Table {
    /// Empty if unchanged since the previous table, as in a watch.
    #[serde(deserialize_with = "nothing_is_empty")]
    pub(crate) column_definitions: Vec<Column>,
    #[serde(deserialize_with = "nothing_is_empty")]
    pub(crate) rows: Vec<Row>,
}

/// A column definition.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct Column {
    pub(crate) name: String,
    #[serde(rename = "type")]
    pub(crate) data_type: String,
    /// `name` for the column with the object's name.
    pub(crate) format: String,
    pub(crate) description: String,
    /// 0 for columns that are always shown.
    pub(crate) priority: i32,
}

/// A row.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct Row {
    #[serde(deserialize_with = "nothing_is_empty")]
    pub(crate) cells: Vec<Value>,
    /// The object's metadata, or the whole object if requested.
    pub(crate) object: Value,
}

fn nothing_is_empty<'de, D: serde::Deserializer<'de>, T: Deserialize<'de>>(
    from: D,
) -> Result<Vec<T>, D::Error> {
    Option::<Vec<T>>::deserialize(from).map(Option::unwrap_or_default)
}

impl Table {
    /// Parses a value of kind `Table`; returns `None` for any other kind.
    ///
    /// # Errors
    /// If the table is invalid.
    pub(crate) fn of(value: &Value) -> Option<Result<Self, serde_json::Error>> {
        let is = |name: &str, words: &[&str]| value[name].as_str().is_some_and(|word| words.contains(&word));
        let is_table = is("kind", &["Table"]) && is("apiVersion", &["meta.k8s.io/v1", "meta.k8s.io/v1beta1"]);
        is_table.then(|| Self::deserialize(value))
    }
}

impl Column {
    pub(crate) fn named(name: impl Into<String>) -> Self {
        Self { name: name.into(), data_type: "string".to_owned(), ..Self::default() }
    }
}

impl Row {
    pub(crate) fn namespace(&self) -> Option<&str> {
        let metadata = self.metadata()?;
        Some(metadata.get("namespace").and_then(Value::as_str).unwrap_or_default())
    }

    pub(crate) fn labels(&self) -> Option<BTreeMap<&str, &str>> {
        Some(labels(self.metadata()?.get("labels")))
    }

    /// Returns the health of the object, if the whole object is known and has one.
    pub(crate) fn verdict(&self) -> Option<Health> {
        let text = |field: &str| self.object.get(field).and_then(Value::as_str);
        let (version, kind) = (text("apiVersion")?, text("kind")?);
        if kind == "PartialObjectMetadata" {
            return None;
        }
        let group = version.split_once('/').map_or("", |(group, _)| group);
        let condition = assess(group, kind, &self.object);
        (condition != Condition::UNKNOWN).then_some(condition.health)
    }

    fn metadata(&self) -> Option<&Map<String, Value>> {
        self.object.get("metadata")?.as_object()
    }
}

fn labels(labels: Option<&Value>) -> BTreeMap<&str, &str> {
    let labels = labels.and_then(Value::as_object).into_iter().flatten();
    labels.filter_map(|(key, value)| Some((key.as_str(), value.as_str()?))).collect()
}

/// Formats labels: `app=web,tier=front`, or `<none>`.
pub(crate) fn format_labels(labels: &BTreeMap<&str, &str>) -> String {
    if labels.is_empty() {
        return "<none>".to_owned();
    }
    let mut labels: Vec<String> = labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
    labels.sort(); // by the whole text: `app.io/name=x` comes before `app=x`
    labels.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn tables_are_recognized_by_kind_and_api_version() {
        let table = json!({"kind": "Table", "apiVersion": "meta.k8s.io/v1", "columnDefinitions": null,
            "rows": [{"cells": ["a", 1], "object": {"metadata": {"namespace": "n", "labels": {"b": "c"}}}}]});
        let table = Table::of(&table).unwrap().unwrap();
        assert!(table.column_definitions.is_empty());
        assert_eq!(table.rows[0].namespace(), Some("n"));
        assert_eq!(format_labels(&table.rows[0].labels().unwrap()), "b=c");
        assert_eq!(format_labels(&BTreeMap::from([("a", "b"), ("a.b", "c")])), "a.b=c,a=b");
        assert_eq!(Row::default().labels(), None);
        assert_eq!(Row::default().verdict(), None);
        assert!(Table::of(&json!({"kind": "Table", "apiVersion": "v1"})).is_none());
        let broken = json!({"kind": "Table", "apiVersion": "meta.k8s.io/v1", "rows": 7});
        assert!(Table::of(&broken).unwrap().is_err());
    }

    #[test]
    fn rows_with_their_object_have_a_health() {
        let row = |object: Value| Row { cells: Vec::new(), object };
        let status = json!({"phase": "Running", "containerStatuses": [{"state": {"waiting": {"reason": "CrashLoopBackOff"}}}]});
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {}, "status": status});
        assert_eq!(row(pod).verdict(), Some(Health::Degraded));
        let starting =
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": {}, "status": {"phase": "Running"}});
        assert_eq!(row(starting).verdict(), Some(Health::Progressing));
        let metadata =
            json!({"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": {}});
        assert_eq!(row(metadata).verdict(), None);
        let silent = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}});
        assert_eq!(row(silent).verdict(), None);
    }
}
