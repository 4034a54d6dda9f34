//! List: fetches the whole state in pages.

use std::num::NonZeroU32;
use std::time::Duration;

use futures_util::StreamExt as _;
use tokio::task::coop::consume_budget;
use tokio::time::Instant;
use watchkeeper_core::{ListAt, ListError, ListMeta, ListPart, ListRequest, Paging, ResourceVersion};

use super::{ExitReason, Failure, Next, OnGone, Presence, Reflector, Relist, State};
use crate::Sink;

/// Lists that take longer are logged.
const SLOW_LIST: Duration = Duration::from_secs(10);

/// A list that has been staged.
struct Staged {
    /// The version of the first page. The watch delivers the changes since then.
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
            self.position.mark_unavailable();
            outcome = self.pages(&self.position.list_at(), size).await;
        }
        match outcome {
            Ok(staged) => {
                if at == ListAt::Any && staged.paged {
                    self.position.mark_paged();
                }
                let took = begun.elapsed();
                if took > SLOW_LIST {
                    tracing::info!(reflector = self.name, ?took, "slow list");
                }
                self.commit(&staged.version, took, None)
            }
            Err(error) => self.after_list_error(error),
        }
    }

    /// Stages a list in pages of `size`. If a continue token has expired, lists again without paging. A list that never
    /// ends is malformed.
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

    /// Stages a page. Returns the number of items that the server sent, and the list metadata.
    async fn page(&mut self, request: ListRequest) -> Result<(usize, ListMeta), ListError> {
        let mut parts = self.source.list(request);
        let mut items = 0;
        while let Some(part) = parts.next().await {
            consume_budget().await; // so that a source that is always ready cannot starve `stop`
            match part? {
                ListPart::Item(object) => {
                    items += 1;
                    self.stage(object);
                }
                ListPart::End(end) => {
                    self.progress.page_ends(end.remaining_item_count);
                    self.progress.record_contact();
                    return Ok((items, end));
                }
            }
        }
        Err(ListError::Interrupted("list ended without its metadata".into())) // list_watch.W1
    }

    /// Returns the state after a failed list.
    fn after_list_error(&mut self, error: ListError) -> State {
        let delay = self.delay(error.status());
        let gone = match &error {
            ListError::Rejected(status) if status.is_not_found() && self.presence != Presence::Unknown => {
                status.clone()
            }
            _ => {
                self.observer.relists(Relist::after_list(&error));
                self.report_failure(Failure::List(error), Next::Relist, delay);
                return State::Idle.after(delay);
            }
        };
        self.progress.set_failure(Failure::List(error));
        if self.presence == Presence::Present {
            self.presence = Presence::Gone;
            self.observer.gone(&self.name, &gone);
        }
        match self.on_gone {
            OnGone::Retry => {
                self.observer.relists(Relist::Gone);
                State::Idle.after(delay)
            }
            OnGone::Exit => State::Exited(ExitReason::Gone(gone)),
        }
    }
}
