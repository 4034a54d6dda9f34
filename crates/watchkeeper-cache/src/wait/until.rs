//! Until: waits for a condition on an informer's objects.

use std::sync::Arc;
use std::time::Duration;

use watchkeeper_core::Object;

use crate::Informer;
use crate::delta::Delta;
use crate::store::Snapshot;

/// The input of a condition.
#[derive(Debug, Clone, Copy)]
pub enum Seen<'a> {
    /// All objects. Passed first, and once.
    State(&'a Snapshot),
    /// A change after that, including deletions.
    Change(&'a Delta<Arc<Object>>),
}

/// The error of [`until`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WaitError<E> {
    /// The condition was not met in time.
    #[error("condition not met after {after:?}")]
    Timeout {
        /// The timeout.
        after: Duration,
    },
    /// The informer exited, so that the condition cannot be met any more.
    #[error("informer exited before the condition was met")]
    InformerExited,
    /// The condition returned an error.
    #[error(transparent)]
    Condition(E),
}

/// Waits until a condition returns a value; client-go's `UntilWithSync`.
///
/// The condition is called with all objects once the first list is stored, and then with every change. Snapshot and
/// subscription are taken atomically, so that no deletion is missed in between. Starts the informer if necessary. Without
/// a timeout it waits indefinitely. Cancel safe.
///
/// ```no_run
/// # async fn example(pods: &watchkeeper_cache::Informer) -> Result<(), Box<dyn std::error::Error>> {
/// use std::time::Duration;
/// use watchkeeper_cache::delta::Delta;
/// use watchkeeper_cache::wait::{Seen, until};
/// use watchkeeper_core::ObjectKey;
///
/// let key = ObjectKey::namespaced("shop", "web-0");
/// // Waits until the pod does not exist.
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
/// If the timeout expires, the informer exits, or the condition returns an error.
pub async fn until<T, E>(
    informer: &Informer,
    timeout: Option<Duration>,
    mut condition: impl FnMut(Seen<'_>) -> Result<Option<T>, E>,
) -> Result<T, WaitError<E>> {
    informer.start();
    let waiting = async {
        if !informer.wait_until_ready().await {
            return Err(WaitError::InformerExited);
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
        Err(WaitError::InformerExited)
    };
    match timeout {
        None => waiting.await,
        Some(after) => {
            tokio::time::timeout(after, waiting).await.unwrap_or(Err(WaitError::Timeout { after }))
        }
    }
}
