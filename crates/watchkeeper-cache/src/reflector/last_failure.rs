//! Last failure: the reason why a reflector's copy may be stale.

use std::sync::Arc;

use super::Failure;
use crate::lock::Mutex;

/// The failure of the last list or watch request; `None` once a request succeeds. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct LastFailure {
    failure: Arc<Mutex<Option<Arc<Failure>>>>,
}

impl LastFailure {
    pub(crate) fn get(&self) -> Option<Arc<Failure>> {
        self.failure.lock().clone()
    }

    pub(super) fn set(&self, failure: Failure) {
        let former = self.failure.lock().replace(Arc::new(failure));
        drop(former); // outside the lock
    }

    pub(super) fn clear(&self) {
        let former = self.failure.lock().take();
        drop(former);
    }
}
