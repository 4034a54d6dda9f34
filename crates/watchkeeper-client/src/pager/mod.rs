//! Pager: a list that is too long for one answer, page by page.
//!
//! From: whoever can fetch one page: a closure over any client.
//! To:   the list as a whole, or its items as they come.
//!
//! - G1: the version that was asked for goes with the first page only: the token of a page knows its version,
//!   and servers refuse both together.
//! - G2: no more than [`buffer`](Pager::buffer) pages wait to be read, besides the one that is being fetched.
//! - G3: an item is never handed out twice: what falls back to the whole list has handed out nothing before.
//! - G4: a list whose pages do not end is an error: see [`EndlessList`](watchkeeper_core::EndlessList).
//!
//! client-go's `EachListItem` sends the version with every page, and so fails after the first page of a list
//! that has one. [`Pager::items`] does not.

mod stream;

use std::future::Future;
use std::num::NonZeroU32;

use watchkeeper_core::{ListAt, ListRequest, Paging, Status};

use crate::resource::List;
use crate::rest::RequestError;

pub use stream::{Items, Pages};

/// How many items a page has at most, where the request does not say.
pub const PAGE_SIZE: NonZeroU32 = NonZeroU32::new(500).expect("it is not zero");

/// How many pages wait to be read at most, besides the one that is being fetched.
pub const PAGE_BUFFER: usize = 10;

/// What to do when the server has forgotten the version of the first page before the last page is fetched.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnExpired {
    /// That is the outcome.
    Fail,
    /// [`Pager::list`] asks for all of it at once, as the first page was asked for. For items that are handed
    /// out as they come it is the outcome (G3).
    #[default]
    ListAll,
    /// The rest comes from the newest version, with the token that the server gives for that: an object that
    /// changed its place meanwhile can be missing.
    GoOn,
}

/// Fetches pages.
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

/// A list that was fetched as a whole.
#[derive(Debug, Clone, PartialEq)]
pub struct Listed<T> {
    /// All items, at the version of the first page.
    pub all: List<T>,
    /// Whether more than one page was asked for.
    pub is_paged: bool,
}

impl<F, A, T> Pager<F>
where
    F: FnMut(ListRequest) -> A,
    A: Future<Output = Result<List<T>, RequestError>>,
{
    /// Pages that this fetches. What it is given says which page, and at most how many items; selectors are
    /// its own.
    pub fn new(fetch: F) -> Self {
        Self { fetch, page_size: PAGE_SIZE, buffer: PAGE_BUFFER, on_expired: OnExpired::default() }
    }

    /// How many items a page has at most, where the request does not say; [`PAGE_SIZE`] by default.
    pub fn page_size(mut self, size: NonZeroU32) -> Self {
        self.page_size = size;
        self
    }

    /// How many pages wait to be read at most (G2); [`PAGE_BUFFER`] by default.
    pub fn buffer(mut self, pages: usize) -> Self {
        self.buffer = pages;
        self
    }

    /// What to do when the list expires half-way; [`OnExpired::ListAll`] by default.
    pub fn on_expired(mut self, what: OnExpired) -> Self {
        self.on_expired = what;
        self
    }

    /// The list as a whole. Dropped half-way, nothing is left of it.
    ///
    /// # Errors
    /// The first error of a page that is not got over, or a list whose pages do not end (G4).
    pub async fn list(mut self, request: ListRequest) -> Result<Listed<T>, RequestError> {
        let mut course = Course::new(request, self.page_size, self.on_expired);
        let mut all = None;
        let mut is_paged = false;
        while let Some(request) = course.next.take() {
            let page = match (self.fetch)(request).await {
                Ok(page) => page,
                Err(error) if course.lists_all_after(&error) => {
                    let all = (self.fetch)(course.whole()).await?;
                    return Ok(Listed { all, is_paged });
                }
                Err(error) => {
                    course.after_error(error)?;
                    continue;
                }
            };
            course.after(page.items.len(), page.continue_token.as_deref())?;
            is_paged |= course.next.is_some();
            let (_, items) = all.get_or_insert_with(|| (page.version, Vec::new()));
            items.extend(page.items);
        }
        let (version, items) = all.unwrap_or_default();
        let all = List { items, version, continue_token: None, remaining: None };
        Ok(Listed { all, is_paged })
    }
}

impl<F, A, T> Pager<F>
where
    F: FnMut(ListRequest) -> A + Send + 'static,
    A: Future<Output = Result<List<T>, RequestError>> + Send + 'static,
    T: Send + 'static,
{
    /// The pages as they come, fetched ahead by a task that ends when the stream is dropped. It is begun at
    /// once, and needs a tokio runtime.
    pub fn pages(self, request: ListRequest) -> Pages<T> {
        let course = Course::new(request, self.page_size, self.on_expired);
        Pages::fetch(self.fetch, course, self.buffer)
    }

    /// The items as they come: [`pages`](Self::pages), one item at a time.
    pub fn items(self, request: ListRequest) -> Items<T> {
        Items::of(self.pages(request))
    }
}

/// Which page is next.
#[derive(Debug)]
struct Course {
    next: Option<ListRequest>,
    /// What was asked for in the first place, less a page.
    at: ListAt,
    limit: NonZeroU32,
    on_expired: OnExpired,
    /// Whether the request that is out is for a page after another.
    is_later: bool,
    /// G4.
    paging: Paging,
}

impl Course {
    fn new(request: ListRequest, page_size: NonZeroU32, on_expired: OnExpired) -> Self {
        let limit = request.limit.unwrap_or(page_size);
        let (at, is_later) = match &request.at {
            ListAt::Page(_) => (ListAt::MostRecent, true),
            at => (at.clone(), false),
        };
        let next = Some(ListRequest { at: request.at, limit: Some(limit) });
        Self { next, at, limit, on_expired, is_later, paging: Paging::default() }
    }

    /// A page has come with this many items.
    fn after(&mut self, items: usize, continue_token: Option<&str>) -> Result<(), RequestError> {
        let Some(token) = continue_token.filter(|token| !token.is_empty()) else { return Ok(()) };
        self.paging
            .advance(items, token)
            .map_err(|source| RequestError::EndlessList { request: "paged list".to_owned(), source })?;
        self.is_later = true;
        self.next = Some(ListRequest { at: ListAt::Page(token.to_owned()), limit: Some(self.limit) });
        Ok(())
    }

    /// A page has not come: whether there is another way to the rest.
    fn after_error(&mut self, error: RequestError) -> Result<(), RequestError> {
        let token = self.expired(&error).and_then(|status| status.continue_token.clone());
        match token {
            Some(token) if self.on_expired == OnExpired::GoOn && !token.is_empty() => {
                self.after(0, Some(&token))
            }
            _ => Err(error),
        }
    }

    fn lists_all_after(&self, error: &RequestError) -> bool {
        self.on_expired == OnExpired::ListAll && self.expired(error).is_some()
    }

    fn whole(&self) -> ListRequest {
        ListRequest { at: self.at.clone(), limit: None }
    }

    /// Only a later page can expire: for the first one, there is no version yet that could be forgotten.
    fn expired<'e>(&self, error: &'e RequestError) -> Option<&'e Status> {
        error.status().filter(|status| self.is_later && status.is_expired())
    }
}
