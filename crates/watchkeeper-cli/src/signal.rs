//! Signals that end a long-running command.

use std::process;

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::failure::Failure;

/// Exit status of a process killed by SIGINT, as shells report it.
const KILLED_BY_INTERRUPT: i32 = 130;

/// Handlers of SIGINT and SIGTERM.
pub(crate) struct Interrupt {
    interrupt: Signal,
    terminate: Signal,
}

impl Interrupt {
    /// Installs the handlers: from now on, neither signal kills the process.
    pub(crate) fn listen() -> Result<Self, Failure> {
        let listen = |kind| signal(kind).map_err(|error| Failure::of(&error));
        Ok(Self { interrupt: listen(SignalKind::interrupt())?, terminate: listen(SignalKind::terminate())? })
    }

    /// Waits for the first signal. A second signal exits the process immediately.
    pub(crate) async fn wait(mut self) {
        self.next().await;
        tokio::spawn(async move {
            self.next().await;
            process::exit(KILLED_BY_INTERRUPT);
        });
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
