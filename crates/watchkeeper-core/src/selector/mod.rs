//! Label and field selectors.
//!
//! Input: the text form of requests and command lines, or the structured form in the spec of a
//! workload ([`StructuredSelector`]).
//! Output: the canonical text for a request, matches of objects, and values for index lookups.
//!
//! - `selector.L1`: parsing the text of a selector yields an equal selector.
//! - `selector.L2`: every requirement must hold. A selector without requirements selects everything.
//!   Selecting nothing has no text form and is expressed as `None`.

mod field;
mod label;
mod lexer;
mod requirement;
mod structured;

pub use field::{FieldNameError, FieldOperator, FieldRequirement, FieldSelector};
pub use label::LabelSelector;
pub use requirement::{Condition, Requirement, RequirementError};
pub use structured::{MatchExpression, StructuredSelector};

use crate::excerpt::excerpt;

/// An error from parsing a selector, with its position.
///
/// ```
/// use watchkeeper_core::LabelSelector;
///
/// let error = LabelSelector::parse("app in (web,").unwrap_err();
/// assert_eq!(error.to_string(), r#"at 12: found end of input, expected a value, "," or ")""#);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("at {at}: {problem}")]
pub struct SelectorError {
    /// Byte offset of the problem.
    pub at: usize,
    /// The problem.
    pub problem: SelectorProblem,
}

/// A problem in the text of a selector.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SelectorProblem {
    /// An unexpected token.
    #[error("found {}, expected {expected}", display_found(.found.as_deref()))]
    Unexpected {
        /// The token, shortened if long; `None` at the end of the text.
        found: Option<String>,
        /// The expected tokens.
        expected: &'static str,
    },
    /// A syntactically correct requirement with an invalid key or value.
    #[error(transparent)]
    Requirement(#[from] RequirementError),
}

impl SelectorError {
    fn unexpected(at: usize, found: &str, expected: &'static str) -> Self {
        let found = (!found.is_empty()).then(|| excerpt(found));
        Self { at, problem: SelectorProblem::Unexpected { found, expected } }
    }
}

fn display_found(found: Option<&str>) -> String {
    found.map_or_else(|| "end of input".to_owned(), |text| format!("{text:?}"))
}
