//! Service: the routes, and what answers them.
//!
//! From: requests over HTTP.
//! To:   the [`Catalog`], and answers made of what it has.

use axum::Router;
use axum::routing::get;
use watchkeeper_client::Client;

use crate::access::Access;
use crate::catalog::Catalog;
use crate::envelope::success;
use crate::page;
use crate::stream::{self, Streams};

/// The service over the cached resources of a server.
#[derive(Debug, Clone)]
pub struct Service {
    pub(crate) catalog: Catalog,
    pub(crate) access: Access,
    pub(crate) streams: Streams,
}

impl Service {
    /// Over what this client's server has. Nothing is asked for before [`start`](Self::start).
    pub fn new(client: &Client) -> Self {
        Self::over(Catalog::builder(client).build())
    }

    /// Over the resources of this catalog.
    pub fn over(catalog: Catalog) -> Self {
        let access = Access::new(catalog.client());
        let streams = Streams::new(catalog.clone(), access.clone(), stream::Limits::default());
        Self { catalog, access, streams }
    }

    /// Starts the informers.
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

    /// All routes.
    pub fn router(&self) -> Router {
        Router::new()
            .route("/ping", get(|| async { success("pong") }))
            .merge(page::routes())
            .merge(stream::routes())
            .with_state(self.clone())
    }

    /// The streams that there are.
    pub fn streams(&self) -> &Streams {
        &self.streams
    }

    /// Bounds the streams otherwise; those that there are end.
    #[must_use]
    pub fn stream_limits(mut self, limits: stream::Limits) -> Self {
        self.streams.close();
        self.streams = Streams::new(self.catalog.clone(), self.access.clone(), limits);
        self
    }

    /// Ends the streams and the informers.
    pub async fn stop(&self) {
        self.streams.close();
        self.catalog.stop().await;
    }
}
