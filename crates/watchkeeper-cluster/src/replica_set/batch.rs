//! Batches: many of the same, few at first.

use std::future::Future;

use tokio::task::JoinSet;

/// Does something `count` times: once, then twice at once, then four times, as long as all goes well. If something
/// fails, what has begun is waited for, nothing more is begun, and the first failure is returned.
pub(super) async fn slow_start<F, E>(count: usize, attempt: impl Fn() -> F) -> Result<(), E>
where
    F: Future<Output = Result<(), E>> + Send + 'static,
    E: Send + 'static,
{
    let (mut left, mut size) = (count, 1);
    while left > 0 {
        let batch = size.min(left);
        at_once((0..batch).map(|_| attempt())).await?;
        left -= batch;
        size = size.saturating_mul(2);
    }
    Ok(())
}

/// Does everything at once, waits for all of it, and returns the first failure.
pub(super) async fn at_once<F, E>(attempts: impl Iterator<Item = F>) -> Result<(), E>
where
    F: Future<Output = Result<(), E>> + Send + 'static,
    E: Send + 'static,
{
    let mut under_way: JoinSet<_> = attempts.collect();
    let mut outcome = Ok(());
    while let Some(ended) = under_way.join_next().await {
        match ended {
            Ok(ended) => outcome = outcome.and(ended),
            Err(panicked) => std::panic::resume_unwind(panicked.into_panic()),
        }
    }
    outcome
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// How many attempts there were, if from one of them on all fail.
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
    async fn what_fails_is_not_tried_more_often_than_what_went_well() {
        assert_eq!(attempts(0, 0).await, (0, Ok(())));
        assert_eq!(attempts(500, 500).await, (500, Ok(())));
        assert_eq!(attempts(500, 0).await, (1, Err(0)));
        // 1 + 2, and four of which the last two fail.
        let (count, outcome) = attempts(500, 5).await;
        assert_eq!((count, outcome.is_err()), (7, true));
    }
}
