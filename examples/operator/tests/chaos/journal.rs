//! Journal: who looks at which key, and when two do at once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use operator_example::Websites;
use tokio::sync::watch;
use watchkeeper_controller::{Action, Error, Reconcile, Request};
use watchkeeper_core::ObjectKey;

/// What all processes write down. Clones are the same journal.
#[derive(Clone, Debug, Default)]
pub(crate) struct Journal {
    busy: Arc<Mutex<HashMap<ObjectKey, String>>>,
    overlaps: Arc<Mutex<Vec<String>>>,
    calls: watch::Sender<HashMap<String, u64>>,
}

/// An operator that writes down what it does.
pub(crate) struct Journaled {
    pub(crate) websites: Websites,
    pub(crate) who: String,
    pub(crate) journal: Journal,
}

/// Somebody looks at a key, until this is dropped.
struct Busy {
    journal: Journal,
    key: ObjectKey,
    who: String,
}

impl Reconcile for Journaled {
    async fn reconcile(&self, request: Request) -> Result<Action, Error> {
        let _busy = self.journal.begin(request.key(), &self.who);
        self.websites.reconcile(request).await
    }
}

impl Journal {
    fn begin(&self, key: &ObjectKey, who: &str) -> Busy {
        let other = self.busy.lock().unwrap().insert(key.clone(), who.to_owned());
        if let Some(other) = other {
            self.overlaps.lock().unwrap().push(format!("{who} looks at {key}, and {other} still does"));
        }
        Busy { journal: self.clone(), key: key.clone(), who: who.to_owned() }
    }

    /// When two have looked at one key at once.
    pub(crate) fn overlaps(&self) -> Vec<String> {
        self.overlaps.lock().unwrap().clone()
    }

    /// How often keys were looked at.
    pub(crate) fn count(&self) -> u64 {
        self.calls.borrow().values().sum()
    }

    /// Waits until a process has looked at keys so often.
    pub(crate) async fn has_called(&self, who: &str, times: u64) {
        let often = |calls: &HashMap<String, u64>| calls.get(who).copied().unwrap_or_default() >= times;
        let _ = self.calls.subscribe().wait_for(often).await; // nobody ends the journal
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.journal.busy.lock().unwrap().remove(&self.key);
        self.journal.calls.send_modify(|calls| *calls.entry(self.who.clone()).or_default() += 1);
    }
}
