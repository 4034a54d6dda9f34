//! List and watch: sources of objects.
//!
//! Input: a [`ListWatch`] implementation: the REST client, etcd, the embedded server, a test script.
//! Output: the reflector, its only consumer.
//!
//! The source fixes the namespace and the selectors. A request only says where in the collection's
//! history to start. [`ListWatch`] states the invariants.

mod collection;
mod error;
mod factory;
mod paging;
mod request;
mod union;

use std::pin::Pin;
use std::sync::Arc;

use futures_core::Stream;

pub use collection::Collection;
pub use error::{BoxError, ListError, WatchError};
pub use factory::ListWatchFactory;
pub use paging::{EndlessList, MAX_EMPTY_PAGES, MAX_PAGES, Paging};
pub use request::{ListAt, ListRequest, WatchFrom, WatchRequest};
pub use union::Union;

use crate::{Object, ResourceVersion, WatchEvent};

/// A list response as a stream. See [`ListWatch`] for its invariants.
pub type ListStream = Pin<Box<dyn Stream<Item = Result<ListPart, ListError>> + Send>>;

/// A stream of watch events. It ends without an error when the server closes the watch, as it does
/// every few minutes; the caller then watches again from the last version.
pub type WatchStream = Pin<Box<dyn Stream<Item = Result<WatchEvent, WatchError>> + Send>>;

/// A future that opens a watch.
///
/// It fails if the watch cannot be opened: the server rejects it, or cannot be reached. A failure after
/// that is an item of the stream.
pub type WatchFuture = Pin<Box<dyn Future<Output = Result<WatchStream, WatchError>> + Send>>;

/// A collection that can be listed and watched, as client-go's `ListerWatcher`.
///
/// - `list_watch.W1`: a list yields items and then exactly one [`End`](ListPart::End). A stream that
///   ends without it was truncated, and its items must be discarded.
/// - `list_watch.W2`: a stream yields nothing after an error.
/// - `list_watch.W3`: dropping a stream or the future of a watch cancels the request.
///
/// A source with a single, immutable object:
///
/// ```
/// use futures_util::{FutureExt, StreamExt, future, stream};
/// use watchkeeper_core::{
///     Encoded, ObjectMetaBuilder, ListAt, ListMeta, ListPart, ListRequest, ListStream, ListWatch, Object,
///     WatchFuture, WatchRequest,
/// };
///
/// struct Still(Object);
///
/// impl ListWatch for Still {
///     fn list(&self, _: ListRequest) -> ListStream {
///         let end = ListMeta::new(self.0.metadata.resource_version().clone());
///         Box::pin(stream::iter([Ok(ListPart::Item(self.0.clone())), Ok(ListPart::End(end))]))
///     }
///
///     fn watch(&self, _: WatchRequest) -> WatchFuture {
///         Box::pin(future::ok(stream::pending().boxed()))
///     }
/// }
///
/// let metadata = ObjectMetaBuilder::default().name("motd").version("7").finish();
/// let source: Box<dyn ListWatch> = Box::new(Still(Object { metadata, encoded: Encoded::json(*b"{}") }));
///
/// let list = source.list(ListRequest { at: ListAt::Any, limit: None });
/// let parts: Vec<_> = list.map(Result::unwrap).collect().now_or_never().unwrap();
/// assert!(matches!(&parts[..], [ListPart::Item(_), ListPart::End(end)] if end.resource_version == 7.into()));
/// ```
pub trait ListWatch: Send + Sync {
    /// Lists the collection, or a page of it.
    fn list(&self, request: ListRequest) -> ListStream;

    /// Watches the collection.
    fn watch(&self, request: WatchRequest) -> WatchFuture;

    /// Returns whether [`WatchFrom::InitialEvents`] is supported; `true` by default. If not, or if the
    /// server rejects such a watch, the reflector lists first.
    fn sends_initial_events(&self) -> bool {
        true
    }

    /// Returns whether events arrive in the order of their versions; `true` by default. If not, as for a
    /// [`Union`], only bookmarks mark the progress of a watch.
    fn is_ordered(&self) -> bool {
        true
    }
}

macro_rules! impl_for_pointers {
    ($($pointer:ident),+) => {$(
        impl<T: ListWatch + ?Sized> ListWatch for $pointer<T> {
            fn list(&self, request: ListRequest) -> ListStream {
                (**self).list(request)
            }

            fn watch(&self, request: WatchRequest) -> WatchFuture {
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

impl_for_pointers!(Arc, Box);

/// A part of a list response.
///
/// Items are yielded one by one: passing one on costs far less than decoding it, and a batch would
/// have to be collected first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListPart {
    /// An object of the collection.
    Item(Object),
    /// The end of the page. Nothing follows it.
    End(ListMeta),
}

/// The metadata of a list: `ListMeta` of `meta/v1`, and the type of the list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ListMeta {
    /// The resource version of the list, to watch from.
    pub resource_version: ResourceVersion,
    /// The token for the next page; `None` on the last page. A short or empty page is not
    /// necessarily the last.
    pub continue_token: Option<String>,
    /// The number of items in the remaining pages, if the server counts them.
    pub remaining_item_count: Option<u64>,
    /// The list's `apiVersion`; empty if the source has none.
    pub api_version: String,
    /// The list's kind, such as `PodList`; empty if the source has none.
    pub kind: String,
}

impl ListMeta {
    /// Creates the end of an unpaged list.
    pub fn new(resource_version: ResourceVersion) -> Self {
        Self { resource_version, ..Self::default() }
    }
}
