//! Retry watcher: every event after a version, through whatever connections that takes.

use std::time::Duration;

use futures_util::StreamExt as _;
use tokio::time::{Instant, sleep_until};
use watchkeeper_core::{
    ListWatch, ResourceVersion, Status, WatchError, WatchEvent, WatchFrom, WatchRequest, WatchStream,
};

/// Two watches begin at least so long after one another.
const BETWEEN_WATCHES: Duration = Duration::from_secs(1);

/// The longest that a server can ask to be left alone.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(30);

/// Every event after a version. A watch that ends is followed by another from the last version that was seen,
/// bookmarks included; nothing is ever listed, and no event comes twice.
///
/// It ends with an error once changes have been missed for good, or where the server does not let one watch.
///
/// ```no_run
/// # async fn example(pods: impl watchkeeper_core::ListWatch + 'static) -> Result<(), Box<dyn std::error::Error>> {
/// use watchkeeper_cache::wait::RetryWatcher;
///
/// let mut events = RetryWatcher::new(pods, 1234.into())?; // the version of a list, say
/// while let Some(event) = events.next().await {
///     println!("{:?}", event?.kind());
/// }
/// # Ok(())
/// # }
/// ```
pub struct RetryWatcher {
    source: Box<dyn ListWatch>,
    version: ResourceVersion,
    open: Option<WatchStream>,
    /// No watch is opened before.
    not_before: Instant,
    has_ended: bool,
}

/// There is no version to begin after: empty and `0` are none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{version:?} is no version to watch from")]
pub struct NoVersion {
    /// What was given.
    pub version: ResourceVersion,
}

impl RetryWatcher {
    /// Of a source, after a version.
    ///
    /// # Errors
    /// If it is none.
    pub fn new(source: impl ListWatch + 'static, after: ResourceVersion) -> Result<Self, NoVersion> {
        if after.is_empty() || after == ResourceVersion::ANY {
            return Err(NoVersion { version: after });
        }
        let not_before = Instant::now();
        Ok(Self { source: Box::new(source), version: after, open: None, not_before, has_ended: false })
    }

    /// The last version that was seen: events after it are still to come. Where a source is
    /// [not ordered](ListWatch::is_ordered) it is that of the last bookmark.
    pub fn version(&self) -> &ResourceVersion {
        &self.version
    }

    /// The next event; waits for one. Bookmarks are not among them. After an error there are none. Dropped
    /// half-way, no event is lost.
    pub async fn next(&mut self) -> Option<Result<WatchEvent, WatchError>> {
        while !self.has_ended {
            let Some(watch) = &mut self.open else {
                if let Err(error) = self.reopen().await {
                    self.has_ended = true;
                    return Some(Err(error));
                }
                continue;
            };
            match watch.next().await {
                None => self.open = None,
                Some(Err(error)) => {
                    self.open = None;
                    if is_final(&error) {
                        self.has_ended = true;
                        return Some(Err(error));
                    }
                    self.wait_as_asked(&error);
                }
                Some(Ok(event)) if event.version().is_empty() => {
                    self.open = None;
                    self.has_ended = true;
                    return Some(Err(WatchError::Malformed("an event has no version".into())));
                }
                Some(Ok(event)) => {
                    let is_bookmark = matches!(event, WatchEvent::Bookmark(_));
                    if is_bookmark || self.source.is_ordered() {
                        self.version = event.version().clone();
                    }
                    if !is_bookmark {
                        return Some(Ok(event));
                    }
                }
            }
        }
        None
    }

    /// Opens a watch, in its time; fails only where another will fail, too.
    async fn reopen(&mut self) -> Result<(), WatchError> {
        sleep_until(self.not_before).await;
        self.not_before = Instant::now() + BETWEEN_WATCHES;
        let from = WatchFrom::After(self.version.clone());
        match self.source.watch(WatchRequest { from, timeout: None, bookmarks: true }).await {
            Ok(watch) => self.open = Some(watch),
            Err(error) if is_final(&error) => return Err(error),
            Err(error) => self.wait_as_asked(&error),
        }
        Ok(())
    }

    fn wait_as_asked(&mut self, error: &WatchError) {
        tracing::debug!(%error, version = %self.version, "watching again after an error");
        let asked = error.status().and_then(Status::retry_after).unwrap_or_default().min(MAX_RETRY_AFTER);
        self.not_before = self.not_before.max(Instant::now() + asked);
    }
}

/// Whether another watch from the same version cannot do better.
fn is_final(error: &WatchError) -> bool {
    match error {
        WatchError::Expired(_) | WatchError::Malformed(_) => true,
        WatchError::Rejected(status) => status.is_forbidden() || status.is_unauthorized(),
        _ => false,
    }
}

impl std::fmt::Debug for RetryWatcher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RetryWatcher").field("version", &self.version).finish_non_exhaustive()
    }
}
