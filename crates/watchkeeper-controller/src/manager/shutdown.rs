//! Shutdown: when it started, and why.

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

/// Why a manager did not start, stopped by itself, or did not shut down cleanly.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ManagerError {
    /// The address is in use or not local.
    #[error("failed to listen on {address}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The cause.
        source: io::Error,
    },
    /// The signal handlers could not be installed.
    #[error("failed to install signal handlers")]
    Signals(#[source] io::Error),
    /// A metric of the same name but another type is registered.
    #[error("failed to register controller metrics")]
    Metrics(#[source] RegisterError),
    /// The first lists took longer than [`ready_within`](super::Manager::ready_within).
    #[error("informers not ready after {after:?}: {}", .late.join("; "))]
    NotReady {
        /// The informers without a first list, each with the cause: `pods.v1: list failed: ... (401)`.
        late: Vec<String>,
        /// The time limit.
        after: Duration,
    },
    /// The informer of a controller's primary objects ended.
    #[error("controller {name} stopped because its informer ended: {why}")]
    ControllerEnded {
        /// Its name.
        name: String,
        /// Why the informer has ended.
        why: ExitReason,
    },
    /// A task returned an error.
    #[error("{name} failed")]
    Task {
        /// Its name.
        name: String,
        /// The cause.
        source: BoxError,
    },
    /// A task panicked.
    #[error("{name} panicked: {message}")]
    Panicked {
        /// Its name.
        name: String,
        /// The panic message.
        message: String,
    },
    /// Another process may lead now.
    #[error("leadership lost")]
    LeadershipLost,
    /// Shutdown exceeded the grace period, and these parts were dropped.
    #[error("not stopped within the grace period: {}", .names.join(", "))]
    Overran {
        /// The names of the parts.
        names: Vec<String>,
    },
    /// A second signal arrived during shutdown.
    #[error("shutdown interrupted by a second signal")]
    Interrupted,
}

/// Whether shutdown has started, and why. Clones share their state.
#[derive(Debug, Clone, Default)]
pub(super) struct Shutdown {
    near: CancellationToken,
    /// When it started.
    begun: Arc<OnceLock<Instant>>,
    /// The first error that caused it.
    why: Arc<Mutex<Option<ManagerError>>>,
}

impl Shutdown {
    pub(super) fn start(&self) {
        self.started_at();
        self.near.cancel();
    }

    /// Returns when shutdown started, which is now if it has not yet.
    pub(super) fn started_at(&self) -> Instant {
        *self.begun.get_or_init(Instant::now)
    }

    pub(super) fn has_started(&self) -> bool {
        self.near.is_cancelled()
    }

    /// Waits until shutdown has started.
    pub(super) async fn started(&self) {
        self.near.cancelled().await;
    }

    /// Starts shutdown because of an error; the first error wins (`manager.G3`).
    pub(super) fn fail(&self, error: ManagerError) {
        self.why.lock().get_or_insert(error);
        self.start();
    }

    /// Records that a part was dropped because it took too long.
    pub(super) fn overrun(&self, name: &str) {
        tracing::warn!(name, "not stopped within the grace period; dropped");
        let mut why = self.why.lock();
        if let ManagerError::Overran { names } =
            why.get_or_insert_with(|| ManagerError::Overran { names: Vec::new() })
        {
            names.push(name.to_owned());
        }
    }

    /// Runs a task, and starts shutdown if it fails or panics (`manager.G3`).
    pub(super) fn supervise<F>(&self, name: &str, task: F) -> impl Future<Output = ()> + Send + use<F>
    where
        F: Future<Output = Result<(), BoxError>> + Send,
    {
        let (shutdown, name) = (self.clone(), name.to_owned());
        async move {
            match AssertUnwindSafe(task).catch_unwind().await {
                Ok(Ok(())) => {}
                Ok(Err(source)) => shutdown.fail(ManagerError::Task { name, source }),
                Err(panic) => shutdown.fail(ManagerError::Panicked { name, message: message(&*panic) }),
            }
        }
    }

    pub(super) fn outcome(&self) -> Result<(), ManagerError> {
        self.why.lock().take().map_or(Ok(()), Err)
    }
}

/// Returns the message of a panic, if it is a string.
fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("unknown panic").to_owned()
}
