//! A source that is defined by two closures.

use futures_util::{StreamExt as _, stream};
use watchkeeper_core::{
    ListError, ListMeta, ListPart, ListRequest, ListStream, ListWatch, Object, WatchError, WatchFuture,
    WatchRequest, WatchStream,
};

/// A page of a list, or all of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The objects.
    pub items: Vec<Object>,
    /// The list metadata: resource version and continue token.
    pub end: ListMeta,
}

/// Creates a source from a closure that lists and one that watches; client-go's `cache.ListWatch` with `ListFunc` and
/// `WatchFunc`.
///
/// A source with two objects, one of which is deleted by the watch:
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// use futures_util::{StreamExt as _, stream};
/// use watchkeeper_cache::source::{Page, from_closures};
/// use watchkeeper_core::{Encoded, ObjectMetaBuilder, ListMeta, ListRequest, ListWatch as _, Object, WatchEvent};
///
/// fn file(name: &str, version: &str) -> Object {
///     let metadata = ObjectMetaBuilder::default().name(name).version(version).finish();
///     Object { metadata, encoded: Encoded::json(*b"{}") }
/// }
///
/// let files = from_closures(
///     |_request| async {
///         let end = ListMeta::new(2.into());
///         Ok(Page { items: vec![file("a", "1"), file("b", "2")], end })
///     },
///     |_request| async {
///         let gone = WatchEvent::Deleted(file("a", "3"));
///         Ok(stream::iter([Ok(gone)]).chain(stream::pending()).boxed())
///     },
/// );
/// assert_eq!(files.list(ListRequest::default()).count().await, 3); // two items and the list metadata
/// # }
/// ```
///
/// Initial events are not requested from the watch closure unless [enabled](Closures::sends_initial_events).
pub fn from_closures<L, W, Listing, Opening>(list: L, watch: W) -> Closures<L, W>
where
    L: Fn(ListRequest) -> Listing + Send + Sync,
    W: Fn(WatchRequest) -> Opening + Send + Sync,
    Listing: Future<Output = Result<Page, ListError>> + Send + 'static,
    Opening: Future<Output = Result<WatchStream, WatchError>> + Send + 'static,
{
    Closures { list, watch, initial_events: false }
}

/// The source that [`from_closures`] returns.
#[derive(Debug, Clone)]
pub struct Closures<L, W> {
    list: L,
    watch: W,
    initial_events: bool,
}

impl<L, W> Closures<L, W> {
    /// Declares that the watch closure supports
    /// [`WatchFrom::InitialEvents`](watchkeeper_core::WatchFrom::InitialEvents).
    #[must_use]
    pub fn sends_initial_events(mut self) -> Self {
        self.initial_events = true;
        self
    }
}

impl<L, W, Listing, Opening> ListWatch for Closures<L, W>
where
    L: Fn(ListRequest) -> Listing + Send + Sync,
    W: Fn(WatchRequest) -> Opening + Send + Sync,
    Listing: Future<Output = Result<Page, ListError>> + Send + 'static,
    Opening: Future<Output = Result<WatchStream, WatchError>> + Send + 'static,
{
    fn list(&self, request: ListRequest) -> ListStream {
        let parts = |page: Result<Page, ListError>| {
            let (items, last) = match page {
                Ok(page) => (page.items, Ok(ListPart::End(page.end))),
                Err(error) => (Vec::new(), Err(error)),
            };
            stream::iter(items.into_iter().map(|item| Ok(ListPart::Item(item))).chain([last]))
        };
        stream::once((self.list)(request)).flat_map(parts).boxed()
    }

    fn watch(&self, request: WatchRequest) -> WatchFuture {
        Box::pin((self.watch)(request))
    }

    fn sends_initial_events(&self) -> bool {
        self.initial_events
    }
}
