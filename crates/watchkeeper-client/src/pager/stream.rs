//! Pages and items as streams.

use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::Stream;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use watchkeeper_core::ListRequest;

use super::Cursor;
use crate::resource::List;
use crate::rest::RequestError;

/// A stream of pages. Dropping it cancels the request in flight.
pub struct Pages<T> {
    arriving: mpsc::Receiver<Result<List<T>, RequestError>>,
    /// The task that fetches pages; ends with the stream.
    _fetching: JoinSet<()>,
}

impl<T: Send + 'static> Pages<T> {
    pub(super) fn spawn<F, A>(mut fetch: F, mut cursor: Cursor, buffer: usize) -> Self
    where
        F: FnMut(ListRequest) -> A + Send + 'static,
        A: Future<Output = Result<List<T>, RequestError>> + Send + 'static,
    {
        // A permit is taken before a page is requested, so the channel has one more slot for that page (pager.G2).
        let (pages, arriving) = mpsc::channel(buffer.saturating_add(1).min(MAX_SLOTS));
        let mut fetching = JoinSet::new();
        fetching.spawn(async move {
            while let Some(request) = cursor.next.take() {
                let Ok(permit) = pages.reserve().await else { return };
                match fetch(request).await {
                    Ok(page) => {
                        let advanced =
                            cursor.advance(page.items.len(), page.metadata.continue_token.as_deref());
                        permit.send(Ok(page));
                        if let Err(error) = advanced {
                            let _ = pages.send(Err(error)).await; // fails if the reader is gone
                        }
                    }
                    Err(error) => {
                        if let Err(error) = cursor.recover(error) {
                            permit.send(Err(error));
                        }
                    }
                }
            }
        });
        Self { arriving, _fetching: fetching }
    }
}

/// Upper bound of the channel capacity; more pages would not fit into memory.
const MAX_SLOTS: usize = 1 << 16;

impl<T> Stream for Pages<T> {
    type Item = Result<List<T>, RequestError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.arriving.poll_recv(context)
    }
}

impl<T> fmt::Debug for Pages<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pages").field("buffered", &self.arriving.len()).finish_non_exhaustive()
    }
}

/// A stream of items. Dropping it cancels the request in flight.
pub struct Items<T> {
    pages: Pages<T>,
    buffered: VecDeque<T>,
}

impl<T> Items<T> {
    pub(super) fn new(pages: Pages<T>) -> Self {
        Self { pages, buffered: VecDeque::new() }
    }
}

impl<T> Unpin for Items<T> {}

impl<T> Stream for Items<T> {
    type Item = Result<T, RequestError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(item) = self.buffered.pop_front() {
                return Poll::Ready(Some(Ok(item)));
            }
            match ready!(Pin::new(&mut self.pages).poll_next(context)) {
                None => return Poll::Ready(None),
                Some(Ok(page)) => self.buffered = page.items.into(),
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
            }
        }
    }
}

impl<T> fmt::Debug for Items<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Items").field("buffered", &self.buffered.len()).field("pages", &self.pages).finish()
    }
}
