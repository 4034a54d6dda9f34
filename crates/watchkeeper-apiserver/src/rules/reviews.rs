//! Reviews: questions that are posted and answered, but not stored.

use super::{Action, CreateEndpoint, KindRules};

/// The kinds of review.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Review {
    /// Who the caller is.
    SelfSubject,
    /// Whose a token is.
    Token,
    /// Whether somebody may do something.
    SubjectAccess,
    /// Whether somebody may do something in the namespace of the review.
    LocalSubjectAccess,
    /// Whether the caller may do something.
    SelfSubjectAccess,
    /// What the caller may do in a namespace.
    SelfSubjectRules,
}

impl KindRules for Review {
    fn create_endpoint(&self, subresource: Option<&str>) -> Option<CreateEndpoint> {
        subresource.is_none().then_some(CreateEndpoint::Action(Action::Review(*self)))
    }
}
