//! Readiness: waiting for a server to do what it was started for.
//!
//! A server is asked again and again until it says yes, it has ended, or the time is over.

use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior, interval};

use crate::binaries::BuildError;
use crate::process::Process;

/// How long a server may take, on a machine that has much else to do.
const PATIENCE: Duration = Duration::from_secs(120);
/// How often it is asked.
const PERIOD: Duration = Duration::from_millis(50);

/// Why there is no cluster.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// There is nothing to start.
    #[error("no binaries")]
    Build(#[from] BuildError),
    /// The cluster's directory could not be filled.
    #[error("the cluster's directory could not be made")]
    Directory(#[source] io::Error),
    /// Keys, certificates or the TLS configuration made of them are no good.
    #[error("no certificates")]
    Certificates(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// A server could not be run or asked how it is.
    #[error("{name} could not be run")]
    Process {
        /// The server.
        name: &'static str,
        /// What the operating system said.
        source: io::Error,
    },
    /// A server ended before it was ready.
    #[error("{name} ended with {status}, and its log with:\n{log}")]
    Ended {
        /// The server.
        name: &'static str,
        /// How it ended.
        status: ExitStatus,
        /// The end of its log.
        log: String,
    },
    /// A server runs but does not get ready.
    #[error("{name} was not ready after {PATIENCE:?}, but {state}; its log ends with:\n{log}")]
    NotReady {
        /// The server.
        name: &'static str,
        /// What it answered last.
        state: String,
        /// The end of its log.
        log: String,
    },
}

impl StartError {
    /// Whether somebody else took a port between our choosing it and the server's listening on it.
    pub(crate) fn lost_a_port(&self) -> bool {
        matches!(self, Self::Ended { log, .. } if log.contains("address already in use"))
    }
}

/// Asks until the answer is `Ok`. An `Err` says what the server is doing instead.
pub(crate) async fn until(
    process: &mut Process,
    mut ready: impl AsyncFnMut() -> Result<(), String>,
) -> Result<(), StartError> {
    let name = process.name();
    let deadline = Instant::now() + PATIENCE;
    let mut ticks = interval(PERIOD);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut state = "has said nothing".to_owned();
    loop {
        ticks.tick().await;
        match tokio::time::timeout_at(deadline, ready()).await {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(other)) => state = other,
            Err(_) => return Err(StartError::NotReady { name, state, log: process.log_tail() }),
        }
        let exited = process.exited().map_err(|source| StartError::Process { name, source })?;
        if let Some(status) = exited {
            return Err(StartError::Ended { name, status, log: process.log_tail() });
        }
    }
}
