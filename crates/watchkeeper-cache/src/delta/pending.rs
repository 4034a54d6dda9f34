//! Pending: the coalesced deltas of one key.

use super::{Delta, Incarnation};

/// The deltas of a key that its consumer has not received yet (`delta.Q2`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Pending<T> {
    /// One delta.
    One(Delta<T>),
    /// An object was deleted, and another was added under its key.
    Replaced { old: T, last: Option<T>, new: T, initial: bool },
    /// An object that the consumer never received was deleted (`delta.Q3`).
    Transient { old: T, last: Option<T> },
}

impl<T: Incarnation> Pending<T> {
    /// Merges the next delta into the pending ones.
    ///
    /// | pending      | then added          | then updated | then deleted | then resync |
    /// |--------------|---------------------|--------------|--------------|-------------|
    /// | added        | added, newer        | added, newer | transient    | added       |
    /// | updated      | updated, newer      | updated, newer | deleted    | updated     |
    /// | deleted      | replaced, or updated if it is the same object | as added | deleted | deleted |
    /// | resync       | updated             | updated      | deleted      | resync      |
    /// | replaced     | replaced, newer     | replaced, newer | deleted   | replaced    |
    /// | transient    | added               | added        | transient    | transient   |
    pub(super) fn then(self, next: Delta<T>) -> Self {
        match (self, next) {
            (pending @ (Self::Replaced { .. } | Self::Transient { .. }), Delta::Resync(_)) => pending,
            (
                Self::One(pending @ (Delta::Added { .. } | Delta::Updated { .. } | Delta::Deleted { .. })),
                Delta::Resync(_),
            ) => Self::One(pending),
            (Self::One(Delta::Resync(_)), Delta::Resync(new)) => Self::One(Delta::Resync(new)),
            (
                Self::One(Delta::Added { initial, .. }),
                Delta::Added { new, .. } | Delta::Updated { new, .. },
            ) => Self::One(Delta::Added { new, initial }),
            (Self::One(Delta::Added { .. }) | Self::Transient { .. }, Delta::Deleted { old, last }) => {
                Self::Transient { old, last }
            }
            (
                Self::One(Delta::Updated { old, .. } | Delta::Resync(old)),
                Delta::Added { new, .. } | Delta::Updated { new, .. },
            ) => Self::One(Delta::Updated { old, new }),
            (Self::One(Delta::Updated { old, .. } | Delta::Resync(old)), Delta::Deleted { last, .. }) => {
                Self::One(Delta::Deleted { old, last })
            }
            (
                Self::One(Delta::Deleted { old, .. }),
                Delta::Added { new, .. } | Delta::Updated { new, .. },
            ) if old.same_uid(&new) => Self::One(Delta::Updated { old, new }),
            (Self::One(Delta::Deleted { old, last }), Delta::Added { new, initial }) => {
                Self::Replaced { old, last, new, initial }
            }
            (Self::One(Delta::Deleted { old, last }), Delta::Updated { new, .. }) => {
                Self::Replaced { old, last, new, initial: false }
            }
            (Self::One(pending @ Delta::Deleted { .. }), Delta::Deleted { .. }) => Self::One(pending),
            (
                Self::Replaced { old, last, initial, .. },
                Delta::Added { new, .. } | Delta::Updated { new, .. },
            ) => Self::Replaced { old, last, new, initial },
            (Self::Replaced { old, last, .. }, Delta::Deleted { .. }) => {
                Self::One(Delta::Deleted { old, last })
            }
            (Self::Transient { .. }, Delta::Added { new, initial }) => {
                Self::One(Delta::Added { new, initial })
            }
            (Self::Transient { .. }, Delta::Updated { new, .. }) => {
                Self::One(Delta::Added { new, initial: false })
            }
        }
    }

    /// Returns the first delta and the rest.
    pub(super) fn split(self) -> (Delta<T>, Option<Self>) {
        match self {
            Self::One(delta) => (delta, None),
            Self::Transient { old, last } => (Delta::Deleted { old, last }, None),
            Self::Replaced { old, last, new, initial } => {
                (Delta::Deleted { old, last }, Some(Self::One(Delta::Added { new, initial })))
            }
        }
    }
}
