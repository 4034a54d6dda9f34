//! Signals: who interrupts a command that runs until it is interrupted.

use std::process;

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::failure::Failure;

/// What a shell says of a process that an interrupt has killed.
const KILLED_BY_INTERRUPT: i32 = 130;

/// SIGINT and SIGTERM, from now on.
pub(crate) struct Interrupt {
    interrupt: Signal,
    terminate: Signal,
}

impl Interrupt {
    /// From now on neither kills the process.
    pub(crate) fn listen() -> Result<Self, Failure> {
        let listen = |kind| signal(kind).map_err(|error| Failure::of(&error));
        Ok(Self { interrupt: listen(SignalKind::interrupt())?, terminate: listen(SignalKind::terminate())? })
    }

    /// Waits for the first of them. The second one ends the process at once, whatever it is doing.
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
