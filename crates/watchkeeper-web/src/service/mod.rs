//! The web service: routes and their state.
//!
//! Input: HTTP requests.
//! Output: responses from the [`Catalog`].
//!
//! Invariants:
//! - `service.R1`: every response except raw objects, streams and plain text is an envelope (`code`, `message`,
//!   `data`), including errors.
//! - `service.R2`: every read is [authorized](Access::authorize) first.

mod events;
mod health;
mod list;
mod metrics;
mod objects;
mod request;
mod resources;
mod tree;
mod workloads;

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::get;
use http::{Method, StatusCode, Uri};
use watchkeeper_cache::metrics::InformerMetrics;
use watchkeeper_client::Client;
use watchkeeper_core::Health;
use watchkeeper_metrics::Registry;

use crate::access::Access;
use crate::catalog::Catalog;
use crate::envelope::{Failure, json, success};
use crate::page;
use crate::stream::{self, Streams};
use crate::undecodable::Undecodable;
use crate::workload::Workloads;
use metrics::RequestMetrics;

/// OpenAPI description of the routes.
const OPENAPI: &str = include_str!("openapi.json");

/// The web service over the cached resources of a server. Clones share all state.
#[derive(Debug, Clone)]
pub struct Service {
    pub(crate) catalog: Catalog,
    pub(crate) access: Access,
    pub(crate) streams: Streams,
    undecodable: Undecodable,
    workloads: Workloads,
    health: Health,
    registry: Registry,
    requests: RequestMetrics,
}

impl Service {
    /// Creates a service for the server of a client. Nothing is requested before [`start`](Self::start).
    pub fn new(client: &Client) -> Self {
        Self::over(Catalog::builder(client).build())
    }

    /// Creates a service over a catalog.
    pub fn over(catalog: Catalog) -> Self {
        let access = Access::new(catalog.client());
        let registry = Registry::new();
        let expected = "metric names are unique in a new registry";
        let undecodable = Undecodable::new(&registry).expect(expected);
        let streams = Streams::new(catalog.clone(), access.clone(), undecodable.clone());
        streams.measure(&registry).expect(expected);
        catalog.factory().measure(&InformerMetrics::new(&registry).expect(expected));
        Self {
            streams,
            access,
            undecodable,
            workloads: Workloads::new(catalog.factory()),
            health: health::checks(&catalog),
            requests: RequestMetrics::new(&registry).expect(expected),
            registry,
            catalog,
        }
    }

    /// Starts the informers.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn start(&self) {
        self.catalog.start();
    }

    /// Returns the catalog.
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// Returns the access checks.
    pub fn access(&self) -> &Access {
        &self.access
    }

    /// Returns the metrics registry, for further metrics.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Returns all routes. The user is the [`Identity`](crate::access::Identity) in the extensions of a request;
    /// without one, nothing is read from the cache.
    pub fn router(&self) -> Router {
        Router::new()
            .merge(routes())
            .merge(page::routes())
            .merge(stream::routes())
            .fallback(absent)
            .method_not_allowed_fallback(not_allowed)
            .layer(from_fn_with_state(self.requests.clone(), metrics::count))
            .with_state(self.clone())
    }

    /// Returns the open streams.
    pub fn streams(&self) -> &Streams {
        &self.streams
    }

    /// Closes the streams and stops the informers.
    pub async fn stop(&self) {
        self.streams.close();
        self.catalog.stop().await;
    }
}

fn routes() -> Router<Service> {
    Router::new()
        .route("/ping", get(|| async { success("pong") }))
        .route("/pod/list", get(list::pods))
        .route("/{resource}/{group}/{version}", get(list::list))
        .route("/v1/resources", get(resources::resources))
        .route("/v1/workloads/{namespace}/{deployment}", get(workloads::workload))
        .route("/v1/tree/{group}/{version}/{resource}/{namespace}/{name}", get(tree::tree))
        .route("/v1/events", get(events::events))
        .route("/v1/objects/{group}/{version}/{resource}/{namespace}/{name}", get(objects::object))
        .route("/healthz", get(health::health))
        .route("/healthz/{check}", get(health::health))
        .route("/livez", get(health::health))
        .route("/livez/{check}", get(health::health))
        .route("/readyz", get(health::health))
        .route("/readyz/{check}", get(health::health))
        .route("/metrics", get(metrics::page))
        .route("/openapi.json", get(|| async { json(StatusCode::OK, OPENAPI.into()) }))
}

async fn absent(uri: Uri) -> Failure {
    Failure::not_found(format!("{} not found; see /openapi.json for all routes", uri.path()))
}

async fn not_allowed(method: Method, uri: Uri) -> Failure {
    Failure::new(StatusCode::METHOD_NOT_ALLOWED, format!("method {method} not allowed for {}", uri.path()))
}
