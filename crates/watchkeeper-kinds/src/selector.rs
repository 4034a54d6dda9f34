//! Label selectors in the spec of objects.

use watchkeeper_core::{LabelSelector, MatchExpression, RequirementError, StructuredSelector};

use crate::api::meta::v1::LabelSelector as StructuredLabelSelector;

/// Conversion of the label selector in an object's spec, as client-go's `LabelSelectorAsSelector`.
///
/// It is a trait of this crate and not a `TryFrom`, because only a crate that owns one of the two types can implement
/// `TryFrom`: k8s-openapi, or `watchkeeper-core`, which does not depend on k8s-openapi.
///
/// ```
/// use watchkeeper_kinds::AsSelector as _;
/// use watchkeeper_kinds::api::meta::v1::LabelSelector;
///
/// let spec = LabelSelector::default().with_match_labels([("app", "web")]);
/// assert_eq!(spec.as_selector()?.to_string(), "app=web");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait AsSelector {
    /// Returns the selector. An empty one matches everything.
    ///
    /// # Errors
    /// If a key, value or operator is invalid.
    fn as_selector(&self) -> Result<LabelSelector, RequirementError>;
}

impl AsSelector for StructuredLabelSelector {
    fn as_selector(&self) -> Result<LabelSelector, RequirementError> {
        let expressions = self.match_expressions.iter().map(|expression| MatchExpression {
            key: expression.key.to_string(),
            operator: expression.operator.to_string(),
            values: expression.values.iter().map(ToString::to_string).collect(),
        });
        let labels = self.match_labels.iter();
        LabelSelector::try_from(&StructuredSelector {
            match_labels: labels.map(|(key, value)| (key.to_string(), value.to_string())).collect(),
            match_expressions: expressions.collect(),
        })
    }
}

#[cfg(feature = "k8s-openapi")]
impl AsSelector for k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector {
    fn as_selector(&self) -> Result<LabelSelector, RequirementError> {
        let expressions = self.match_expressions.iter().flatten().map(|expression| MatchExpression {
            key: expression.key.clone(),
            operator: expression.operator.clone(),
            values: expression.values.clone().unwrap_or_default(),
        });
        LabelSelector::try_from(&StructuredSelector {
            match_labels: self.match_labels.clone().unwrap_or_default(),
            match_expressions: expressions.collect(),
        })
    }
}
