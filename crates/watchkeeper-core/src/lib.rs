//! The vocabulary of Watchkeeper: what is said between the hops of the line, and nothing that
//! does I/O.
//!
//! ```text
//! server -> list/watch -> reflector -> delta queue -> indexed store -> handlers -> workqueue -> worker
//! ```
//!
//! An object travels this line as an [`Object`]: its bytes as the server sent them ([`Encoded`])
//! and a small parsed [`Head`]. No Rust type of the object is known before somebody at an edge
//! asks for one.
//!
//! | to say | there is |
//! |---|---|
//! | which object, in which version | [`ObjectKey`], [`ResourceVersion`] |
//! | what type of object | [`GroupVersionKind`], [`GroupVersionResource`] |
//! | which objects are meant | [`LabelSelector`], [`FieldSelector`] |
//! | what became of a request | [`Status`] |
//! | what has changed | [`WatchEvent`] |
//! | where objects come from | [`ListWatch`] |
//! | whether a program is well | [`Health`] |

mod elapsed;
mod encoded;
mod excerpt;
mod head;
mod health;
mod key;
mod kind;
mod list_watch;
mod null;
mod quoted;
mod selector;
mod status;
mod timestamp;
mod version;
mod watch_event;

pub use elapsed::elapsed;
pub use encoded::{Encoded, Encoding, Object};
pub use head::{Head, HeadBuilder, Owner};
pub use health::{Check, Health, HealthAnswer};
pub use key::{KeyError, ObjectKey};
pub use kind::{
    GroupKind, GroupResource, GroupVersion, GroupVersionError, GroupVersionKind, GroupVersionResource,
};
pub use list_watch::{
    BoxError, Collection, EndlessList, ListAt, ListEnd, ListError, ListPart, ListRequest, ListStream,
    ListWatch, MAX_EMPTY_PAGES, MAX_PAGES, Paging, Sources, Union, WatchError, WatchFrom, WatchOpening,
    WatchRequest, WatchStream,
};
pub use quoted::{Quoted, is_printable};
pub use selector::{
    Condition, FieldNameError, FieldOperator, FieldRequirement, FieldSelector, LabelSelector,
    MatchExpression, Requirement, RequirementError, SelectorError, SelectorProblem, StructuredSelector,
};
pub use status::{CauseType, Outcome, Status, StatusCause, StatusDetails, StatusReason, UnexpectedAnswer};
pub use timestamp::{Timestamp, TimestampError};
pub use version::{NotComparable, ResourceVersion};
pub use watch_event::{Bookmark, EventKind, UnknownEventKind, WatchEvent};
