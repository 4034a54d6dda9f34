//! Pages and items as they come.

use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::Stream;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use watchkeeper_core::ListRequest;

use super::Course;
use crate::resource::List;
use crate::rest::RequestError;

/// The pages of a list. Dropping it cancels the request that is out.
pub struct Pages<T> {
    arriving: mpsc::Receiver<Result<List<T>, RequestError>>,
    /// The task that fetches, which ends with the stream.
    _fetching: JoinSet<()>,
}

impl<T: Send + 'static> Pages<T> {
    pub(super) fn fetch<F, A>(mut fetch: F, mut course: Course, buffer: usize) -> Self
    where
        F: FnMut(ListRequest) -> A + Send + 'static,
        A: Future<Output = Result<List<T>, RequestError>> + Send + 'static,
    {
        // A place is taken before the page is asked for, so that one place more is the page in the making (G2).
        let (pages, arriving) = mpsc::channel(buffer.saturating_add(1).min(MOST_PLACES));
        let mut fetching = JoinSet::new();
        fetching.spawn(async move {
            while let Some(request) = course.next.take() {
                let Ok(place) = pages.reserve().await else { return };
                match fetch(request).await {
                    Ok(page) => {
                        let advanced = course.after(page.items.len(), page.continue_token.as_deref());
                        place.send(Ok(page));
                        if let Err(error) = advanced {
                            let _ = pages.send(Err(error)).await; // nobody reads any more
                        }
                    }
                    Err(error) => {
                        if let Err(error) = course.after_error(error) {
                            place.send(Err(error));
                        }
                    }
                }
            }
        });
        Self { arriving, _fetching: fetching }
    }
}

/// More pages than this would not fit into memory anyhow.
const MOST_PLACES: usize = 1 << 16;

impl<T> Stream for Pages<T> {
    type Item = Result<List<T>, RequestError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.arriving.poll_recv(context)
    }
}

impl<T> fmt::Debug for Pages<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pages").field("waiting", &self.arriving.len()).finish_non_exhaustive()
    }
}

/// The items of a list. Dropping it cancels the request that is out.
pub struct Items<T> {
    pages: Pages<T>,
    here: VecDeque<T>,
}

impl<T> Items<T> {
    pub(super) fn of(pages: Pages<T>) -> Self {
        Self { pages, here: VecDeque::new() }
    }
}

impl<T> Unpin for Items<T> {}

impl<T> Stream for Items<T> {
    type Item = Result<T, RequestError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(item) = self.here.pop_front() {
                return Poll::Ready(Some(Ok(item)));
            }
            match ready!(Pin::new(&mut self.pages).poll_next(context)) {
                None => return Poll::Ready(None),
                Some(Ok(page)) => self.here = page.items.into(),
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
            }
        }
    }
}

impl<T> fmt::Debug for Items<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Items").field("here", &self.here.len()).field("pages", &self.pages).finish()
    }
}
