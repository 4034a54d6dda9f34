//! API: routes requests to readers, writers and documents.
//!
//! Input: the [`HandlerChain`](crate::http::HandlerChain), which has parsed and authenticated the request.
//! Output: [`read`](crate::read) and the [`Writer`], by resource and verb; discovery for non-resource paths.
//!
//! Errors are reported in kube-apiserver's order: the path, the resource, the verb, the name, the accepted encodings,
//! the options, the body, and then those of the store.

mod components;
mod connect;
mod deprecated;
mod documents;
mod heavy;
mod inject_faults;
mod log_options;
mod metrics;
mod resource;
mod write_response;

use std::sync::Arc;

use crate::admission::AdmissionPlugin;
use crate::custom::Definitions;
use crate::faults::Faults;
use crate::http::{Authenticator, Authorizer, Handler, Request, Response, Target};
use crate::kubelet::Kubelets;
use crate::registry::SharedRegistry;
use crate::store::Store;
use crate::write::Writer;
use watchkeeper_core::Status;

use crate::read::{Messages, Reader};
use heavy::HeavyWork;
pub use heavy::{HEAVY_AT_ONCE, INLINE_BYTES, INLINE_YAML_BYTES};
use metrics::Metrics;

/// Serves every request that the handler chain does not serve itself.
pub struct Api {
    registry: SharedRegistry,
    definitions: Option<Arc<Definitions>>,
    reader: Reader,
    writer: Writer,
    messages: Arc<Messages>,
    metrics: Metrics,
    faults: Faults,
    /// Whether faults can be controlled over HTTP.
    fault_endpoint: bool,
    kubelets: Option<Kubelets>,
    heavy: HeavyWork,
    /// `host:port`, for the legacy `APIVersions` document.
    address: String,
}

impl Api {
    /// Creates an API that serves the resources of a registry from a store. `address` is the address of the server
    /// for clients.
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

    /// Sets the authenticator for token reviews and service account tokens; the default knows no users.
    #[must_use]
    pub fn authenticator(mut self, authenticator: Authenticator) -> Self {
        self.writer = self.writer.authenticator(authenticator);
        self
    }

    /// Sets the authorizer that decides access reviews; the default is [`AlwaysAllow`](crate::http::AlwaysAllow).
    #[must_use]
    pub fn authorizer(mut self, authorizer: Arc<dyn Authorizer>) -> Self {
        self.writer = self.writer.authorizer(authorizer);
        self
    }

    /// Appends a plugin to the admission chain.
    #[must_use]
    pub fn admission(mut self, plugin: Arc<dyn AdmissionPlugin>) -> Self {
        self.writer = self.writer.admission(plugin);
        self
    }

    /// Sets the controller that serves custom resources; without it definitions are ordinary objects.
    #[must_use]
    pub fn definitions(mut self, definitions: Arc<Definitions>) -> Self {
        self.definitions = Some(definitions);
        self
    }

    /// Sets the fault injector, and whether it can be controlled over HTTP; the default injects nothing.
    #[must_use]
    pub fn faults(mut self, faults: Faults, endpoint: bool) -> Self {
        (self.faults, self.fault_endpoint) = (faults, endpoint);
        self
    }

    /// Sets the kubelet client; without one every node is unreachable.
    #[must_use]
    pub(crate) fn kubelets(mut self, kubelets: Kubelets) -> Self {
        self.kubelets = Some(kubelets);
        self
    }

    /// Returns the cache of encoded list items, for the task that expires its entries.
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
                let outcome = self.inject_faults(&target, request).await;
                let code = outcome
                    .as_ref()
                    .map_or_else(|status| status.code, |response| i32::from(response.code.as_u16()));
                self.metrics.count(verb, code);
                match deprecated::warning(&target, &self.registry.now()) {
                    None => outcome,
                    Some(warning) => {
                        // Failed requests get the warning too.
                        let response =
                            outcome.unwrap_or_else(|status| Response::status(&status, &preferences));
                        Ok(response.with_warnings(&[warning]))
                    }
                }
            }
        }
    }
}
