//! Departures: reports of objects deleted from a terminating namespace.

use std::collections::HashSet;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::mpsc;
use watchkeeper_core::ObjectKey;

/// Capacity of the channel to the namespace controller.
const CAPACITY: usize = 1024;

/// Receives deletions from the garbage collector's monitors. Clones share their state.
#[derive(Clone)]
pub(crate) struct Departures {
    /// Namespaces that wait for a deletion.
    expected: Arc<Mutex<HashSet<String>>>,
    sender: mpsc::Sender<ObjectKey>,
}

impl Departures {
    /// Creates a sender, and the receiver of namespaces in which something was deleted.
    pub(super) fn new() -> (Self, mpsc::Receiver<ObjectKey>) {
        let (sender, receiver) = mpsc::channel(CAPACITY);
        (Self { expected: Arc::default(), sender }, receiver)
    }

    /// Requests a report of the next deletion in this namespace.
    pub(super) fn expect(&self, namespace: &str) {
        self.expected.lock().insert(namespace.to_owned());
    }

    /// Cancels the request for this namespace.
    pub(super) fn forget(&self, namespace: &str) {
        self.expected.lock().remove(namespace);
    }

    /// Records that an object was deleted in a namespace.
    pub(crate) fn gone_from(&self, namespace: &str) {
        if self.expected.lock().remove(namespace) {
            // If the channel is full, the namespace is reconciled by its timer instead.
            let _ = self.sender.try_send(ObjectKey::cluster(namespace));
        }
    }
}
