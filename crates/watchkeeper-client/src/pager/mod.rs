//! Pager: lists in pages. (client-go: `pager.ListPager`.)
//!
//! Input: a closure that fetches one page.
//! Output: the whole list, or its items as they arrive.
//!
//! Invariants:
//! - `pager.G1`: the requested resource version is sent with the first page only: a continue token includes its version,
//!   and servers reject both together.
//! - `pager.G2`: at most [`buffer`](Pager::buffer) pages wait to be read, in addition to the one being fetched.
//! - `pager.G3`: an item is never returned twice: a fallback to the full list happens only before any item is returned.
//! - `pager.G4`: a list whose pages do not end is an error: see [`EndlessList`](watchkeeper_core::EndlessList).
//!
//! client-go's `EachListItem` sends the resource version with every page and so fails on the second one.
//! [`Pager::items`] does not.

mod stream;

use std::future::Future;
use std::num::NonZeroU32;

use watchkeeper_core::{ListAt, ListMeta, ListRequest, Paging, Status};

use crate::resource::List;
use crate::rest::RequestError;

pub use stream::{Items, Pages};

/// Default maximum number of items per page.
pub const PAGE_SIZE: NonZeroU32 = NonZeroU32::new(500).expect("it is not zero");

/// Default maximum number of buffered pages, in addition to the one being fetched.
pub const PAGE_BUFFER: usize = 10;

/// Behaviour if the continue token expires before the last page.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnExpired {
    /// Return the error.
    Fail,
    /// [`Pager::list`] falls back to one request for the whole list, at the originally requested version. Streams return
    /// the error (`pager.G3`).
    #[default]
    ListAll,
    /// Continue at the newest version, with the token that the server returns for that purpose: the result is
    /// inconsistent, and an object that changed its position meanwhile can be missing.
    Continue,
}

/// A pager, which fetches lists page by page.
///
/// ```no_run
/// # async fn example(pods: watchkeeper_client::dynamic::DynamicApi) -> Result<(), Box<dyn std::error::Error>> {
/// use futures_util::TryStreamExt as _;
/// use watchkeeper_client::dynamic::ListOptions;
/// use watchkeeper_client::pager::Pager;
/// use watchkeeper_core::ListRequest;
///
/// let pager = Pager::new(move |request| {
///     let pods = pods.clone();
///     async move { pods.list(&ListOptions { request, ..Default::default() }).await }
/// });
/// let mut items = pager.items(ListRequest::default());
/// while let Some(pod) = items.try_next().await? {
///     println!("{}", pod.name());
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
#[must_use = "a pager does nothing until something is listed"]
pub struct Pager<F> {
    fetch: F,
    page_size: NonZeroU32,
    buffer: usize,
    on_expired: OnExpired,
}

/// A whole list.
#[derive(Debug, Clone, PartialEq)]
pub struct PagedList<T> {
    /// All items, at the resource version of the first page.
    pub list: List<T>,
    /// Whether there was more than one page.
    pub paginated: bool,
}

impl<F, A, T> Pager<F>
where
    F: FnMut(ListRequest) -> A,
    A: Future<Output = Result<List<T>, RequestError>>,
{
    /// Creates a pager. `fetch` receives the page to fetch and its size, and adds selectors itself.
    pub fn new(fetch: F) -> Self {
        Self { fetch, page_size: PAGE_SIZE, buffer: PAGE_BUFFER, on_expired: OnExpired::default() }
    }

    /// Sets the maximum number of items per page for requests without a limit; [`PAGE_SIZE`] by default.
    pub fn page_size(mut self, size: NonZeroU32) -> Self {
        self.page_size = size;
        self
    }

    /// Sets the maximum number of buffered pages (`pager.G2`); [`PAGE_BUFFER`] by default.
    pub fn buffer(mut self, pages: usize) -> Self {
        self.buffer = pages;
        self
    }

    /// Sets what to do if the continue token expires; [`OnExpired::ListAll`] by default.
    pub fn on_expired(mut self, action: OnExpired) -> Self {
        self.on_expired = action;
        self
    }

    /// Fetches the whole list.
    ///
    /// # Errors
    /// The first error that is not recovered from, or a list whose pages do not end (`pager.G4`).
    pub async fn list(mut self, request: ListRequest) -> Result<PagedList<T>, RequestError> {
        let mut cursor = Cursor::new(request, self.page_size, self.on_expired);
        let mut all = None;
        let mut paginated = false;
        while let Some(request) = cursor.next.take() {
            let page = match (self.fetch)(request).await {
                Ok(page) => page,
                Err(error) if cursor.should_list_all(&error) => {
                    let list = (self.fetch)(cursor.full_list()).await?;
                    return Ok(PagedList { list, paginated });
                }
                Err(error) => {
                    cursor.recover(error)?;
                    continue;
                }
            };
            cursor.advance(page.items.len(), page.metadata.continue_token.as_deref())?;
            paginated |= cursor.next.is_some();
            let (_, items) = all.get_or_insert_with(|| (page.metadata.resource_version, Vec::new()));
            items.extend(page.items);
        }
        let (resource_version, items) = all.unwrap_or_default();
        let list = List { metadata: ListMeta { resource_version, ..ListMeta::default() }, items };
        Ok(PagedList { list, paginated })
    }
}

