//! Tables as sent, with fields in kube-apiserver's order.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;
use watchkeeper_print::Column;

/// A table.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Table<'a> {
    pub(super) kind: &'static str,
    pub(super) api_version: &'static str,
    pub(super) metadata: ListMeta,
    /// Null in a watch after its first event.
    pub(super) column_definitions: Option<&'a [Column]>,
    /// Null if there are no rows and the resource has no columns of its own.
    pub(super) rows: Option<Vec<Row<'a>>>,
}

/// The metadata of a table, taken from its list or object.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ListMeta {
    /// The resource version of the list or object.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub resource_version: String,
    /// The token of the next page.
    #[serde(rename = "continue", skip_serializing_if = "String::is_empty")]
    pub continue_token: String,
    /// The number of remaining items, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remaining_item_count: Option<i64>,
}

/// A row of a table.
#[derive(Debug, Serialize)]
pub struct Row<'a> {
    pub(super) cells: Vec<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) conditions: Option<[RowCondition; 1]>,
    pub(super) object: Option<RowObject<'a>>,
}

/// A condition of a row: its object is complete.
#[derive(Debug, Serialize)]
pub(super) struct RowCondition {
    #[serde(rename = "type")]
    pub(super) condition: &'static str,
    pub(super) status: &'static str,
    pub(super) reason: &'static str,
    pub(super) message: &'static str,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum RowObject<'a> {
    Metadata(PartialObjectMetadata<'a>),
    Object(WithType<'a>),
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PartialObjectMetadata<'a> {
    pub(super) kind: &'static str,
    pub(super) api_version: &'static str,
    pub(super) metadata: Cow<'a, Value>,
}

/// An object with its kind, which items of lists lack.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WithType<'a> {
    pub(super) kind: &'a str,
    pub(super) api_version: String,
    #[serde(flatten)]
    pub(super) rest: BTreeMap<&'a str, &'a Value>,
}
