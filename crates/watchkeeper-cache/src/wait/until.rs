//! Until: waits for something to become true.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;
use watchkeeper_core::Object;

use crate::Informer;
use crate::delta::Delta;
use crate::store::Snapshot;

/// What a condition is asked of.
#[derive(Debug, Clone, Copy)]
pub enum Seen<'a> {
    /// All that there is. It comes once, and first.
    State(&'a Snapshot),
    /// What has happened since, one after the other. That an object is gone is for the condition to judge.
    Change(&'a Delta<Arc<Object>>),
}

/// Why something has not become true.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WaitError<E> {
    /// It took too long.
    #[error("it did not become true within {after:?}")]
    Timeout {
        /// How long was waited.
        after: Duration,
    },
    /// The informer has ended, so that nothing changes any more.
    #[error("the informer has ended before it became true")]
    Ended,
    /// The condition says that it never will.
    #[error(transparent)]
    Condition(E),
}

/// Waits until a condition has an answer: it is asked of the whole state first, once the first list is there, and
/// then of every change. An informer that is not started is started. `None` waits for ever.
///
/// Dropped half-way, nothing is left behind.
///
/// ```no_run
/// # async fn example(pods: &watchkeeper_cache::Informer) -> Result<(), Box<dyn std::error::Error>> {
/// use std::time::Duration;
/// use watchkeeper_cache::delta::Delta;
/// use watchkeeper_cache::wait::{Seen, until};
/// use watchkeeper_core::ObjectKey;
///
/// let key = ObjectKey::namespaced("shop", "web-0");
/// // Until a pod is gone, be it that it never was there.
/// until(pods, Some(Duration::from_secs(60)), |seen| {
///     Ok::<_, std::convert::Infallible>(match seen {
///         Seen::State(all) => all.get(&key).is_none().then_some(()),
///         Seen::Change(Delta::Deleted { old, .. }) => (*old.metadata.key() == key).then_some(()),
///         Seen::Change(_) => None,
///     })
/// })
/// .await?;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// If it took too long, if the informer ends before, or if the condition says so.
pub async fn until<T, E>(
    informer: &Informer,
    patience: Option<Duration>,
    mut condition: impl FnMut(Seen<'_>) -> Result<Option<T>, E>,
) -> Result<T, WaitError<E>> {
    informer.start();
    let waiting = async {
        if !informer.synced().await {
            return Err(WaitError::Ended);
        }
        let (state, mut changes) = informer.subscribe_since();
        if let Some(answer) = condition(Seen::State(&state)).map_err(WaitError::Condition)? {
            return Ok(answer);
        }
        while let Some(change) = changes.next().await {
            if let Some(answer) = condition(Seen::Change(&change)).map_err(WaitError::Condition)? {
                return Ok(answer);
            }
        }
        Err(WaitError::Ended)
    };
    match patience {
        None => waiting.await,
        Some(after) => timeout(after, waiting).await.unwrap_or(Err(WaitError::Timeout { after })),
    }
}
