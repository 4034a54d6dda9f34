//! Heavy requests: those with large bodies or objects, handled on blocking threads.
//!
//! Parsing, defaulting, validating and patching are not interruptible. On an async worker a large object would delay
//! every other request of that worker, health checks included.
//!
//! Invariants:
//! - `heavy.H1`: at most [`HEAVY_AT_ONCE`] heavy requests run at a time; others wait. A request that times out
//!   releases its permit only once its work has ended.

use std::future::Future;
use std::sync::Arc;

use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use watchkeeper_core::Status;

use crate::http::{MediaType, PatchType};

/// Bodies and stored objects larger than this are handled on a blocking thread.
pub const INLINE_BYTES: usize = 64 << 10;

/// The same for YAML, which takes longer to parse and can be expanded by aliases.
pub const INLINE_YAML_BYTES: usize = 4 << 10;

/// The maximum number of concurrent heavy requests. Together they bound the memory for parsed objects.
pub const HEAVY_AT_ONCE: usize = 4;

/// Returns whether a body of this type and length is heavy.
pub(super) fn is_heavy_object(media: MediaType, bytes: usize) -> bool {
    bytes > if media == MediaType::Yaml { INLINE_YAML_BYTES } else { INLINE_BYTES }
}

/// Returns whether a patch of this type and length is heavy.
pub(super) fn is_heavy_patch(form: PatchType, bytes: usize) -> bool {
    bytes > if form == PatchType::Apply { INLINE_YAML_BYTES } else { INLINE_BYTES }
}

/// Limits the number of concurrent heavy requests.
#[derive(Debug, Clone)]
pub(super) struct HeavyWork {
    places: Arc<Semaphore>,
}

impl Default for HeavyWork {
    fn default() -> Self {
        Self { places: Arc::new(Semaphore::new(HEAVY_AT_ONCE)) }
    }
}

impl HeavyWork {
    /// Runs `work`, on a blocking thread if it is heavy. Heavy work that has begun runs to its end even if the caller
    /// is dropped.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        is_heavy: bool,
        work: impl Future<Output = Result<T, Status>> + Send + 'static,
    ) -> Result<T, Status> {
        if !is_heavy {
            return work.await;
        }
        let place = self.places.clone().acquire_owned().await.map_err(Status::internal_error)?; // heavy.H1
        let runtime = Handle::current();
        let worked = tokio::task::spawn_blocking(move || {
            let _place = place;
            runtime.block_on(work)
        });
        match worked.await {
            Ok(outcome) => outcome,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(_) => Err(Status::service_unavailable("the server is shutting down")),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[tokio::test]
    async fn heavy_work_leaves_the_only_worker_free() {
        let (done, waits) = mpsc::channel();
        let work = async move { waits.recv().map_err(Status::internal_error) };
        let other = async move { done.send(7).map_err(Status::internal_error) };
        // On this thread the first would block the second forever.
        let heavy = HeavyWork::default();
        let (worked, _) = tokio::join!(heavy.run(true, work), other);
        assert_eq!(worked.unwrap(), 7);
    }

    #[tokio::test]
    async fn a_panic_of_heavy_work_reaches_the_caller() {
        let work = async { panic!("a bug") };
        let outcome = tokio::spawn(async move { HeavyWork::default().run::<()>(true, work).await }).await;
        assert!(outcome.unwrap_err().is_panic());
    }

    #[tokio::test]
    async fn heavy_work_beyond_the_limit_waits() {
        let heavy = HeavyWork::default();
        let (start, begun) = mpsc::channel();
        let mut ends = Vec::new();
        let mut tasks = Vec::new();
        for number in 0..=HEAVY_AT_ONCE {
            let (end, ended) = mpsc::channel::<()>();
            let (start, heavy) = (start.clone(), heavy.clone());
            let work = async move {
                start.send(number).map_err(Status::internal_error)?;
                let _ = ended.recv(); // until the test drops the sender
                Ok(())
            };
            tasks.push(tokio::spawn(async move { heavy.run(true, work).await }));
            ends.push(end);
        }
        let begun = tokio::task::spawn_blocking(move || {
            let first: Vec<usize> = begun.iter().take(HEAVY_AT_ONCE).collect();
            (first, begun)
        });
        let (first, begun) = begun.await.unwrap();
        assert_eq!(heavy.places.available_permits(), 0);
        assert!(begun.try_recv().is_err(), "{first:?}");
        drop(ends);
        for task in tasks {
            task.await.unwrap().unwrap();
        }
        assert_eq!(begun.try_iter().count(), 1);
    }
}
