//! Table: what columns a resource has, and how an object becomes a row of them.

use std::sync::Arc;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Value, json};
use watchkeeper_client::Client;
use watchkeeper_core::{GroupVersion, GroupVersionResource, Head, Object};
use watchkeeper_print::{Columns, PrinterColumn, Times, columns};
use watchkeeper_wire::{Kind, decode};

use crate::tree::{Condition, Health, assess};

/// What the objects of a resource are shown as.
#[derive(Debug)]
pub(super) struct Table {
    kind: Kind,
    columns: Of,
}

#[derive(Debug)]
enum Of {
    /// As the API server has it.
    Builtin(&'static Columns),
    /// As its definition has it; name and age, if that says nothing or there is none.
    Custom(Vec<PrinterColumn>, Columns),
}

/// What is read of a definition.
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
            (Of::Builtin(one), Of::Builtin(other)) => std::ptr::eq(*one, *other),
            (Of::Custom(one, _), Of::Custom(other, _)) => one == other,
            (Of::Builtin(_), Of::Custom(..)) | (Of::Custom(..), Of::Builtin(_)) => false,
        }
    }
}

impl Table {
    /// Of a resource, whose definition is asked for if it is not built in.
    pub(super) async fn of(resource: &GroupVersionResource, kind: Kind, client: &Client) -> Self {
        let builtin = columns(&resource.group, &resource.version, &resource.resource);
        if !builtin.are_of_others() {
            return Self { kind, columns: Of::Builtin(builtin) };
        }
        let asked = defined(resource, client).await;
        let columns = Columns::custom(&asked);
        Self { kind, columns: Of::Custom(asked, columns) }
    }

    fn columns(&self) -> &Columns {
        match &self.columns {
            Of::Builtin(columns) => columns,
            Of::Custom(_, columns) => columns,
        }
    }

    /// What it begins with, as JSON.
    pub(super) fn head(&self) -> Arc<str> {
        let columns = self.columns().dated();
        let columns = columns.iter().map(|column| {
            json!({"name": column.name, "type": column.value_type, "priority": column.priority,
                   "description": column.description})
        });
        Value::from_iter(columns).to_string().into()
    }

    /// An object as a row, as JSON: key, uid, version, time of creation, labels, cells and health. One that cannot be
    /// read has a row of nothing.
    pub(super) fn row(&self, object: &Object) -> Arc<str> {
        let head = &object.head;
        let value: Value = decode(&object.encoded, &self.kind).unwrap_or_default();
        let mut cells = self.columns().row(&value, Times::Moments);
        cells.truncate(self.columns().definitions().len());
        let created = head.created().map(|created| created.to_string()).unwrap_or_default();
        let row = (
            head.key().as_str(),
            head.uid(),
            head.version(),
            created,
            Labels(head),
            cells,
            self.health(&value),
        );
        serde_json::to_string(&row).expect("texts and JSON are always JSON").into()
    }

    /// How an object is; `None` where objects of its kind do not say.
    fn health(&self, object: &Value) -> Option<Health> {
        let kind = self.kind.name();
        let condition = assess(&kind.group, &kind.kind, object);
        (condition != Condition::UNKNOWN).then_some(condition.health)
    }
}

/// What a definition asks for; nothing if there is none, or it is not to be had.
async fn defined(resource: &GroupVersionResource, client: &Client) -> Vec<PrinterColumn> {
    let definitions =
        client.dynamic(&GroupVersion::new("apiextensions.k8s.io", "v1"), "customresourcedefinitions");
    let name = format!("{}.{}", resource.resource, resource.group);
    let Ok(Some(found)) = definitions.get_opt(&name).await else { return Vec::new() };
    let spec = found.get(&["spec"]).cloned().unwrap_or_default();
    let definition: Definition = serde_json::from_value(spec).unwrap_or_default();
    let version = definition.versions.into_iter().find(|version| version.name == resource.version);
    version.map(|version| version.additional_printer_columns).unwrap_or_default()
}

struct Labels<'a>(&'a Head);

impl Serialize for Labels<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.labels())
    }
}
