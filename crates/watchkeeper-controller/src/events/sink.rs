//! Sinks: where events are written to.

use std::future::Future;

use serde_json::Value;
use watchkeeper_client::Client;
use watchkeeper_client::resource::ResourceClient;
use watchkeeper_client::rest::{PatchKind, RequestError};
use watchkeeper_core::BoxError;
use watchkeeper_wire::Kind;

use super::recorder::EventApi;

/// Where events are written to, as JSON.
pub trait EventSink: Send + Sync + 'static {
    /// Writes a new event. Returns it as it is written.
    fn create(&self, event: &Value) -> impl Future<Output = Result<Value, WriteError>> + Send;

    /// Changes an event, by a strategic merge patch. Returns it as it is written.
    fn patch(
        &self,
        namespace: &str,
        name: &str,
        patch: &Value,
    ) -> impl Future<Output = Result<Value, WriteError>> + Send;
}

/// Why an event was not written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// There is no such event to change: a new one is written.
    #[error("there is no such event")]
    Missing(#[source] BoxError),
    /// There is an event of this name.
    #[error("there is such an event already")]
    Exists(#[source] BoxError),
    /// It is not wanted, and will not be.
    #[error("the event was refused")]
    Refused(#[source] BoxError),
    /// It may be written another time.
    #[error("the event could not be written")]
    Failed(#[source] BoxError),
}

/// An API server.
#[derive(Debug, Clone)]
pub struct ServerSink {
    events: ResourceClient<Value>,
}

impl ServerSink {
    /// The events of a server, by one of its two APIs.
    pub fn new(client: &Client, api: EventApi) -> Self {
        let group = match api {
            EventApi::Core => "",
            EventApi::Events => "events.k8s.io",
        };
        Self { events: client.resource("events", &Kind::new(group, "v1", "Event")) }
    }
}

impl EventSink for ServerSink {
    async fn create(&self, event: &Value) -> Result<Value, WriteError> {
        let namespace = event["metadata"]["namespace"].as_str().unwrap_or_default();
        self.events.clone().namespace(namespace).create(event, &Default::default()).await.map_err(failed)
    }

    async fn patch(&self, namespace: &str, name: &str, patch: &Value) -> Result<Value, WriteError> {
        let events = self.events.clone().namespace(namespace);
        events.patch(name, PatchKind::Strategic, patch, &Default::default()).await.map_err(failed)
    }
}

fn failed(error: RequestError) -> WriteError {
    match error {
        error if error.is_not_found() => WriteError::Missing(error.into()),
        error if error.is_already_exists() => WriteError::Exists(error.into()),
        // To ask again would be to ask the same.
        RequestError::Invalid { .. } | RequestError::Api { .. } => WriteError::Refused(error.into()),
        _ => WriteError::Failed(error.into()),
    }
}
