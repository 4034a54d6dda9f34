//! Listing: the whole state as a list, page by page.

use std::num::NonZeroU32;
use std::time::Duration;

use futures_util::StreamExt as _;
use tokio::task::coop::consume_budget;
use tokio::time::Instant;
use watchkeeper_core::{ListAt, ListError, ListMeta, ListPart, ListRequest, Paging, ResourceVersion};

use super::{Failure, Next, Presence, Reflector, Relist, State, WhenGone, Why};
use crate::Sink;

/// A list that takes longer is worth a line in the log.
const LONG: Duration = Duration::from_secs(10);

/// A list that is staged.
struct Staged {
    /// Of its first page: what has changed since comes again with the watch.
    version: ResourceVersion,
    paged: bool,
}

impl<S: Sink> Reflector<S> {
    pub(super) async fn list(&mut self) -> State {
        let begun = Instant::now();
        self.observer.list_begins();
        let at = self.position.list_at();
        let size = self.position.page_size(&at, self.page_size);
        let mut outcome = self.pages(&at, size).await;
        if let Err(error @ (ListError::Expired(_) | ListError::TooLarge(_))) = &outcome {
            self.observer.relists(Relist::after_list(error));
            self.position.is_unavailable();
            outcome = self.pages(&self.position.list_at(), size).await;
        }
        match outcome {
            Ok(staged) => {
                if at == ListAt::Any && staged.paged {
                    self.position.came_in_pages();
                }
                let took = begun.elapsed();
                if took > LONG {
                    tracing::info!(reflector = self.name, ?took, "a list has taken long");
                }
                self.commit(&staged.version, took, None)
            }
            Err(error) => self.list_failed(error),
        }
    }

    /// Stages a list, in pages of a size. Where a page has expired, the list is not had in pages. A list whose pages
    /// do not end is malformed.
    async fn pages(&mut self, at: &ListAt, size: Option<NonZeroU32>) -> Result<Staged, ListError> {
        let mut request = ListRequest { at: at.clone(), limit: size };
        let mut version = None;
        let mut paged = false;
        let mut paging = Paging::default();
        loop {
            if !matches!(request.at, ListAt::Page(_)) {
                self.sink.begin();
                self.progress.list_begins();
            }
            match self.page(request.clone()).await {
                Ok((items, end)) => {
                    let version = version.get_or_insert(end.resource_version);
                    let Some(token) = end.continue_token else {
                        return Ok(Staged { version: version.clone(), paged });
                    };
                    paging.advance(items, &token).map_err(|endless| ListError::Malformed(endless.into()))?;
                    paged = true;
                    request.at = ListAt::Page(token);
                }
                Err(ListError::Expired(_)) if matches!(request.at, ListAt::Page(_)) => {
                    (version, paging) = (None, Paging::default());
                    request = ListRequest { at: at.clone(), limit: None };
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Stages a page. Returns how many items the server sent, and what is known at its end.
    async fn page(&mut self, request: ListRequest) -> Result<(usize, ListMeta), ListError> {
        let mut parts = self.source.list(request);
        let mut items = 0;
        while let Some(part) = parts.next().await {
            consume_budget().await; // a source that is always ready must not keep `stop` from being seen
            match part? {
                ListPart::Item(object) => {
                    items += 1;
                    self.stage(object);
                }
                ListPart::End(end) => {
                    self.progress.page_ends(end.remaining_item_count);
                    self.progress.contact();
                    return Ok((items, end));
                }
            }
        }
        Err(ListError::Interrupted("it stopped before its end".into())) // W1
    }

    fn list_failed(&mut self, error: ListError) -> State {
        self.progress.failed(&error);
        let delay = self.delay(error.status());
        match error {
            ListError::Rejected(status) if status.is_not_found() && self.presence != Presence::Unknown => {
                if self.presence == Presence::There {
                    self.presence = Presence::Gone;
                    self.observer.gone(&self.name, &status);
                }
                match self.when_gone {
                    WhenGone::KeepTrying => {
                        self.observer.relists(Relist::Gone);
                        State::Idle.after(delay)
                    }
                    WhenGone::End => State::Ended(Why::Gone(status)),
                }
            }
            error => {
                self.observer.relists(Relist::after_list(&error));
                self.failed(Failure::List(error), Next::Relist, delay);
                State::Idle.after(delay)
            }
        }
    }
}
