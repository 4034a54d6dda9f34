//! Server-side printing: the tables that `kubectl get` shows.
//!
//! Input: objects as JSON, and their cells from [`watchkeeper_print`].
//! Output: clients that accept a `meta.k8s.io` Table of a list, of an object, or of a watch event.

mod options;
mod table;

use serde_json::Value;
use watchkeeper_core::Timestamp;
use watchkeeper_print::{Columns, TimestampFormat, subresource_columns};

use crate::registry::{Resource, Subresource};
use crate::rules::metadata_alone;

pub use options::{IncludeObject, IncludeObjectError, TableVersion};
pub use table::{ListMeta, Row, Table};

use table::{PartialObjectMetadata, RowCondition, RowObject, WithType};

/// Returns the columns of a resource; the default ones are name and creation time.
pub fn columns(resource: &Resource) -> &Columns {
    match &resource.custom {
        Some(custom) => custom.columns(),
        None => watchkeeper_print::columns(&resource.group, &resource.version, &resource.name),
    }
}

/// Returns the columns of a subresource: a scale has its own, others use those of their object.
fn columns_below<'a>(resource: &'a Resource, sub: &Subresource) -> &'a Columns {
    subresource_columns(&sub.name).unwrap_or_else(|| columns(resource))
}

/// Prints objects of one resource as tables.
#[derive(Debug, Clone, Copy)]
pub struct Printer<'a> {
    columns: &'a Columns,
    now: Timestamp,
    include: IncludeObject,
    version: TableVersion,
    headers: bool,
    kind: (&'a str, &'a str, &'a str),
    /// Annotations that metadata without its object omits.
    version_annotations: &'static [&'static str],
}

