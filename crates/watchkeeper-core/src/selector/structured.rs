//! Structured label selectors: `matchLabels` and `matchExpressions`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Condition, LabelSelector, Requirement, RequirementError};
use crate::excerpt::excerpt;
use crate::null::null_is_default;

/// The label selector in the spec of a Deployment, NetworkPolicy or PodDisruptionBudget:
/// `LabelSelector` of `meta/v1`.
///
/// An empty selector matches everything. An absent one matches nothing, so keep it in an `Option`.
///
/// ```
/// use watchkeeper_core::{LabelSelector, StructuredSelector};
///
/// let body = r#"{"matchLabels": {"app": "web"},
///                "matchExpressions": [{"key": "canary", "operator": "DoesNotExist"}]}"#;
/// let structured: StructuredSelector = serde_json::from_str(body)?;
/// assert_eq!(LabelSelector::try_from(&structured)?.to_string(), "app=web,!canary");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StructuredSelector {
    /// Required labels.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "BTreeMap::is_empty")]
    pub match_labels: BTreeMap<String, String>,
    /// Further requirements.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    pub match_expressions: Vec<MatchExpression>,
}

/// An unvalidated requirement: `LabelSelectorRequirement` of `meta/v1`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct MatchExpression {
    /// The label's key.
    #[serde(default, deserialize_with = "null_is_default")]
    pub key: String,
    /// `In`, `NotIn`, `Exists` or `DoesNotExist`.
    #[serde(default, deserialize_with = "null_is_default")]
    pub operator: String,
    /// The values for `In` and `NotIn`.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
}

impl TryFrom<&MatchExpression> for Requirement {
    type Error = RequirementError;

    fn try_from(expression: &MatchExpression) -> Result<Self, RequirementError> {
        let values = || expression.values.iter().cloned().collect();
        let condition = match expression.operator.as_str() {
            "In" => Condition::In(values()),
            "NotIn" => Condition::NotIn(values()),
            "Exists" | "DoesNotExist" if !expression.values.is_empty() => {
                return Err(RequirementError::NeedlessValues { key: excerpt(&expression.key) });
            }
            "Exists" => Condition::Exists,
            "DoesNotExist" => Condition::DoesNotExist,
            other => {
                return Err(RequirementError::Operator {
                    key: excerpt(&expression.key),
                    operator: excerpt(other),
                });
            }
        };
        Requirement::new(&expression.key, condition)
    }
}

impl TryFrom<&StructuredSelector> for LabelSelector {
    type Error = RequirementError;

    fn try_from(body: &StructuredSelector) -> Result<Self, RequirementError> {
        let labels = body.match_labels.iter();
        let labels = labels.map(|(key, value)| Requirement::new(key, Condition::Equals(value.clone())));
        labels.chain(body.match_expressions.iter().map(Requirement::try_from)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selector(body: &str) -> Result<String, String> {
        let structured: StructuredSelector = serde_json::from_str(body).unwrap();
        LabelSelector::try_from(&structured).map(|it| it.to_string()).map_err(|error| error.to_string())
    }

    #[test]
    fn structured_selectors_convert_to_text() {
        let table = [
            (r"{}", ""),
            (r#"{"matchLabels": null, "matchExpressions": null}"#, ""),
            (r#"{"matchLabels": {"b": "2", "a": "1"}}"#, "a=1,b=2"),
            (r#"{"matchExpressions": [{"key": "a", "operator": "In", "values": ["y", "x"]}]}"#, "a in (x,y)"),
            (r#"{"matchExpressions": [{"key": "a", "operator": "NotIn", "values": [""]}]}"#, "a notin ()"),
            (r#"{"matchExpressions": [{"key": "a", "operator": "Exists", "values": null}]}"#, "a"),
            (r#"{"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]}"#, "!a"),
            (
                r#"{"matchLabels": {"b": "1"}, "matchExpressions": [{"key": "a", "operator": "Exists"}]}"#,
                "a,b=1",
            ),
        ];
        for (body, text) in table {
            assert_eq!(selector(body), Ok(text.to_owned()), "{body}");
        }
    }

    #[test]
    fn what_go_rejects_is_rejected() {
        let table = [
            (
                r#"{"matchExpressions": [{"key": "a", "operator": "Foo"}]}"#,
                r#"invalid operator "Foo" for label "a": expected In, NotIn, Exists or DoesNotExist"#,
            ),
            (
                r#"{"matchExpressions": [{"key": "a", "operator": "In"}]}"#,
                r#"no values for label "a": operators In and NotIn require at least one"#,
            ),
            (
                r#"{"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["x"]}]}"#,
                r#"unexpected values for label "a": operators Exists and DoesNotExist take none"#,
            ),
            (r#"{"matchLabels": {"": "x"}}"#, r#"invalid label key "": name must have 1 to 63 characters"#),
        ];
        for (body, error) in table {
            assert_eq!(selector(body), Err(error.to_owned()), "{body}");
        }
    }

    #[test]
    fn structured_selectors_round_trip_and_omit_empty_fields() {
        let body = r#"{"matchLabels":{"a":"1"},"matchExpressions":[{"key":"b","operator":"Exists"}]}"#;
        let structured: StructuredSelector = serde_json::from_str(body).unwrap();
        assert_eq!(serde_json::to_string(&structured).unwrap(), body);
        assert_eq!(serde_json::to_string(&StructuredSelector::default()).unwrap(), "{}");
    }
}
