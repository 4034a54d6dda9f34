//! Label selectors as bodies write them: `matchLabels` and `matchExpressions`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Condition, LabelSelector, Requirement, RequirementError};
use crate::excerpt::excerpt;
use crate::null::null_is_default;

/// The selector that a Deployment, a NetworkPolicy or a PodDisruptionBudget has in its body.
///
/// One without content selects everything. One that is absent selects nothing, so keep it in an
/// `Option`.
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
    /// Labels that must have these values.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "BTreeMap::is_empty")]
    pub match_labels: BTreeMap<String, String>,
    /// Further requirements.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    pub match_expressions: Vec<MatchExpression>,
}

/// A requirement as a body writes it, not yet looked at.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct MatchExpression {
    /// Which label.
    #[serde(default, deserialize_with = "null_is_default")]
    pub key: String,
    /// `In`, `NotIn`, `Exists` or `DoesNotExist`.
    #[serde(default, deserialize_with = "null_is_default")]
    pub operator: String,
    /// What `In` and `NotIn` compare with.
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
    fn every_form_of_a_body_has_its_text() {
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
    fn what_go_refuses_in_a_body_is_refused() {
        let table = [
            (
                r#"{"matchExpressions": [{"key": "a", "operator": "Foo"}]}"#,
                r#"operator "Foo" of label "a" is not one of In, NotIn, Exists and DoesNotExist"#,
            ),
            (
                r#"{"matchExpressions": [{"key": "a", "operator": "In"}]}"#,
                r#"label "a" is compared with an empty set of values"#,
            ),
            (
                r#"{"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["x"]}]}"#,
                r#"label "a" is only asked to exist or not to exist, which takes no values"#,
            ),
            (r#"{"matchLabels": {"": "x"}}"#, r#""" is not a label key: its name has 1 to 63 characters"#),
        ];
        for (body, error) in table {
            assert_eq!(selector(body), Err(error.to_owned()), "{body}");
        }
    }

    #[test]
    fn a_body_survives_the_round_trip_and_leaves_out_what_is_empty() {
        let body = r#"{"matchLabels":{"a":"1"},"matchExpressions":[{"key":"b","operator":"Exists"}]}"#;
        let structured: StructuredSelector = serde_json::from_str(body).unwrap();
        assert_eq!(serde_json::to_string(&structured).unwrap(), body);
        assert_eq!(serde_json::to_string(&StructuredSelector::default()).unwrap(), "{}");
    }
}
