//! A fake sink with injected faults.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::Value;
use watchkeeper_controller::events::{EventSink, WriteError};

/// Clones share their state.
#[derive(Clone, Default)]
pub(crate) struct Sheet {
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    events: BTreeMap<String, Value>,
    /// The requests: `create` or `patch`, the object and the count.
    requests: Vec<String>,
    troubles: VecDeque<Trouble>,
    /// The object whose requests are never answered.
    silent_for: Option<String>,
}

/// A fault for one request.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Trouble {
    None,
    Unreachable,
    Rejected,
    Exists,
    Missing,
}

impl Sheet {
    /// Injects faults into the next requests.
    pub(crate) fn troubles(&self, troubles: impl IntoIterator<Item = Trouble>) {
        self.state.lock().troubles.extend(troubles);
    }

    /// Never answers requests for this object.
    pub(crate) fn silent_for(&self, object: &str) {
        self.state.lock().silent_for = Some(object.to_owned());
    }

    /// Returns the requests since the last call.
    pub(crate) fn requests(&self) -> Vec<String> {
        std::mem::take(&mut self.state.lock().requests)
    }

    pub(crate) fn events(&self) -> Vec<Value> {
        self.state.lock().events.values().cloned().collect()
    }

    /// Deletes all events, as if their TTL had passed.
    pub(crate) fn expire(&self) {
        self.state.lock().events.clear();
    }

    async fn arrive(&self, verb: &str, name: &str, body: &Value) -> Result<(), WriteError> {
        let object = name.split('.').next().unwrap_or_default().to_owned();
        let (trouble, is_silent) = {
            let mut state = self.state.lock();
            let count = body["count"].as_u64().or(body["series"]["count"].as_u64()).unwrap_or(1);
            state.requests.push(format!("{verb} {object} {count}"));
            let is_silent = state.silent_for.as_ref() == Some(&object);
            (state.troubles.pop_front().unwrap_or(Trouble::None), is_silent)
        };
        if is_silent {
            std::future::pending::<()>().await;
        }
        match trouble {
            Trouble::None => Ok(()),
            Trouble::Unreachable => Err(WriteError::Failed("no answer".into())),
            Trouble::Rejected => Err(WriteError::Rejected("no".into())),
            Trouble::Exists => Err(WriteError::Exists("yes".into())),
            Trouble::Missing => Err(WriteError::Missing("none".into())),
        }
    }
}

impl EventSink for Sheet {
    async fn create(&self, event: &Value) -> Result<Value, WriteError> {
        let name = event["metadata"]["name"].as_str().unwrap();
        self.arrive("create", name, event).await?;
        match self.state.lock().events.insert(name.to_owned(), event.clone()) {
            None => Ok(event.clone()),
            Some(_) => Err(WriteError::Exists("yes".into())),
        }
    }

    async fn patch(&self, namespace: &str, name: &str, patch: &Value) -> Result<Value, WriteError> {
        self.arrive("patch", name, patch).await?;
        let mut state = self.state.lock();
        let event = state.events.get_mut(name).ok_or_else(|| WriteError::Missing("none".into()))?;
        assert_eq!(event["metadata"]["namespace"], namespace);
        for (field, value) in patch.as_object().unwrap() {
            event[field] = value.clone();
        }
        Ok(event.clone())
    }
}
