//! Readiness: waits until a server is ready.
//!
//! Polls the server until a probe succeeds, the server exits, or a timeout expires.

use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior, interval};

use crate::binaries::BuildError;
use crate::process::Process;

/// The time a server may take to become ready, even on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(120);
/// The time between two probes.
const PERIOD: Duration = Duration::from_millis(50);

/// Why a cluster or an etcd failed to start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The binaries could not be built.
    #[error("failed to build the binaries")]
    Build(#[from] BuildError),
    /// The server's directory could not be created or filled, or no port was free.
    #[error("failed to prepare the server's directory")]
    Directory(#[source] io::Error),
    /// The keys, the certificates or the TLS configuration could not be created.
    #[error("failed to create certificates")]
    Certificates(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// A server could not be started, or its exit status could not be read.
    #[error("failed to run {name}")]
    Process {
        /// The server.
        name: &'static str,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A server exited before it was ready.
    #[error("{name} exited with {status} before it was ready; its log ends with:\n{log}")]
    Ended {
        /// The server.
        name: &'static str,
        /// Its exit status.
        status: ExitStatus,
        /// The end of its log.
        log: String,
    },
    /// A server is running but was not ready in time.
    #[error("{name} was not ready after {TIMEOUT:?}: {state}; its log ends with:\n{log}")]
    NotReady {
        /// The server.
        name: &'static str,
        /// The result of the last probe.
        state: String,
        /// The end of its log.
        log: String,
    },
}

impl StartError {
    /// Whether another process took a port after we chose it and before the server listened on it.
    pub(crate) fn is_port_conflict(&self) -> bool {
        matches!(self, Self::Ended { log, .. } if log.contains("address already in use"))
    }
}

/// Calls `probe` until it succeeds. Its error describes the state of the server.
pub(crate) async fn wait_until_ready(
    process: &mut Process,
    mut probe: impl AsyncFnMut() -> Result<(), String>,
) -> Result<(), StartError> {
    let name = process.name();
    let deadline = Instant::now() + TIMEOUT;
    let mut ticks = interval(PERIOD);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut state = "no response".to_owned();
    loop {
        ticks.tick().await;
        match tokio::time::timeout_at(deadline, probe()).await {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(reason)) => state = reason,
            Err(_) => return Err(StartError::NotReady { name, state, log: process.log_tail() }),
        }
        let exited = process.exited().map_err(|source| StartError::Process { name, source })?;
        if let Some(status) = exited {
            return Err(StartError::Ended { name, status, log: process.log_tail() });
        }
    }
}
