//! The end: that it has begun, and why.

use std::any::Any;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures_util::FutureExt as _;
use parking_lot::Mutex;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use watchkeeper_cache::reflector::ExitReason;
use watchkeeper_core::BoxError;
use watchkeeper_metrics::RegisterError;

/// Why a manager did not begin, or has ended before it was told to, or not as it should.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ManagerError {
    /// The address is taken, or is not ours.
    #[error("{address} cannot be listened on")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// The system does not tell of signals.
    #[error("signals cannot be heard")]
    Signals(#[source] io::Error),
    /// A name that controllers count under means something else.
    #[error("the controllers cannot be counted")]
    Metrics(#[source] RegisterError),
    /// The first lists took too long.
    #[error("not synced after {after:?}: {}", .late.join("; "))]
    NotSynced {
        /// The informers that have none, each with the reason: `pods.v1: list failed: ... (401)`.
        late: Vec<String>,
        /// How long was waited.
        after: Duration,
    },
    /// There is nothing left that a controller could be told of.
    #[error("controller {name} has ended with the informer of its objects: {why}")]
    ControllerEnded {
        /// Its name.
        name: String,
        /// Why the informer has ended.
        why: ExitReason,
    },
    /// A task has failed.
    #[error("{name} has failed")]
    Task {
        /// Its name.
        name: String,
        /// How.
        source: BoxError,
    },
    /// A task has panicked.
    #[error("{name} has panicked: {message}")]
    Panicked {
        /// Its name.
        name: String,
        /// What it said.
        message: String,
    },
    /// Somebody else may lead now.
    #[error("this process does not lead any more")]
    LeadershipLost,
    /// The end took too long, and these were dropped.
    #[error("did not end in time: {}", .names.join(", "))]
    Overran {
        /// Who.
        names: Vec<String>,
    },
    /// A second signal came before the end.
    #[error("ended at once by a second signal")]
    Interrupted,
}

/// Whether the end has begun, and why. Clones are of the same end.
#[derive(Debug, Clone, Default)]
pub(super) struct End {
    near: CancellationToken,
    /// When it began.
    begun: Arc<OnceLock<Instant>>,
    /// The first reason that is an error.
    why: Arc<Mutex<Option<ManagerError>>>,
}

impl End {
    pub(super) fn begin(&self) {
        self.begun();
        self.near.cancel();
    }

    /// When it began, which it does now if it has not.
    pub(super) fn begun(&self) -> Instant {
        *self.begun.get_or_init(Instant::now)
    }

    pub(super) fn has_begun(&self) -> bool {
        self.near.is_cancelled()
    }

    /// Waits until it has begun.
    pub(super) async fn is_near(&self) {
        self.near.cancelled().await;
    }

    /// It begins with an error, of which the first counts (G3).
    pub(super) fn because(&self, error: ManagerError) {
        self.why.lock().get_or_insert(error);
        self.begin();
    }

    /// Somebody was dropped because he took too long.
    pub(super) fn overrun(&self, name: &str) {
        tracing::warn!(name, "did not end in time, and was dropped");
        let mut why = self.why.lock();
        if let ManagerError::Overran { names } =
            why.get_or_insert_with(|| ManagerError::Overran { names: Vec::new() })
        {
            names.push(name.to_owned());
        }
    }

    /// Runs a task; unless it ends well, so does all (G3).
    pub(super) fn unless_well<F>(&self, name: &str, task: F) -> impl Future<Output = ()> + Send + use<F>
    where
        F: Future<Output = Result<(), BoxError>> + Send,
    {
        let (end, name) = (self.clone(), name.to_owned());
        async move {
            match AssertUnwindSafe(task).catch_unwind().await {
                Ok(Ok(())) => {}
                Ok(Err(source)) => end.because(ManagerError::Task { name, source }),
                Err(panic) => end.because(ManagerError::Panicked { name, message: message(&*panic) }),
            }
        }
    }

    pub(super) fn outcome(&self) -> Result<(), ManagerError> {
        self.why.lock().take().map_or(Ok(()), Err)
    }
}

/// What a panic says, as far as it is a text.
fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no text").to_owned()
}
