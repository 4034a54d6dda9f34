//! Table: the columns of a resource, and the row of an object.

use std::sync::Arc;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Value, json};
use watchkeeper_client::Client;
use watchkeeper_core::{GroupVersion, GroupVersionResource, Object, ObjectMeta};
use watchkeeper_print::{Column, Columns, PrinterColumn, TimestampFormat, columns};
use watchkeeper_wire::{Kind, decode};

use crate::tree::{Condition, Health, assess};
use crate::undecodable::Undecodable;

/// Roles of columns by heading, of built-in and custom resources.
const ROLES: [(&str, &str); 7] = [
    ("Namespace", "namespace"),
    ("Status", "status"),
    ("Restarts", "restarts"),
    ("Age", "age"),
    ("Last Seen", "last-seen"),
    ("Object", "object"),
    ("Message", "message"),
];

/// The columns of a resource.
#[derive(Debug)]
pub(super) struct Table {
    kind: Kind,
    columns: Source,
    undecodable: Undecodable,
}

#[derive(Debug)]
enum Source {
    /// The API server's columns of a built-in resource.
    Builtin(&'static Columns),
    /// The columns of a custom resource; name and age by default.
    Custom(Vec<PrinterColumn>, Columns),
}

/// The parts of a CustomResourceDefinition that are read.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Definition {
    versions: Vec<Version>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Version {
    name: String,
    additional_printer_columns: Vec<PrinterColumn>,
}

impl PartialEq for Table {
    fn eq(&self, other: &Self) -> bool {
        match (&self.columns, &other.columns) {
            (Source::Builtin(one), Source::Builtin(other)) => std::ptr::eq(*one, *other),
            (Source::Custom(one, _), Source::Custom(other, _)) => one == other,
            (Source::Builtin(_), Source::Custom(..)) | (Source::Custom(..), Source::Builtin(_)) => false,
        }
    }
}

impl Table {
    /// Creates the table of a resource. Reads the definition of a custom resource.
    pub(super) async fn of(
        resource: &GroupVersionResource,
        kind: Kind,
        client: &Client,
        undecodable: Undecodable,
    ) -> Self {
        let builtin = columns(&resource.group, &resource.version, &resource.resource);
        if !builtin.is_default() {
            return Self { kind, columns: Source::Builtin(builtin), undecodable };
        }
        let requested = defined(resource, client).await;
        let columns = Columns::custom(&requested);
        Self { kind, columns: Source::Custom(requested, columns), undecodable }
    }

    fn columns(&self) -> &Columns {
        match &self.columns {
            Source::Builtin(columns) => columns,
            Source::Custom(_, columns) => columns,
        }
    }

    /// Returns the column definitions, as JSON.
    pub(super) fn head(&self) -> Arc<str> {
        let columns = self.columns().definitions_with_dates();
        let columns = columns.iter().map(|column| {
            json!({"name": column.name, "type": column.value_type, "priority": column.priority,
                   "description": column.description, "role": role(column)})
        });
        Value::from_iter(columns).to_string().into()
    }

    /// Returns the row of an object, as JSON: key, UID, resource version, creation time, labels, cells and health. An
    /// object that cannot be decoded is reported, and has empty cells.
    pub(super) fn row(&self, object: &Object) -> Arc<str> {
        let head = &object.metadata;
        let value: Value = decode(&object.encoded, &self.kind).unwrap_or_else(|error| {
            self.undecodable.report(self.kind.name(), object, &error);
            Value::Null
        });
        let mut cells = self.columns().row(&value, TimestampFormat::Absolute);
        cells.truncate(self.columns().definitions().len());
        let created = head.creation_timestamp().map(|created| created.to_string()).unwrap_or_default();
        let row = (
            head.key().as_str(),
            head.uid(),
            head.resource_version(),
            created,
            Labels(head),
            cells,
            self.health(&value),
        );
        serde_json::to_string(&row).expect("strings and JSON values can be serialized").into()
    }

    /// Returns the health of an object; `None` if its kind has none.
    fn health(&self, object: &Value) -> Option<Health> {
        let kind = self.kind.name();
        let condition = assess(&kind.group, &kind.kind, object);
        (condition != Condition::UNKNOWN).then_some(condition.health)
    }
}

/// Returns the columns of a custom resource; empty if it has none, or its definition cannot be read, which is logged.
async fn defined(resource: &GroupVersionResource, client: &Client) -> Vec<PrinterColumn> {
    let definitions =
        client.dynamic(&GroupVersion::new("apiextensions.k8s.io", "v1"), "customresourcedefinitions");
    let name = format!("{}.{}", resource.resource, resource.group);
    let spec = match definitions.get_opt(&name).await {
        Ok(Some(found)) => found.get(&["spec"]).cloned(),
        Ok(None) => None, // served by an aggregated API server
        Err(error) => {
            tracing::warn!(%name, %error, "failed to read the definition; its columns are not shown");
            None
        }
    };
    let definition = spec.map(serde_json::from_value::<Definition>).transpose().unwrap_or_else(|error| {
        tracing::warn!(%name, %error, "failed to decode the definition; its columns are not shown");
        None
    });
    let mut versions = definition.into_iter().flat_map(|definition| definition.versions);
    let version = versions.find(|version| version.name == resource.version);
    version.map(|version| version.additional_printer_columns).unwrap_or_default()
}

/// Returns the role of a column on the web page, which does not depend on headings itself; `None` for most columns.
fn role(column: &Column) -> Option<&'static str> {
    if column.format == "name" {
        return Some("name");
    }
    ROLES.iter().find(|(heading, _)| *heading == column.name).map(|(_, role)| *role)
}

struct Labels<'a>(&'a ObjectMeta);

impl Serialize for Labels<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.labels())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roles(columns: &Columns) -> Vec<&'static str> {
        columns.definitions().iter().filter_map(role).collect()
    }

    #[test]
    fn columns_that_the_page_treats_specially_have_a_role() {
        assert_eq!(roles(columns("", "v1", "pods")), ["name", "status", "restarts", "age"]);
        assert_eq!(roles(columns("", "v1", "events")), ["last-seen", "object", "message", "name"]);
        assert_eq!(
            roles(columns("events.k8s.io", "v1", "events")),
            ["last-seen", "object", "message", "name"]
        );
        assert_eq!(roles(columns("", "v1", "nodes")), ["name", "status", "age"]);
        assert_eq!(roles(&Columns::custom(&[])), ["name", "age"]);
        for (group, version, plural) in watchkeeper_print::tables() {
            let columns = columns(group, version, plural);
            assert!(
                plural.starts_with('/') || roles(columns).contains(&"name"),
                "{plural} has no column with the name"
            );
        }
    }
}
