//! DNS resolution, with its duration as a metric.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use hyper_util::client::legacy::connect::dns::{GaiAddrs, GaiResolver, Name};
use tokio::time::Instant;
use tower_service::Service;

use crate::metrics::Metrics;

/// The system resolver. IP addresses are not resolved.
#[derive(Clone, Debug)]
pub(super) struct Resolver {
    system: GaiResolver,
    metrics: Arc<dyn Metrics>,
}

impl Resolver {
    pub(super) fn new(metrics: Arc<dyn Metrics>) -> Self {
        Self { system: GaiResolver::new(), metrics }
    }
}

impl Service<Name> for Resolver {
    type Response = GaiAddrs;
    type Error = std::io::Error;
    type Future = Pin<Box<dyn Future<Output = Result<GaiAddrs, std::io::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.system.poll_ready(context)
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let (host, started, metrics) = (name.as_str().to_owned(), Instant::now(), self.metrics.clone());
        let resolving = self.system.call(name);
        Box::pin(async move {
            let resolved = resolving.await;
            metrics.dns_resolution_duration(&host, started.elapsed());
            resolved
        })
    }
}
