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

/// The service over the cached resources of a server.
#[derive(Debug, Clone)]
pub struct Service {
    pub(crate) catalog: Catalog,
    pub(crate) access: Access,
}

impl Service {
    /// Over what this client's server has. Nothing is asked for before [`start`](Self::start).
    pub fn new(client: &Client) -> Self {
        Self { catalog: Catalog::builder(client).build(), access: Access::default() }
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
            .with_state(self.clone())
    }

    /// Ends the informers.
    pub async fn stop(&self) {
        self.catalog.stop().await;
    }
}
