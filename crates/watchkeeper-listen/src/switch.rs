//! Switch: runs a connection after it was upgraded from HTTP.

use std::sync::Arc;

use futures_core::future::BoxFuture;
use parking_lot::Mutex;

/// Holds the future that runs an upgraded connection. The listener polls it in the task of the connection, until it
/// ends or the server stops.
#[derive(Clone, Default)]
pub struct Switch {
    then: Arc<Mutex<Option<BoxFuture<'static, ()>>>>,
}

impl Switch {
    /// Sets the future to run after a 101 response; after any other response it is dropped. Replaces an earlier one.
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
