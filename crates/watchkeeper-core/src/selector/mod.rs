//! Selectors: which objects are meant, by their labels or by their fields.
//!
//! From: text, as a request or a command line carries it; a body, where a workload says which pods
//! are its own ([`StructuredSelector`]).
//! To:   the same text in one canonical form, for a request; yes or no for an object; the values
//! that an index can look up.
//!
//! - L1: what a selector prints reads back as an equal selector.
//! - L2: every requirement must hold. A selector without requirements selects everything; one that
//!   selects nothing has no text, and is the absence of a selector (`None`).

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

/// Why a text is not a selector, and where.
///
/// ```
/// use watchkeeper_core::LabelSelector;
///
/// let error = LabelSelector::parse("app in (web,").unwrap_err();
/// assert_eq!(error.to_string(), r#"at 12: found the end but expected a value, "," or ")""#);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("at {at}: {problem}")]
pub struct SelectorError {
    /// How many bytes of the text stand before the problem.
    pub at: usize,
    /// What is wrong there.
    pub problem: SelectorProblem,
}

/// What is wrong with a selector at one place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SelectorProblem {
    /// Something else has to stand here.
    #[error("found {} but expected {expected}", shown(.found.as_deref()))]
    Unexpected {
        /// What stands there, shortened if long; `None` at the end of the text.
        found: Option<String>,
        /// What could stand there.
        expected: &'static str,
    },
    /// The grammar holds, but a key or a value is not one that a label can have.
    #[error(transparent)]
    Requirement(#[from] RequirementError),
}

impl SelectorError {
    fn unexpected(at: usize, found: &str, expected: &'static str) -> Self {
        let found = (!found.is_empty()).then(|| excerpt(found));
        Self { at, problem: SelectorProblem::Unexpected { found, expected } }
    }
}

fn shown(found: Option<&str>) -> String {
    found.map_or_else(|| "the end".to_owned(), |text| format!("{text:?}"))
}
