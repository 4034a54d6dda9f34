//! Sinks: the destinations that events are written to.

use std::future::Future;

use serde_json::Value;
use watchkeeper_client::Client;
use watchkeeper_client::resource::ResourceClient;
use watchkeeper_client::rest::{PatchKind, RequestError};
use watchkeeper_core::BoxError;
use watchkeeper_wire::Kind;

use super::recorder::EventApi;

/// A destination for events, as JSON.
pub trait EventSink: Send + Sync + 'static {
    /// Creates an event, and returns it as stored.
    fn create(&self, event: &Value) -> impl Future<Output = Result<Value, WriteError>> + Send;

    /// Updates an event with a strategic merge patch, and returns it as stored.
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
    /// The event to patch does not exist: the event writer creates it again.
    #[error("event not found")]
    Missing(#[source] BoxError),
    /// An event of this name exists: the event writer drops a new event, and retries one of a series.
    #[error("event already exists")]
    Exists(#[source] BoxError),
    /// The server rejected the event: the event writer drops it.
    #[error("event rejected")]
    Rejected(#[source] BoxError),
    /// Any other error, such as a lost connection: the event writer retries, up to 12 tries in all.
    #[error("failed to write event")]
    Failed(#[source] BoxError),
}

/// A sink that writes events to an API server.
#[derive(Debug, Clone)]
pub struct ServerSink {
    events: ResourceClient<Value>,
}

impl ServerSink {
    /// Creates a sink that uses one of the server's two event APIs.
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
        self.events.clone().namespace(namespace).create(event, &Default::default()).await.map_err(write_error)
    }

    async fn patch(&self, namespace: &str, name: &str, patch: &Value) -> Result<Value, WriteError> {
        let events = self.events.clone().namespace(namespace);
        events.patch(name, PatchKind::Strategic, patch, &Default::default()).await.map_err(write_error)
    }
}

fn write_error(error: RequestError) -> WriteError {
    match error {
        error if error.is_not_found() => WriteError::Missing(error.into()),
        error if error.is_already_exists() => WriteError::Exists(error.into()),
        // A retry would send the same request.
        RequestError::Invalid { .. } | RequestError::Api { .. } => WriteError::Rejected(error.into()),
        _ => WriteError::Failed(error.into()),
    }
}