impl<F, A, T> Pager<F>
where
    F: FnMut(ListRequest) -> A + Send + 'static,
    A: Future<Output = Result<List<T>, RequestError>> + Send + 'static,
    T: Send + 'static,
{
    /// Returns the pages as a stream, fetched ahead by a task that starts immediately and ends when the stream is
    /// dropped. Requires a tokio runtime.
    pub fn pages(self, request: ListRequest) -> Pages<T> {
        let cursor = Cursor::new(request, self.page_size, self.on_expired);
        Pages::spawn(self.fetch, cursor, self.buffer)
    }

    /// Returns the items as a stream: [`pages`](Self::pages), flattened.
    pub fn items(self, request: ListRequest) -> Items<T> {
        Items::new(self.pages(request))
    }
}

/// The position in a paged list.
#[derive(Debug)]
struct Cursor {
    next: Option<ListRequest>,
    /// The version of the original request.
    at: ListAt,
    limit: NonZeroU32,
    on_expired: OnExpired,
    /// Whether the current request is for a later page.
    is_later: bool,
    /// Detects endless lists (`pager.G4`).
    paging: Paging,
}

impl Cursor {
    fn new(request: ListRequest, page_size: NonZeroU32, on_expired: OnExpired) -> Self {
        let limit = request.limit.unwrap_or(page_size);
        let (at, is_later) = match &request.at {
            ListAt::Page(_) => (ListAt::MostRecent, true),
            at => (at.clone(), false),
        };
        let next = Some(ListRequest { at: request.at, limit: Some(limit) });
        Self { next, at, limit, on_expired, is_later, paging: Paging::default() }
    }

    /// Moves on after a page with this many items.
    fn advance(&mut self, items: usize, continue_token: Option<&str>) -> Result<(), RequestError> {
        let Some(token) = continue_token.filter(|token| !token.is_empty()) else { return Ok(()) };
        self.paging
            .advance(items, token)
            .map_err(|source| RequestError::EndlessList { request: "paged list".to_owned(), source })?;
        self.is_later = true;
        self.next = Some(ListRequest { at: ListAt::Page(token.to_owned()), limit: Some(self.limit) });
        Ok(())
    }

    /// Continues after an expired token if configured to; returns the error otherwise.
    fn recover(&mut self, error: RequestError) -> Result<(), RequestError> {
        let token = self.expired(&error).and_then(|status| status.continue_token.clone());
        match token {
            Some(token) if self.on_expired == OnExpired::Continue && !token.is_empty() => {
                self.advance(0, Some(&token))
            }
            _ => Err(error),
        }
    }

    fn should_list_all(&self, error: &RequestError) -> bool {
        self.on_expired == OnExpired::ListAll && self.expired(error).is_some()
    }

    fn full_list(&self) -> ListRequest {
        ListRequest { at: self.at.clone(), limit: None }
    }

    /// Returns the status if the page has expired. Only a later page can: the first one has no token.
    fn expired<'e>(&self, error: &'e RequestError) -> Option<&'e Status> {
        error.status().filter(|status| self.is_later && status.is_expired())
    }
}
