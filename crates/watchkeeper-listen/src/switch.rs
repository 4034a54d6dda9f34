//! Switch: what a connection does once it speaks something else than HTTP.

use std::sync::Arc;

use futures_core::future::BoxFuture;
use parking_lot::Mutex;

/// A place for what comes after a 101. The connection runs it in its own task, under its own limits, until
/// it has ended or the server stops.
#[derive(Clone, Default)]
pub struct Switch {
    then: Arc<Mutex<Option<BoxFuture<'static, ()>>>>,
}

impl Switch {
    /// Says what comes after the answer, which has to be 101; without one it is dropped. The last word counts.
    pub fn then(&self, run: impl Future<Output = ()> + Send + 'static) {
        *self.then.lock() = Some(Box::pin(run));
    }

    pub(crate) fn take(&self) -> Option<BoxFuture<'static, ()>> {
        self.then.lock().take()
    }
}

impl std::fmt::Debug for Switch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Switch").field("is_set", &self.then.lock().is_some()).finish()
    }
}
