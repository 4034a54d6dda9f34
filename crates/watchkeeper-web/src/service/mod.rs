//! Service: the routes, and what answers them.
//!
//! From: requests over HTTP.
//! To:   the [`Catalog`], and answers made of what it has.
//!
//! - R1: every answer but a raw object, a stream and a page of text is an envelope (`code`, `message`, `data`), also
//!   where something is wrong.
//! - R2: what is read was [allowed](Access::check) before it is read.

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
use crate::workload::Workloads;
use metrics::RequestMetrics;

/// What there is, for programs.
const OPENAPI: &str = include_str!("openapi.json");

/// The service over the cached resources of a server. Clones are cheap and share everything.
#[derive(Debug, Clone)]
pub struct Service {
    pub(crate) catalog: Catalog,
    pub(crate) access: Access,
    pub(crate) streams: Streams,
    workloads: Workloads,
    health: Health,
    registry: Registry,
    requests: RequestMetrics,
}

impl Service {
    /// Over what this client's server has. Nothing is asked for before [`start`](Self::start).
    pub fn new(client: &Client) -> Self {
        Self::over(Catalog::builder(client).build())
    }

    /// Over the resources of this catalog.
    pub fn over(catalog: Catalog) -> Self {
        let access = Access::new(catalog.client());
        let streams = Streams::new(catalog.clone(), access.clone());
        let registry = Registry::new();
        let expected = "the names are ours, and the registry is new";
        streams.measure(&registry).expect(expected);
        catalog.factory().measure(&InformerMetrics::new(&registry).expect(expected));
        Self {
            streams,
            access,
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

    /// Where the resources are.
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// Decides who may read what.
    pub fn access(&self) -> &Access {
        &self.access
    }

    /// What is counted: to add to.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// All routes. Who asks is known by the [`Who`](crate::access::Who) among the extensions of a request; without
    /// one, nothing is answered that is read from the cache.
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

    /// The streams that there are.
    pub fn streams(&self) -> &Streams {
        &self.streams
    }

    /// Ends the streams and the informers.
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
    Failure::absent(format!("there is nothing at {}; /openapi.json says what there is", uri.path()))
}

async fn not_allowed(method: Method, uri: Uri) -> Failure {
    Failure::new(StatusCode::METHOD_NOT_ALLOWED, format!("{method} cannot be done with {}", uri.path()))
}
