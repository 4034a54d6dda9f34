//! Ended: how a reflector ends, and what it does when there is nothing left to reflect.

use watchkeeper_core::Status;

/// What to do once a collection is not there any more, as when a custom resource definition was removed: it had
/// been listed before, and a list is now answered by 404.
///
/// Either way [`Observer::gone`](super::Observer::gone) is called and [`Progress`](super::Progress) says so. The copy stays as it was: whoever owns it
/// knows whether its objects are to be forgotten, or whether a server is only being replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum WhenGone {
    /// Go on asking, with the usual delays, and without further reports until it is there again.
    #[default]
    KeepTrying,
    /// End, with [`Why::Gone`].
    End,
}

/// How a reflector has ended.
#[derive(Debug)]
#[non_exhaustive]
pub struct Ended<S> {
    /// The copy, for another reflector to go on with.
    pub sink: S,
    /// The reason.
    pub why: Why,
}

/// Why a reflector has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Why {
    /// It was asked to.
    Stopped,
    /// The collection is not there any more, and this is what the server says: see [`WhenGone`].
    Gone(Box<Status>),
    /// Something that it was given, as its observer, has panicked.
    Panicked,
}

impl std::fmt::Display for Why {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Stopped => f.write_str("it was stopped"),
            Self::Gone(status) => write!(f, "the collection is gone: {status}"),
            Self::Panicked => f.write_str("it has panicked"),
        }
    }
}
