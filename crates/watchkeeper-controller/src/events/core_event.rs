//! Events of the `v1` API.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use watchkeeper_core::Timestamp;

use super::event::{EventType, Recorded, event_name};
use super::reference::Reference;

/// A `v1` event.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CoreEvent {
    pub(super) name: String,
    pub(super) annotations: BTreeMap<String, String>,
    pub(super) involved: Reference,
    pub(super) event_type: EventType,
    pub(super) reason: String,
    pub(super) message: String,
    pub(super) component: String,
    pub(super) host: String,
    /// Whether to set `reportingComponent` and `reportingInstance` besides `source`.
    pub(super) sets_reporter: bool,
    pub(super) first: Timestamp,
    pub(super) last: Timestamp,
    pub(super) count: u32,
}

impl CoreEvent {
    pub(super) fn new(recorded: &Recorded) -> Self {
        let (event, at) = (&recorded.event, recorded.at.timestamp());
        Self {
            name: event_name(&recorded.regarding.name, recorded.at),
            annotations: event.annotations.clone(),
            involved: recorded.regarding.clone(),
            event_type: event.event_type,
            reason: event.reason.clone(),
            message: event.message.clone(),
            component: recorded.source.component.clone(),
            host: recorded.source.host.clone(),
            sets_reporter: true,
            first: at,
            last: at,
            count: 1,
        }
    }

    pub(super) fn namespace(&self) -> &str {
        self.involved.event_namespace()
    }

    pub(super) fn to_json(&self) -> Value {
        let mut metadata = json!({"name": self.name, "namespace": self.namespace()});
        if !self.annotations.is_empty() {
            metadata["annotations"] = json!(self.annotations);
        }
        let source = [("component", &self.component), ("host", &self.host)];
        let source = source.into_iter().filter(|(_, value)| !value.is_empty());
        let source: Map<_, _> =
            source.map(|(name, value)| (name.to_owned(), value.as_str().into())).collect();
        let (reporter, instance) =
            if self.sets_reporter { (self.component.as_str(), self.host.as_str()) } else { ("", "") };
        json!({
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": metadata,
            "involvedObject": self.involved.to_json(),
            "reason": self.reason,
            "message": self.message,
            "source": source,
            "firstTimestamp": self.first.to_string(),
            "lastTimestamp": self.last.to_string(),
            "count": self.count,
            "type": self.event_type.as_str(),
            "reportingComponent": reporter,
            "reportingInstance": instance,
        })
    }

    /// Returns the patch that counts one more occurrence.
    pub(super) fn patch(&self) -> Value {
        let mut patch = json!({"count": self.count, "lastTimestamp": self.last.to_string()});
        if !self.message.is_empty() {
            patch["message"] = self.message.as_str().into();
        }
        patch
    }
}
