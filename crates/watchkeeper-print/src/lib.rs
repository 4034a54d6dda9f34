//! The tables of `kubectl get`: the columns of a resource and the cells of an object.
//!
//! Input: objects as JSON. The columns of built-in resources are in `tables/columns.txt`; those of custom resources
//! in their definition.
//! Output: tables for the API server and the page.
//!
//! - `print.P1`: printing never fails: absent or malformed fields print as Go's zero value or as a placeholder.
//! - `print.P2`: the same objects and [`TimestampFormat`] yield the same cells.

mod cell;
mod cells;
mod columns;
mod custom;
mod pod;
mod timestamp_format;
mod value;

pub use cells::default_storage_class;
pub use columns::{Column, Columns, columns, subresource_columns, tables};
pub use custom::PrinterColumn;
pub use timestamp_format::TimestampFormat;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    /// Arbitrary JSON with field names that the cells use.
    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "[a-zA-Z0-9/.:é -]{0,12}".prop_map(Value::from),
            Just(json!("2026-11-15T09:00:00Z")),
        ];
        let name = prop::sample::select(vec![
            "metadata",
            "spec",
            "status",
            "name",
            "containers",
            "initContainers",
            "initContainerStatuses",
            "containerStatuses",
            "state",
            "lastState",
            "terminated",
            "waiting",
            "reason",
            "phase",
            "conditions",
            "type",
            "creationTimestamp",
            "template",
            "selector",
            "matchLabels",
            "matchExpressions",
            "ports",
            "ingress",
            "loadBalancer",
            "metrics",
            "currentMetrics",
            "resource",
            "target",
            "hard",
            "used",
            "rules",
            "host",
            "subsets",
            "addresses",
            "ip",
            "endpoints",
            "annotations",
            "labels",
            "ownerReferences",
        ]);
        leaf.prop_recursive(5, 64, 6, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map(name.clone(), inner, 0..6).prop_map(|fields| fields
                    .into_iter()
                    .map(|(name, value)| (name.to_owned(), value))
                    .collect()),
            ]
        })
    }

    proptest! {
        /// `print.P1`
        #[test]
        fn printing_never_fails(object in any_json()) {
            let now = "2026-11-15T10:00:00Z".parse().unwrap();
            let items = [object];
            for (group, version, plural) in tables().chain([("example.com", "v1", "widgets")]) {
                let table = columns(group, version, plural);
                for times in [TimestampFormat::Age { now }, TimestampFormat::Absolute] {
                    let rows = table.rows(&items, times);
                    prop_assert!(rows[0].len() >= table.definitions().len());
                }
            }
        }
    }
}
