//! Journal: records which process reconciles which key, and overlaps.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use operator_example::Context;
use tokio::sync::watch;
use watchkeeper_controller::{Action, Error, Request};
use watchkeeper_core::ObjectKey;

/// The records of all processes. Clones share their state.
#[derive(Clone, Debug, Default)]
pub(crate) struct Journal {
    busy: Arc<Mutex<HashMap<ObjectKey, String>>>,
    overlaps: Arc<Mutex<Vec<String>>>,
    calls: watch::Sender<HashMap<String, u64>>,
}

/// The context of an operator whose calls are recorded.
pub(crate) struct Journaled {
    pub(crate) context: Arc<Context>,
    pub(crate) process: String,
    pub(crate) journal: Journal,
}

/// Marks a key as being reconciled until it is dropped.
struct Busy {
    journal: Journal,
    key: ObjectKey,
    process: String,
}

/// Reconciles a website, and records the call.
pub(crate) async fn reconcile(request: Request, journaled: Arc<Journaled>) -> Result<Action, Error> {
    let _busy = journaled.journal.begin(request.key(), &journaled.process);
    operator_example::reconcile(request, journaled.context.clone()).await
}

impl Journal {
    fn begin(&self, key: &ObjectKey, process: &str) -> Busy {
        let other = self.busy.lock().unwrap().insert(key.clone(), process.to_owned());
        if let Some(other) = other {
            self.overlaps
                .lock()
                .unwrap()
                .push(format!("{process} reconciles {key} while {other} still does"));
        }
        Busy { journal: self.clone(), key: key.clone(), process: process.to_owned() }
    }

    /// Returns overlapping calls for one key.
    pub(crate) fn overlaps(&self) -> Vec<String> {
        self.overlaps.lock().unwrap().clone()
    }

    /// Returns the number of calls.
    pub(crate) fn count(&self) -> u64 {
        self.calls.borrow().values().sum()
    }

    /// Waits until a process has made this many calls.
    pub(crate) async fn has_called(&self, process: &str, times: u64) {
        let is_enough =
            |calls: &HashMap<String, u64>| calls.get(process).copied().unwrap_or_default() >= times;
        let _ = self.calls.subscribe().wait_for(is_enough).await; // the sender lives as long as the journal
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.journal.busy.lock().unwrap().remove(&self.key);
        self.journal.calls.send_modify(|calls| *calls.entry(self.process.clone()).or_default() += 1);
    }
}
