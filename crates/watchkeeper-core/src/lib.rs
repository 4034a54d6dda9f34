//! Types shared by all Watchkeeper crates: keys, versions, kinds, selectors, statuses, watch events
//! and the list/watch trait. Nothing here does I/O.
//!
//! ```text
//! server -> list/watch -> reflector -> indexed store -> delta queue -> handlers -> workqueue -> worker
//! ```
//!
//! An object travels this line as an [`Object`]: the bytes that the server sent ([`Encoded`]) and its
//! parsed metadata ([`ObjectMeta`]). It is decoded into a Rust type only when a reader asks for one.
//!
//! | for | use |
//! |---|---|
//! | an object and its version | [`ObjectKey`], [`ResourceVersion`] |
//! | a type of object | [`GroupVersionKind`], [`GroupVersionResource`] |
//! | a set of objects | [`Collection`], [`LabelSelector`], [`FieldSelector`] |
//! | the outcome of a request | [`Status`] |
//! | a change | [`WatchEvent`] |
//! | a source of objects | [`ListWatch`] |
//! | health endpoints | [`Health`] |

mod backoff;
pub mod discovery;
mod elapsed;
mod encoded;
mod excerpt;
mod health;
mod key;
mod kind;
mod list_watch;
mod null;
mod object_meta;
mod quoted;
mod report;
mod selector;
mod status;
pub mod table;
mod timestamp;
mod token_bucket;
mod uuid;
mod version;
mod watch_event;

pub use backoff::{Backoff, Delays};
pub use elapsed::elapsed;
pub use encoded::{Encoded, Encoding, Object};
pub use health::{Health, HealthCheck, HealthResponse};
pub use key::{KeyError, ObjectKey};
pub use kind::{
    GroupKind, GroupResource, GroupVersion, GroupVersionError, GroupVersionKind, GroupVersionResource,
};
pub use list_watch::{
    BoxError, Collection, EndlessList, ListAt, ListError, ListMeta, ListPart, ListRequest, ListStream,
    ListWatch, ListWatchFactory, MAX_EMPTY_PAGES, MAX_PAGES, Paging, Union, WatchError, WatchFrom,
    WatchFuture, WatchRequest, WatchStream,
};
pub use object_meta::{ObjectMeta, ObjectMetaBuilder, OwnerReference};
pub use quoted::{Quoted, is_printable};
pub use report::{ErrorChain, Report};
pub use selector::{
    Condition, FieldNameError, FieldOperator, FieldRequirement, FieldSelector, LabelSelector,
    MatchExpression, Requirement, RequirementError, SelectorError, SelectorProblem, StructuredSelector,
};
pub use status::{CauseType, Outcome, Status, StatusCause, StatusDetails, StatusReason, UnexpectedResponse};
pub use timestamp::{Timestamp, TimestampError};
pub use token_bucket::TokenBucket;
pub use uuid::uuid_v4;
pub use version::{NotComparable, ResourceVersion};
pub use watch_event::{Bookmark, UnknownWatchEventType, WatchEvent, WatchEventType};
