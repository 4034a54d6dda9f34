//! Leadership: that one leads, and for how long.

use tokio::sync::watch;
use tokio::time::Instant;

/// This process leads. Clones are of the same leadership.
#[derive(Debug, Clone)]
pub struct Leadership {
    token: u32,
    state: watch::Receiver<State>,
}

/// How a leadership stands.
#[derive(Debug, Clone, Copy)]
pub(crate) struct State {
    /// Until when nobody else leads, if it is not renewed again.
    pub(crate) until: Instant,
    pub(crate) is_lost: bool,
}

impl Leadership {
    pub(crate) fn new(token: u32, until: Instant) -> (watch::Sender<State>, Self) {
        let (sender, state) = watch::channel(State { until, is_lost: false });
        (sender, Self { token, state })
    }

    /// Greater than that of every leadership before (L3).
    pub fn token(&self) -> u32 {
        self.token
    }

    /// Whether nobody else leads at this moment, by this process's own clock.
    pub fn is_valid(&self) -> bool {
        let state = *self.state.borrow();
        !state.is_lost && Instant::now() < state.until
    }

    /// Waits until it is time to stop: it could not be renewed, or this process is to stop. What still runs when
    /// somebody else could lead is dropped (L2).
    pub async fn lost(&self) {
        let mut state = self.state.clone();
        // Nobody is left who could renew it: it is lost too.
        let _ = state.wait_for(|state| state.is_lost).await;
    }
}
