//! Metrics of the API server.

use std::sync::Arc;

use watchkeeper_metrics::{Counter, Family, Gauge, RegisterError, Registry};

use crate::http::Verb;
use crate::store::Revision;

/// The metrics that `/metrics` shows. Verbs and codes are few, so that no client can make this grow.
#[derive(Debug)]
pub(super) struct Metrics {
    registry: Registry,
    requests: Family<Counter, 2>,
    revision: Arc<Gauge>,
    unread_bytes: Arc<Gauge>,
}

impl Default for Metrics {
    fn default() -> Self {
        Self::register(Registry::new()).expect("the names are valid, and each is registered once")
    }
}

impl Metrics {
    fn register(registry: Registry) -> Result<Self, RegisterError> {
        let help = "Requests for resources, by verb and code.";
        let requests = registry.counter("apiserver_request_total", help, ["verb", "code"])?;
        let help = "The revision of the newest change.";
        let revision = registry.gauge("watchkeeper_store_revision", help, [])?.with([]);
        let help = "Bytes held for responses that clients have not read.";
        let unread_bytes = registry.gauge("watchkeeper_unread_response_bytes", help, [])?.with([]);
        Ok(Self { registry, requests, revision, unread_bytes })
    }

    pub(super) fn count(&self, verb: Verb, code: i32) {
        self.requests.with([&verb.as_str().to_uppercase(), &code.to_string()]).increment();
    }

    /// Renders the page of `/metrics`.
    pub(super) fn render(&self, revision: Revision, unread_bytes: usize) -> String {
        self.revision.set(revision.get() as f64);
        self.unread_bytes.set(unread_bytes as f64);
        self.registry.render()
    }
}
