//! Connections: what only a kubelet can answer, as far as that can be done without one.
//!
//! What is wrong with the request is said as on the real server. Where it would go to the node now, there
//! is none to go to.

use crate::http::{GetOptions, Query, Response};
use http::StatusCode;
use serde_json::Value;
use watchkeeper_core::Status;

use super::Api;
use super::resource::Asked;
use crate::read::{Scope, View};

/// The lists of containers that a pod has.
const CONTAINERS: [&str; 3] = ["initContainers", "containers", "ephemeralContainers"];

impl Api {
    /// The log of a container: nothing, as long as the pod has no node.
    pub(super) async fn log(&self, asked: &Asked, query: &Query) -> Result<Response, Status> {
        let pod = self.pod(asked).await?;
        check_container(&pod, name_of(asked), query)?;
        match node_of(&pod) {
            "" => Ok(Response::text(StatusCode::NO_CONTENT, "")),
            node => Err(self.unreachable(node).await),
        }
    }

    /// `exec`, `attach` and `portforward`: always refused.
    pub(super) async fn connect(&self, asked: &Asked, query: &Query) -> Status {
        let pod = match self.pod(asked).await {
            Ok(pod) => pod,
            Err(status) => return status,
        };
        let to_container = asked.sub.as_ref().is_some_and(|sub| sub.name != "portforward");
        if to_container && let Err(status) = check_container(&pod, name_of(asked), query) {
            return status;
        }
        match node_of(&pod) {
            "" => Status::bad_request(format!("pod {} does not have a host assigned", name_of(asked))),
            node => self.unreachable(node).await,
        }
    }

    async fn pod(&self, asked: &Asked) -> Result<Value, Status> {
        let stored = self.reader.get(&asked.scope, &GetOptions::default()).await?;
        asked.scope.view.value(&stored)
    }

    /// Why a node cannot be spoken to.
    async fn unreachable(&self, node: &str) -> Status {
        if let Some(row) = self.registry.get("", "v1", "nodes") {
            let view = View::of(&self.registry, row);
            let scope = Scope { resource: row.clone(), namespace: None, name: Some(node.to_owned()), view };
            if let Err(status) = self.reader.get(&scope, &GetOptions::default()).await {
                return status;
            }
        }
        Status::internal_error(format!("error dialing backend: node {node} runs no kubelet"))
    }
}

fn name_of(asked: &Asked) -> &str {
    asked.scope.name.as_deref().unwrap_or_default()
}

fn node_of(pod: &Value) -> &str {
    pod["spec"]["nodeName"].as_str().unwrap_or_default()
}

/// 400 where it is not clear which container is meant, or there is none of that name.
fn check_container(pod: &Value, name: &str, query: &Query) -> Result<(), Status> {
    let list = |list: &str| pod["spec"][list].as_array().map_or(&[] as &[Value], Vec::as_slice);
    let names = || CONTAINERS.into_iter().flat_map(list).filter_map(|container| container["name"].as_str());
    let unclear = format!("a container name must be specified for pod {name}");
    let wrong = match (query.first("container").unwrap_or_default(), list("containers").len()) {
        ("", 1) => return Ok(()),
        ("", 0) => unclear,
        ("", _) => format!("{unclear}, choose one of: [{}]", names().collect::<Vec<_>>().join(" ")),
        (wanted, _) if names().any(|name| name == wanted) => return Ok(()),
        (wanted, _) => format!("container {wanted} is not valid for pod {name}"),
    };
    Err(Status::bad_request(wrong))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_container_is_named_where_there_are_several() {
        let several = json!({"spec": {
            "initContainers": [{"name": "first"}],
            "containers": [{"name": "main"}, {"name": "side"}],
        }});
        let one = json!({"spec": {"containers": [{"name": "main"}]}});
        let said = |pod: &Value, query: &str| match check_container(pod, "web", &Query::parse(query)) {
            Ok(()) => String::new(),
            Err(status) => format!("{} {}", status.code, status.message),
        };
        assert_eq!(said(&one, ""), "");
        assert_eq!(said(&several, "container=first"), "");
        assert_eq!(
            said(&several, ""),
            "400 a container name must be specified for pod web, choose one of: [first main side]"
        );
        assert_eq!(said(&one, "container=side"), "400 container side is not valid for pod web");
        assert_eq!(said(&json!({}), ""), "400 a container name must be specified for pod web");
    }
}
