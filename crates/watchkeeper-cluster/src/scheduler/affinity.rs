//! Node selectors and required node affinity.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::view::Meta;

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Affinity {
    node_affinity: NodeAffinity,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct NodeAffinity {
    #[serde(rename = "requiredDuringSchedulingIgnoredDuringExecution")]
    required: Option<NodeSelector>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct NodeSelector {
    node_selector_terms: Vec<Term>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Term {
    match_expressions: Vec<Expression>,
    match_fields: Vec<Expression>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Expression {
    key: String,
    operator: String,
    values: Vec<String>,
}

/// Returns whether a node matches a pod's node selector and required affinity.
pub(super) fn admits(selector: &BTreeMap<String, String>, affinity: &Affinity, node: &Meta) -> bool {
    let has_labels = selector.iter().all(|(key, value)| node.labels.get(key) == Some(value));
    let required = affinity.node_affinity.required.as_ref();
    has_labels
        && required.is_none_or(|required| required.node_selector_terms.iter().any(|term| term.admits(node)))
}

impl Term {
    /// Returns whether all expressions match. An empty term matches no node.
    fn admits(&self, node: &Meta) -> bool {
        let is_empty = self.match_expressions.is_empty() && self.match_fields.is_empty();
        let field = |key: &str| (key == "metadata.name").then_some(node.name.as_str());
        let label = |key: &str| node.labels.get(key).map(String::as_str);
        !is_empty
            && self.match_expressions.iter().all(|it| it.holds(label(&it.key)))
            && self.match_fields.iter().all(|it| it.holds(field(&it.key)))
    }
}

impl Expression {
    fn holds(&self, value: Option<&str>) -> bool {
        let is_in = || value.is_some_and(|value| self.values.iter().any(|it| it == value));
        let compared = |is_so: fn(&i64, &i64) -> bool| {
            let number = value.and_then(|value| value.parse::<i64>().ok());
            let bound = self.values.first().and_then(|it| it.parse::<i64>().ok());
            number.zip(bound).is_some_and(|(number, bound)| is_so(&number, &bound))
        };
        match self.operator.as_str() {
            "In" => is_in(),
            "NotIn" => !is_in(),
            "Exists" => value.is_some(),
            "DoesNotExist" => value.is_none(),
            "Gt" => compared(i64::gt),
            "Lt" => compared(i64::lt),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn a_node_is_admitted_by_its_labels_and_its_name() {
        let node = Meta {
            name: "node-1".to_owned(),
            labels: [("disk", "ssd"), ("size", "8")].map(|(k, v)| (k.to_owned(), v.to_owned())).into(),
            ..Meta::default()
        };
        let term = |expressions: Value| json!([{"matchExpressions": expressions}]);
        for (selector, terms, expected) in [
            (json!({}), Value::Null, true),
            (json!({"disk": "ssd"}), Value::Null, true),
            (json!({"disk": "hdd"}), Value::Null, false),
            (json!({}), json!([]), false),
            (json!({}), json!([{}]), false),
            (json!({}), term(json!([{"key": "disk", "operator": "In", "values": ["hdd", "ssd"]}])), true),
            (json!({}), term(json!([{"key": "disk", "operator": "NotIn", "values": ["ssd"]}])), false),
            (json!({}), term(json!([{"key": "gpu", "operator": "NotIn", "values": ["ssd"]}])), true),
            (
                json!({}),
                term(json!([{"key": "disk", "operator": "Exists"}, {"key": "gpu", "operator": "Exists"}])),
                false,
            ),
            (json!({}), term(json!([{"key": "gpu", "operator": "DoesNotExist"}])), true),
            (json!({}), term(json!([{"key": "size", "operator": "Gt", "values": ["7"]}])), true),
            (json!({}), term(json!([{"key": "size", "operator": "Lt", "values": ["8"]}])), false),
            (
                json!({}),
                json!([{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["node-1"]}]}]),
                true,
            ),
            (
                json!({}),
                json!([{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["node-2"]}]}, {"matchExpressions": [{"key": "disk", "operator": "Exists"}]}]),
                true,
            ),
        ] {
            let selector: BTreeMap<String, String> = serde_json::from_value(selector).unwrap();
            let affinity = match &terms {
                Value::Null => json!({}),
                terms => {
                    json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}})
                }
            };
            let affinity: Affinity = serde_json::from_value(affinity).unwrap();
            assert_eq!(admits(&selector, &affinity, &node), expected, "{selector:?} {terms}");
        }
    }
}
