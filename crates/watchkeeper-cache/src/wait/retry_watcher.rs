//! Retry watcher: a watch that survives disconnects.

use std::time::Duration;

use futures_util::StreamExt as _;
use tokio::time::{Instant, sleep_until};
use watchkeeper_core::{
    ErrorChain, ListWatch, ResourceVersion, Status, WatchError, WatchEvent, WatchFrom, WatchRequest,
    WatchStream,
};

/// The smallest interval between the starts of two watches.
const MIN_INTERVAL: Duration = Duration::from_secs(1);

/// Longer `Retry-After` values are capped to this.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(30);

/// A watch that is resumed after disconnects; client-go's `RetryWatcher`.
///
/// Delivers every event after a version exactly once. When a watch ends, it opens another from the last version seen,
/// including bookmarks. It never lists.
///
/// It ends with an error if the server has compacted the version, so that events would be missed, or if watching is
/// forbidden.
///
/// ```no_run
/// # async fn example(pods: impl watchkeeper_core::ListWatch + 'static) -> Result<(), Box<dyn std::error::Error>> {
/// use watchkeeper_cache::wait::RetryWatcher;
///
/// let mut events = RetryWatcher::new(pods, 1234.into())?; // for example the version of a list
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
    /// Earliest time of the next watch.
    not_before: Instant,
    has_ended: bool,
}

/// The version cannot be watched from: it is empty or `0`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid resource version to watch from: {version:?}")]
pub struct NoVersion {
    /// The version.
    pub version: ResourceVersion,
}

impl RetryWatcher {
    /// Creates a watcher of the events after a version. Sends no request before [`next`](Self::next).
    ///
    /// # Errors
    /// If the version is empty or `0`.
    pub fn new(source: impl ListWatch + 'static, after: ResourceVersion) -> Result<Self, NoVersion> {
        if after.is_empty() || after == ResourceVersion::ANY {
            return Err(NoVersion { version: after });
        }
        let not_before = Instant::now();
        Ok(Self { source: Box::new(source), version: after, open: None, not_before, has_ended: false })
    }

    /// Returns the last version seen; for a source that is [not ordered](ListWatch::is_ordered), the version of the last
    /// bookmark.
    pub fn version(&self) -> &ResourceVersion {
        &self.version
    }

    /// Waits for the next event. Bookmarks are not returned. Returns `None` after an error. Cancel safe: if dropped, no
    /// event is lost.
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
                    self.delay_next(&error);
                }
                Some(Ok(event)) if event.version().is_empty() => {
                    self.open = None;
                    self.has_ended = true;
                    return Some(Err(WatchError::Malformed("event without a resource version".into())));
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

    /// Opens the next watch when it is due. Fails only with errors that a retry cannot fix.
    async fn reopen(&mut self) -> Result<(), WatchError> {
        sleep_until(self.not_before).await;
        self.not_before = Instant::now() + MIN_INTERVAL;
        let from = WatchFrom::After(self.version.clone());
        match self.source.watch(WatchRequest { from, timeout: None, bookmarks: true }).await {
            Ok(watch) => self.open = Some(watch),
            Err(error) if is_final(&error) => return Err(error),
            Err(error) => self.delay_next(&error),
        }
        Ok(())
    }

    /// Delays the next watch as the server requested.
    fn delay_next(&mut self, error: &WatchError) {
        tracing::debug!(error = %ErrorChain(error), version = %self.version, "watch failed; watching again");
        let asked = error.status().and_then(Status::retry_after).unwrap_or_default().min(MAX_RETRY_AFTER);
        self.not_before = self.not_before.max(Instant::now() + asked);
    }
}

/// Returns whether a retry from the same version cannot succeed.
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
