//! List and watch: where objects come from.
//!
//! From: whatever has objects: the REST client, etcd, the embedded server in process, a script in a
//! test. Each is a [`ListWatch`].
//! To:   the reflector, and nobody else.
//!
//! Namespace and selectors belong to the producer, which was made for one collection. A request
//! says only where in that collection's history to begin.
//!
//! - W1: a list is items and then exactly one [`End`](ListPart::End). A list that stops without one
//!   was cut off, and nothing of it counts.
//! - W2: an error is the last thing that a stream yields.
//! - W3: dropping a stream, or a watch that is still opening, ends the request behind it.

mod error;
mod paging;
mod request;
mod sources;
mod union;

use std::pin::Pin;
use std::sync::Arc;

use futures_core::Stream;

pub use error::{BoxError, ListError, WatchError};
pub use paging::{EndlessList, MAX_EMPTY_PAGES, MAX_PAGES, Paging};
pub use request::{ListAt, ListRequest, WatchFrom, WatchRequest};
pub use sources::{Collection, Sources};
pub use union::Union;

use crate::{Object, ResourceVersion, WatchEvent};

/// A page of a list while it arrives. See W1 and W2 of [`ListWatch`].
pub type ListStream = Pin<Box<dyn Stream<Item = Result<ListPart, ListError>> + Send>>;

/// A watch while it goes on. It ends without an error when the server closes it, which it does
/// every few minutes: watch again from the last version.
pub type WatchStream = Pin<Box<dyn Stream<Item = Result<WatchEvent, WatchError>> + Send>>;

/// A watch that is being opened.
///
/// That a watch was refused and that an accepted one failed are told apart because they are
/// answered differently: the first is reported to the owner of the informer, the second is not.
pub type WatchOpening = Pin<Box<dyn Future<Output = Result<WatchStream, WatchError>> + Send>>;

/// A collection that can be listed and watched: the seam between what has objects and the
/// reflector.
///
/// - W1: a list is items and then exactly one [`End`](ListPart::End). A list that stops without one
///   was cut off, and nothing of it counts.
/// - W2: an error is the last thing that a stream yields.
/// - W3: dropping a stream, or a watch that is still opening, ends the request behind it.
///
/// A source of one object that never changes:
///
/// ```
/// use futures_util::{FutureExt, StreamExt, future, stream};
/// use watchkeeper_core::{
///     Encoded, HeadBuilder, ListAt, ListEnd, ListPart, ListRequest, ListStream, ListWatch, Object,
///     WatchOpening, WatchRequest,
/// };
///
/// struct Still(Object);
///
/// impl ListWatch for Still {
///     fn list(&self, _: ListRequest) -> ListStream {
///         let end = ListEnd { version: self.0.head.version().clone(), continue_token: None, remaining: None };
///         Box::pin(stream::iter([Ok(ListPart::Item(self.0.clone())), Ok(ListPart::End(end))]))
///     }
///
///     fn watch(&self, _: WatchRequest) -> WatchOpening {
///         Box::pin(future::ok(stream::pending().boxed()))
///     }
/// }
///
/// let head = HeadBuilder::default().name("motd").version("7").finish();
/// let source: Box<dyn ListWatch> = Box::new(Still(Object { head, encoded: Encoded::json(*b"{}") }));
///
/// let list = source.list(ListRequest { at: ListAt::Any, limit: None });
/// let parts: Vec<_> = list.map(Result::unwrap).collect().now_or_never().unwrap();
/// assert!(matches!(&parts[..], [ListPart::Item(_), ListPart::End(end)] if end.version == 7.into()));
/// ```
pub trait ListWatch: Send + Sync {
    /// Lists the collection, or a page of it.
    fn list(&self, request: ListRequest) -> ListStream;

    /// Watches the collection.
    fn watch(&self, request: WatchRequest) -> WatchOpening;

    /// Whether [`WatchFrom::InitialEvents`] is understood. Where it is not, the reflector lists
    /// first. True unless overridden: a server that does not know better refuses such a watch, and
    /// the reflector then lists all the same.
    fn sends_initial_events(&self) -> bool {
        true
    }

    /// Whether events come in the order of their versions: who was told of one was told of all before it.
    /// Where they do not, as of a [`Union`], only bookmarks say how far a watch has got. True unless
    /// overridden.
    fn is_ordered(&self) -> bool {
        true
    }
}

macro_rules! behind {
    ($($pointer:ident),+) => {$(
        impl<T: ListWatch + ?Sized> ListWatch for $pointer<T> {
            fn list(&self, request: ListRequest) -> ListStream {
                (**self).list(request)
            }

            fn watch(&self, request: WatchRequest) -> WatchOpening {
                (**self).watch(request)
            }

            fn sends_initial_events(&self) -> bool {
                (**self).sends_initial_events()
            }

            fn is_ordered(&self) -> bool {
                (**self).is_ordered()
            }
        }
    )+};
}

behind!(Arc, Box);

/// What a list is made of.
///
/// Items come one by one: handing on a part costs far less than reading an item, and a batch would
/// have to be collected first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListPart {
    /// An object of the collection.
    Item(Object),
    /// There are no more items in this page. Nothing comes after this.
    End(ListEnd),
}

/// What is known when a page has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListEnd {
    /// The version of the list: watch after it.
    pub version: ResourceVersion,
    /// Where the next page begins. Only `None` means that there is none: a page can be short, or
    /// empty, and yet not be the last.
    pub continue_token: Option<String>,
    /// How many items there are in the pages to come, where the server counts them.
    pub remaining: Option<u64>,
}
