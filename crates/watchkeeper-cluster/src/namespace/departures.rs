//! Departures: objects that have gone from a namespace that is being emptied.

use std::collections::HashSet;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::mpsc;
use watchkeeper_core::ObjectKey;

/// How many namespaces can be told of before the controller has taken one.
const ROOM: usize = 1024;

/// Whoever sees objects go says so here. Clones are the same.
#[derive(Clone)]
pub(crate) struct Departures {
    /// The namespaces from which somebody waits for something to go.
    expected: Arc<Mutex<HashSet<String>>>,
    told: mpsc::Sender<ObjectKey>,
}

impl Departures {
    /// And what is told of: the namespaces from which something has gone.
    pub(super) fn new() -> (Self, mpsc::Receiver<ObjectKey>) {
        let (told, hears) = mpsc::channel(ROOM);
        (Self { expected: Arc::default(), told }, hears)
    }

    /// The next object to go from this namespace is told of.
    pub(super) fn expect(&self, namespace: &str) {
        self.expected.lock().insert(namespace.to_owned());
    }

    /// Nothing is expected from this namespace any more.
    pub(super) fn forget(&self, namespace: &str) {
        self.expected.lock().remove(namespace);
    }

    /// Something has gone from a namespace.
    pub(crate) fn gone_from(&self, namespace: &str) {
        if self.expected.lock().remove(namespace) {
            // Where there is no room, the namespace is looked at when its time has come.
            let _ = self.told.try_send(ObjectKey::cluster(namespace));
        }
    }
}
