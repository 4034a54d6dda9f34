//! Pending: the deltas of one key that were not looked at yet, as few as they can be.

use super::{Delta, Incarnation};

/// What a consumer has not seen yet of a key (Q2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Pending<T> {
    /// One delta.
    One(Delta<T>),
    /// That an object is gone, and that another is there.
    Replaced { old: T, last: Option<T>, new: T, initial: bool },
}

impl<T: Incarnation> Pending<T> {
    /// Both, one after the other; `None` if they cancel out (Q3).
    ///
    /// | pending      | then added          | then updated | then deleted | then resync |
    /// |--------------|---------------------|--------------|--------------|-------------|
    /// | added        | added, newer        | added, newer | -            | added       |
    /// | updated      | updated, newer      | updated, newer | deleted    | updated     |
    /// | deleted      | replaced, or updated if it is the same object | as added | deleted | deleted |
    /// | resync       | updated             | updated      | deleted      | resync      |
    /// | replaced     | replaced, newer     | replaced, newer | deleted   | replaced    |
    pub(super) fn then(self, next: Delta<T>) -> Option<Self> {
        let one = |delta| Some(Self::One(delta));
        match (self, next) {
            (pending @ Self::Replaced { .. }, Delta::Resync(_)) => Some(pending),
            (
                Self::One(pending @ (Delta::Added { .. } | Delta::Updated { .. } | Delta::Deleted { .. })),
                Delta::Resync(_),
            ) => one(pending),
            (Self::One(Delta::Resync(_)), Delta::Resync(new)) => one(Delta::Resync(new)),
            (
                Self::One(Delta::Added { initial, .. }),
                Delta::Added { new, .. } | Delta::Updated { new, .. },
            ) => one(Delta::Added { new, initial }),
            (Self::One(Delta::Added { .. }), Delta::Deleted { .. }) => None,
            (
                Self::One(Delta::Updated { old, .. } | Delta::Resync(old)),
                Delta::Added { new, .. } | Delta::Updated { new, .. },
            ) => one(Delta::Updated { old, new }),
            (Self::One(Delta::Updated { old, .. } | Delta::Resync(old)), Delta::Deleted { last, .. }) => {
                one(Delta::Deleted { old, last })
            }
            (
                Self::One(Delta::Deleted { old, .. }),
                Delta::Added { new, .. } | Delta::Updated { new, .. },
            ) if old.is_same_as(&new) => one(Delta::Updated { old, new }),
            (Self::One(Delta::Deleted { old, last }), Delta::Added { new, initial }) => {
                Some(Self::Replaced { old, last, new, initial })
            }
            (Self::One(Delta::Deleted { old, last }), Delta::Updated { new, .. }) => {
                Some(Self::Replaced { old, last, new, initial: false })
            }
            (Self::One(pending @ Delta::Deleted { .. }), Delta::Deleted { .. }) => one(pending),
            (
                Self::Replaced { old, last, initial, .. },
                Delta::Added { new, .. } | Delta::Updated { new, .. },
            ) => Some(Self::Replaced { old, last, new, initial }),
            (Self::Replaced { old, last, .. }, Delta::Deleted { .. }) => one(Delta::Deleted { old, last }),
        }
    }

    /// The first delta, and what is left.
    pub(super) fn split(self) -> (Delta<T>, Option<Self>) {
        match self {
            Self::One(delta) => (delta, None),
            Self::Replaced { old, last, new, initial } => {
                (Delta::Deleted { old, last }, Some(Self::One(Delta::Added { new, initial })))
            }
        }
    }
}
