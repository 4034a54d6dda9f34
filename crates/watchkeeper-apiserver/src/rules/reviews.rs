//! Reviews: questions that are posted and answered, but not stored.

use super::{Action, CreateEndpoint, KindRules};

/// The kinds of review.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Review {
    /// The identity of the caller.
    SelfSubject,
    /// The identity behind a token.
    Token,
    /// Whether a user may do something.
    SubjectAccess,
    /// Whether a user may do something in the namespace of the review.
    LocalSubjectAccess,
    /// Whether the caller may do something.
    SelfSubjectAccess,
    /// The rules that apply to the caller in a namespace.
    SelfSubjectRules,
}

impl KindRules for Review {
    fn create_endpoint(&self, subresource: Option<&str>) -> Option<CreateEndpoint> {
        subresource.is_none().then_some(CreateEndpoint::Action(Action::Review(*self)))
    }
}
