//! Batches of requests, with a slow start.

use std::future::Future;

use futures_util::future::join_all;

/// Runs `attempt` `count` times in parallel batches of 1, 2, 4 and so on. After a failure it waits for the
/// current batch, starts no other, and returns the first error.
pub(super) async fn slow_start<F, E>(count: usize, attempt: impl Fn() -> F) -> Result<(), E>
where
    F: Future<Output = Result<(), E>>,
{
    let (mut left, mut size) = (count, 1);
    while left > 0 {
        let batch = size.min(left);
        in_parallel((0..batch).map(|_| attempt())).await?;
        left -= batch;
        size = size.saturating_mul(2);
    }
    Ok(())
}

/// Runs all attempts in parallel, waits for all of them, and returns the first error. They run in the caller's
/// task: the controller does not track writes of spawned ones.
pub(super) async fn in_parallel<F, E>(attempts: impl Iterator<Item = F>) -> Result<(), E>
where
    F: Future<Output = Result<(), E>>,
{
    join_all(attempts).await.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Returns the number of attempts if all fail from one of them on.
    async fn attempts(count: usize, failing_from: usize) -> (usize, Result<(), usize>) {
        let done = Arc::new(AtomicUsize::new(0));
        let outcome = slow_start(count, || {
            let done = done.clone();
            async move {
                match done.fetch_add(1, Ordering::Relaxed) {
                    number if number >= failing_from => Err(number),
                    _ => Ok(()),
                }
            }
        });
        let outcome = outcome.await;
        (done.load(Ordering::Relaxed), outcome)
    }

    #[tokio::test]
    async fn a_failure_ends_the_slow_start_after_its_batch() {
        assert_eq!(attempts(0, 0).await, (0, Ok(())));
        assert_eq!(attempts(500, 500).await, (500, Ok(())));
        assert_eq!(attempts(500, 0).await, (1, Err(0)));
        // 1 + 2, then a batch of four, the last two of which fail.
        let (count, outcome) = attempts(500, 5).await;
        assert_eq!((count, outcome.is_err()), (7, true));
    }
}
