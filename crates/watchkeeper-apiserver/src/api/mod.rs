//! API: what a request asks for, found, done and written down.
//!
//! From: the [`Front`](crate::http::Front), which has read the request and knows who asks.
//! To:   [`read`](crate::read) and the [`Writer`], by resource and verb; discovery for plain paths.
//!
//! What is wrong is said in the order of the real server: the path, the resource, the verb, the name,
//! what the client accepts, the options, the body, and then what the store says.

mod answer;
mod components;
mod connect;
mod deprecated;
mod documents;
mod faulty;
mod heavy;
mod log_options;
mod metrics;
mod resource;

use std::sync::Arc;

use crate::custom::Definitions;
use crate::faults::Faults;
use crate::http::{Authenticator, Handler, Request, Response, Target};
use crate::kubelet::Kubelets;
use crate::registry::SharedRegistry;
use crate::store::Store;
use crate::write::Writer;
use watchkeeper_core::Status;

use crate::read::{Messages, Reader};
use heavy::HeavyWork;
pub use heavy::{HEAVY_AT_ONCE, INLINE_BYTES, INLINE_YAML_BYTES};
use metrics::Metrics;

/// Answers every request that the front does not answer itself.
pub struct Api {
    registry: SharedRegistry,
    definitions: Option<Arc<Definitions>>,
    reader: Reader,
    writer: Writer,
    messages: Arc<Messages>,
    metrics: Metrics,
    faults: Faults,
    /// Whether faults can be asked for over the wire.
    fault_endpoint: bool,
    kubelets: Option<Kubelets>,
    heavy: HeavyWork,
    /// `host:port`, for the oldest of the discovery documents.
    address: String,
}

impl Api {
    /// Serves the resources of a registry out of a store. `address` is where clients find this server.
    pub fn new(
        registry: impl Into<SharedRegistry>,
        store: Arc<dyn Store>,
        address: impl Into<String>,
    ) -> Self {
        Self {
            registry: registry.into(),
            definitions: None,
            reader: Reader::new(store.clone()),
            writer: Writer::new(store),
            messages: Arc::default(),
            metrics: Metrics::default(),
            faults: Faults::default(),
            fault_endpoint: false,
            kubelets: None,
            heavy: HeavyWork::default(),
            address: address.into(),
        }
    }

    /// Who is known, for reviews of tokens and for the tokens of service accounts; by default nobody.
    #[must_use]
    pub fn authenticator(mut self, authenticator: Authenticator) -> Self {
        self.writer = self.writer.authenticator(authenticator);
        self
    }

    /// What makes custom resources of definitions; without it they are objects like others.
    #[must_use]
    pub fn definitions(mut self, definitions: Arc<Definitions>) -> Self {
        self.definitions = Some(definitions);
        self
    }

    /// The faults of this server, and whether they can be asked for over the wire; by default nobody has
    /// a hold of them.
    #[must_use]
    pub fn faults(mut self, faults: Faults, endpoint: bool) -> Self {
        (self.faults, self.fault_endpoint) = (faults, endpoint);
        self
    }

    /// The way to kubelets; without one every node is out of reach.
    #[must_use]
    pub(crate) fn kubelets(mut self, kubelets: Kubelets) -> Self {
        self.kubelets = Some(kubelets);
        self
    }

    /// The messages of listed objects, for whoever lets them age.
    pub(crate) fn messages(&self) -> &Arc<Messages> {
        &self.messages
    }
}

impl Handler for Api {
    async fn handle(&self, request: Request) -> Result<Response, Status> {
        match &request.target {
            Target::Path(path) => {
                let path = path.clone();
                self.document(&path, request).await
            }
            Target::Resource(target) => {
                let (target, verb) = (target.clone(), target.verb);
                let preferences = request.preferences.clone();
                let outcome = self.suffer(&target, request).await;
                let code = outcome
                    .as_ref()
                    .map_or_else(|status| status.code, |response| i32::from(response.code.as_u16()));
                self.metrics.count(verb, code);
                match deprecated::warning(&target, &self.registry.now()) {
                    None => outcome,
                    Some(warning) => {
                        // Who is refused is warned all the same.
                        let response =
                            outcome.unwrap_or_else(|status| Response::status(&status, &preferences));
                        Ok(response.with_warnings(&[warning]))
                    }
                }
            }
        }
    }
}
