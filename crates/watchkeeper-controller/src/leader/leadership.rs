//! Leadership: a handle to the lease while this process holds it.

use tokio::sync::watch;
use tokio::time::Instant;

/// A term as leader. Clones refer to the same term.
#[derive(Debug, Clone)]
pub struct Leadership {
    token: u32,
    state: watch::Receiver<State>,
}

/// The state of a term.
#[derive(Debug, Clone, Copy)]
pub(crate) struct State {
    /// When the lease expires unless it is renewed again.
    pub(crate) until: Instant,
    pub(crate) is_lost: bool,
}

impl Leadership {
    pub(crate) fn new(token: u32, until: Instant) -> (watch::Sender<State>, Self) {
        let (sender, state) = watch::channel(State { until, is_lost: false });
        (sender, Self { token, state })
    }

    /// Returns the fencing token: greater than that of every earlier term (`leader.L3`).
    pub fn token(&self) -> u32 {
        self.token
    }

    /// Returns whether the lease is still held at this moment, by this process's own clock.
    pub fn is_valid(&self) -> bool {
        let state = *self.state.borrow();
        !state.is_lost && Instant::now() < state.until
    }

    /// Waits until it is time to stop: the lease could not be renewed, or this process is shutting down. Work
    /// still running when the lease expires is dropped (`leader.L2`).
    pub async fn lost(&self) {
        let mut state = self.state.clone();
        // An error means that the elector is gone, so nothing renews the lease any more.
        let _ = state.wait_for(|state| state.is_lost).await;
    }
}
