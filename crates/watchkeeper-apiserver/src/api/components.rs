//! Component statuses: the health of control plane components, checked on every read.
//!
//! As in kube-apiserver, the store is called `etcd-0`, and the scheduler and the controller manager are probed on
//! their default loopback ports. Controllers that run inside this process listen on no port.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use http::StatusCode;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use watchkeeper_core::{GroupResource, Status};

use super::Api;
use super::resource::ResolvedRequest;
use crate::http::{GetOptions, ListOptions, Request, Response};

/// The components that listen on a port, with their default ports.
const PROBED: [(&str, u16); 2] = [("controller-manager", 10257), ("scheduler", 10259)];

/// The component name of the store.
const STORE: &str = "etcd-0";

/// The timeout of a probe.
const PROBE_TIMEOUT: Duration = Duration::from_secs(20);

impl ResolvedRequest {
    /// Returns whether the request is for component statuses.
    pub(super) fn is_components(&self) -> bool {
        self.row.rules().reports_components()
    }
}

impl Api {
    /// Returns one component; 404 if it does not exist.
    pub(super) async fn component(
        &self,
        resolved: &ResolvedRequest,
        request: Request,
    ) -> Result<Response, Status> {
        let accepted = request.preferences.object(&resolved.offer(false))?;
        let encoder = resolved.encoder(self, &request, accepted)?;
        GetOptions::read(&request.query)?;
        let name = resolved.scope.name.as_deref().unwrap_or_default();
        match self.component_status(name).await {
            Some(component) => encoder.value(StatusCode::OK, component, &resolved.kind()),
            // kube-apiserver uses the singular here.
            None => Err(Status::not_found(
                &GroupResource { group: String::new(), resource: "componentstatus".to_owned() },
                name,
            )),
        }
    }

    /// Returns the components that match the selectors. They have no labels, and no fields other than their names.
    pub(super) async fn components(
        &self,
        resolved: &ResolvedRequest,
        request: Request,
    ) -> Result<Response, Status> {
        let accepted = request.preferences.object(&resolved.offer(true))?;
        let encoder = resolved.encoder(self, &request, accepted)?;
        let options = ListOptions::read(&request.query)?;
        let mut items = Vec::new();
        for name in PROBED.map(|(name, _)| name).into_iter().chain([STORE]) {
            let field = |field: &str| (field == "metadata.name").then_some(name);
            let is_chosen = options.label_selector.matches(|_| None) && options.field_selector.matches(field);
            if is_chosen {
                items.extend(self.component_status(name).await);
            }
        }
        encoder.unstored_list(StatusCode::OK, &items)
    }

    async fn component_status(&self, name: &str) -> Option<Value> {
        let (status, message) = match PROBED.iter().find(|(probed, _)| *probed == name) {
            Some((_, port)) => match probe(*port).await {
                Ok(()) => ("True", "ok".to_owned()),
                Err(error) => ("False", error),
            },
            None if name == STORE => match self.reader.store().current().await {
                Ok(_) => ("True", "ok".to_owned()),
                Err(error) => ("False", error.to_string()),
            },
            None => return None,
        };
        let condition = json!({"type": "Healthy", "status": status, "message": message});
        Some(json!({"metadata": {"name": name}, "conditions": [condition]}))
    }
}

/// Checks whether something listens on a loopback port. Errors are in Go's words.
async fn probe(port: u16) -> Result<(), String> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let failed = |why: &str| format!("Get \"https://{address}/healthz\": dial tcp {address}: {why}");
    match tokio::time::timeout(PROBE_TIMEOUT, TcpStream::connect(address)).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) if error.kind() == std::io::ErrorKind::ConnectionRefused => {
            Err(failed("connect: connection refused"))
        }
        Ok(Err(error)) => Err(failed(&error.to_string())),
        Err(_) => Err(failed("i/o timeout")),
    }
}
