//! Label selectors of `k8s_openapi` types.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector as StructuredLabelSelector;
use watchkeeper_core::{LabelSelector, MatchExpression, RequirementError, StructuredSelector};

/// Conversion of the label selector in an object's spec, as client-go's `LabelSelectorAsSelector`.
///
/// It is a trait of this crate and not a `TryFrom`, because only a crate that owns one of the two types can implement
/// `TryFrom`: k8s-openapi, or `watchkeeper-core`, which does not depend on k8s-openapi.
///
/// ```
/// use watchkeeper_kinds::AsSelector as _;
/// use watchkeeper_kinds::k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
///
/// let spec = LabelSelector {
///     match_labels: Some([("app".to_owned(), "web".to_owned())].into()),
///     ..Default::default()
/// };
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
        let expressions = self.match_expressions.iter().flatten().map(|expression| MatchExpression {
            key: expression.key.clone(),
            operator: expression.operator.clone(),
            values: expression.values.clone().unwrap_or_default(),
        });
        let structured = StructuredSelector {
            match_labels: self.match_labels.clone().unwrap_or_default(),
            match_expressions: expressions.collect(),
        };
        LabelSelector::try_from(&structured)
    }
}