impl<'a> Printer<'a> {
    /// Creates a printer for a resource, with ages as of `now`. By default tables have headers, rows carry metadata,
    /// and the version is `meta.k8s.io/v1`.
    ///
    /// ```
    /// use serde_json::json;
    /// use watchkeeper_apiserver::{print::Printer, registry};
    ///
    /// let configmaps = registry::builtin().get("", "v1", "configmaps").unwrap();
    /// let object = json!({"metadata": {"name": "a", "creationTimestamp": "2026-11-15T10:00:00Z"},
    ///                     "data": {"k": "v"}});
    /// let printer = Printer::new(configmaps, "2026-11-15T10:05:07Z".parse()?);
    /// let table = serde_json::to_value(printer.object(&object))?;
    /// assert_eq!(table["rows"][0]["cells"], json!(["a", 1, "5m7s"]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(resource: &'a Resource, now: Timestamp) -> Self {
        Self {
            columns: columns(resource),
            now,
            include: IncludeObject::default(),
            version: TableVersion::default(),
            headers: true,
            kind: (&resource.group, &resource.version, &resource.kind),
            version_annotations: resource.rules().version_annotations(),
        }
    }

    /// Prints a subresource instead of the object.
    #[must_use]
    pub fn subresource(self, resource: &'a Resource, sub: &'a Subresource) -> Self {
        let (group, version) = match &sub.group_version {
            Some((group, version)) => (&**group, &**version),
            None => (&*resource.group, &*resource.version),
        };
        Self { columns: columns_below(resource, sub), kind: (group, version, &sub.kind), ..self }
    }

    /// Sets the part of the object that a row carries.
    #[must_use]
    pub fn include(self, include: IncludeObject) -> Self {
        Self { include, ..self }
    }

    /// Sets the version of the table.
    #[must_use]
    pub fn version(self, version: TableVersion) -> Self {
        Self { version, ..self }
    }

    /// Omits the column definitions: for all but the first event of a watch.
    #[must_use]
    pub fn without_headers(self) -> Self {
        Self { headers: false, ..self }
    }

    /// Returns the table of a list.
    pub fn list(self, items: &'a [Value], metadata: ListMeta) -> Table<'a> {
        let rows = items.iter().zip(self.columns.rows(items, self.times()));
        self.table(rows.map(|(item, cells)| self.row(item, cells)).collect(), metadata)
    }

    /// Returns the table of a list without its rows. The caller writes the rows separately: see
    /// [`list_row`](Self::list_row).
    pub fn list_of_rows(self, metadata: ListMeta) -> Table<'a> {
        Table { rows: Some(Vec::new()), ..self.table(Vec::new(), metadata) }
    }

    /// Returns one row of the table of a list, for a caller that does not hold all objects at once. `default_class`
    /// is the default storage class of the list.
    pub fn list_row(self, item: &'a Value, default_class: Option<&str>) -> Row<'a> {
        self.row(item, self.columns.row_in_list(item, self.times(), default_class))
    }

    /// Returns the table of one object, which can also be a bookmark.
    pub fn object(self, object: &'a Value) -> Table<'a> {
        let version = object["metadata"]["resourceVersion"].as_str().unwrap_or_default();
        let metadata = ListMeta { resource_version: version.to_owned(), ..ListMeta::default() };
        self.table(vec![self.row(object, self.columns.row(object, self.times()))], metadata)
    }

    fn table(self, rows: Vec<Row<'a>>, metadata: ListMeta) -> Table<'a> {
        Table {
            kind: "Table",
            api_version: self.version.api_version(),
            metadata,
            column_definitions: self.headers.then_some(self.columns.definitions()),
            rows: Some(rows).filter(|rows| !rows.is_empty() || !self.columns.is_default()),
        }
    }

    fn times(self) -> TimestampFormat {
        TimestampFormat::Age { now: self.now }
    }

    fn row(self, object: &'a Value, cells: Vec<Value>) -> Row<'a> {
        Row {
            cells,
            conditions: self.completed(object),
            object: match self.include {
                IncludeObject::None => None,
                IncludeObject::Metadata => Some(RowObject::Metadata(PartialObjectMetadata {
                    kind: "PartialObjectMetadata",
                    api_version: self.version.api_version(),
                    metadata: metadata_alone(self.version_annotations, &object["metadata"]),
                })),
                IncludeObject::Object => Some(RowObject::Object(self.typed(object))),
            },
        }
    }

    fn typed(self, object: &'a Value) -> WithType<'a> {
        let (group, version, kind) = self.kind;
        let api_version = watchkeeper_core::GroupVersion::new(group, version).to_string();
        let fields = object.as_object().into_iter().flatten();
        let rest = fields.map(|(name, value)| (name.as_str(), value));
        let rest = rest.filter(|(name, _)| !matches!(*name, "kind" | "apiVersion"));
        WithType { kind, api_version, rest: rest.collect() }
    }

    /// Returns the `Completed` condition, which only pods have.
    fn completed(self, object: &Value) -> Option<[RowCondition; 1]> {
        if self.kind != ("", "v1", "Pod") {
            return None;
        }
        let (reason, message) = match object["status"]["phase"].as_str()? {
            "Succeeded" => ("Succeeded", "The pod has completed successfully."),
            "Failed" => ("Failed", "The pod failed."),
            _ => return None,
        };
        Some([RowCondition { condition: "Completed", status: "True", reason, message }])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::builtin;
    use serde_json::json;

    fn now() -> Timestamp {
        "2026-11-15T10:00:00Z".parse().unwrap()
    }

    fn pods() -> &'static Resource {
        builtin().get("", "v1", "pods").unwrap()
    }

    fn read(table: &Table<'_>) -> Value {
        serde_json::to_value(table).unwrap()
    }

    #[test]
    fn every_table_is_of_a_resource_or_below_one() {
        for (group, version, plural) in watchkeeper_print::tables() {
            let known = match plural.strip_prefix('/') {
                Some(sub) => builtin().iter().any(|row| row.subresource(sub).is_some()),
                None => builtin().get(group, version, plural).is_some(),
            };
            assert!(known, "{group} {version} {plural}");
        }
    }

    #[test]
    fn a_row_carries_the_requested_part_of_its_object() {
        let pod = json!({"metadata": {"name": "a", "resourceVersion": "7"}, "spec": {}});
        let object = |include| {
            let table = read(&Printer::new(pods(), now()).include(include).object(&pod));
            assert_eq!(table["metadata"], json!({"resourceVersion": "7"}));
            table["rows"][0]["object"].clone()
        };
        assert_eq!(object(IncludeObject::None), Value::Null);
        let metadata = json!({"name": "a", "resourceVersion": "7"});
        assert_eq!(
            object(IncludeObject::Metadata),
            json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": metadata})
        );
        assert_eq!(
            object(IncludeObject::Object),
            json!({"kind": "Pod", "apiVersion": "v1", "metadata": metadata, "spec": {}})
        );
    }

    #[test]
    fn a_scale_has_columns_of_its_own_and_a_status_has_not() {
        let deployments = builtin().get("apps", "v1", "deployments").unwrap();
        let scale = json!({"metadata": {"name": "web"}, "spec": {"replicas": 3}});
        let print = |sub| {
            let sub = deployments.subresource(sub).unwrap();
            read(&Printer::new(deployments, now()).subresource(deployments, sub).object(&scale))
        };
        assert_eq!(print("scale")["rows"][0]["cells"], json!(["web", 3, 0, "<unknown>"]));
        assert_eq!(print("status")["rows"][0]["cells"][1], "0/3");
    }

    #[test]
    fn a_table_keeps_list_metadata_and_a_watch_sends_columns_once() {
        let metadata = ListMeta {
            resource_version: "9".to_owned(),
            continue_token: "next".to_owned(),
            remaining_item_count: Some(3),
        };
        let table = read(&Printer::new(pods(), now()).list(&[], metadata));
        assert_eq!(
            table["metadata"],
            json!({"resourceVersion": "9", "continue": "next", "remainingItemCount": 3})
        );
        assert_eq!(table["rows"], json!([]));
        assert_eq!(table["columnDefinitions"].as_array().unwrap().len(), 9);
        let roles = builtin().get("rbac.authorization.k8s.io", "v1", "roles").unwrap();
        let table = read(&Printer::new(roles, now()).list(&[], ListMeta::default()));
        assert_eq!(table["rows"], Value::Null);
        let table = read(
            &Printer::new(pods(), now()).without_headers().version(TableVersion::V1Beta1).object(&json!({})),
        );
        assert_eq!(table["columnDefinitions"], Value::Null);
        assert_eq!(table["apiVersion"], "meta.k8s.io/v1beta1");
    }

    #[test]
    fn a_bookmark_is_a_row_with_nothing_in_it() {
        let namespaces = builtin().get("", "v1", "namespaces").unwrap();
        let bookmark = json!({"metadata": {"resourceVersion": "333"}});
        let table = read(&Printer::new(namespaces, now()).object(&bookmark));
        assert_eq!(table["rows"][0]["cells"], json!(["", "", "<unknown>"]));
    }

    #[test]
    fn a_completed_pod_has_a_condition() {
        let pod = json!({"status": {"phase": "Failed"}});
        let table = read(&Printer::new(pods(), now()).object(&pod));
        assert_eq!(
            table["rows"][0]["conditions"],
            json!([{"type": "Completed", "status": "True", "reason": "Failed", "message": "The pod failed."}])
        );
    }

    #[test]
    fn a_resource_without_columns_shows_its_creation_time() {
        let widgets = Resource::new("example.com", "v1", "widgets");
        let widget = json!({"metadata": {"name": "w", "creationTimestamp": "2026-11-15T09:00:00Z"}});
        let table = read(&Printer::new(&widgets, now()).object(&widget));
        assert_eq!(table["rows"][0]["cells"], json!(["w", "2026-11-15T09:00:00Z"]));
    }
}
