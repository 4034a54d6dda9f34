//! Connections: requests that only a kubelet can serve.
//!
//! Errors are reported in kube-apiserver's order: the options, the pod, the container, the node, and then those of
//! the kubelet.

use crate::http::{GetOptions, Query, Request, Response, parse_u64, unexplained};
use crate::kubelet::{KubeletAddress, KubeletError, Location, UpgradeOutcome, is_success, is_upgrade, relay};
use http::header::{CONTENT_LENGTH, HeaderMap, HeaderName, TRANSFER_ENCODING};
use http::{HeaderValue, StatusCode};
use hyper::upgrade::OnUpgrade;
use serde_json::Value;
use watchkeeper_core::{GroupResource, Status, UnexpectedResponse};

use super::Api;
use super::log_options::log_options;
use super::resource::ResolvedRequest;
use crate::read::{Scope, View};

/// Maximum length of a kubelet's error message in bytes.
const REFUSAL_BYTES: usize = 50_000;

/// The container lists of a pod.
const CONTAINERS: [&str; 3] = ["initContainers", "containers", "ephemeralContainers"];

impl Api {
    /// Returns the log of a container; empty while the pod has no node.
    pub(super) async fn log(&self, resolved: &ResolvedRequest, query: &Query) -> Result<Response, Status> {
        let options = log_options(query, name_of(resolved))?;
        let pod = self.pod(resolved).await?;
        let container = container(&pod, name_of(resolved), query)?;
        if node_of(&pod).is_empty() {
            return Ok(Response::text(StatusCode::NO_CONTENT, ""));
        }
        let path = format!("/containerLogs/{}/{container}", path_of(resolved));
        let location = Location::new(self.kubelet_address(node_of(&pod)).await?, &path, options);
        let Some(kubelets) = &self.kubelets else { return Err(no_kubelet_client(node_of(&pod))) };
        let answered = kubelets.get(&location).await.map_err(|error| {
            let (KubeletError::Dial(why) | KubeletError::Lost(why)) = error;
            unexplained(format!("Get \"{}\": {why}", location.url()))
        })?;
        let (code, body) = (answered.status(), answered.into_body());
        if is_success(code) {
            return Ok(Response::stream(StatusCode::OK, HeaderValue::from_static("text/plain"), body));
        }
        let text = body.beginning(REFUSAL_BYTES).await.map_err(Status::internal_error)?;
        Err(refusal(code, &text, name_of(resolved)))
    }

    /// Serves `exec`, `attach` and `portforward`: relays between the client and the kubelet.
    pub(super) async fn connect(
        &self,
        resolved: &ResolvedRequest,
        request: Request,
    ) -> Result<Response, Status> {
        self.writer.admit_connect(&resolved.call(&request.user)).await?;
        let sub = resolved.sub.as_ref().map_or("", |sub| &*sub.name);
        let query = &request.query;
        let options = match sub {
            "portforward" => ports(query)?,
            _ => stream_options(query, sub == "exec"),
        };
        let pod = self.pod(resolved).await?;
        let path = match sub {
            "portforward" => format!("/portForward/{}", path_of(resolved)),
            _ => format!("/{sub}/{}/{}", path_of(resolved), container(&pod, name_of(resolved), query)?),
        };
        let node = node_of(&pod);
        if node.is_empty() {
            return Err(Status::bad_request(format!(
                "pod {} does not have a host assigned",
                name_of(resolved)
            )));
        }
        let location = Location::new(self.kubelet_address(node).await?, &path, options);
        let upgrade = request.extensions.get::<OnUpgrade>().cloned();
        let (true, Some(client)) = (is_upgrade(&request.headers), upgrade) else {
            return Err(Status::bad_request("Upgrade request required"));
        };
        let Some(kubelets) = &self.kubelets else { return Err(no_kubelet_client(node)) };
        let switched = kubelets.upgrade(&location, request.method, request.headers).await;
        let switched = switched.map_err(|error| match error {
            KubeletError::Dial(why) => unexplained(format!("error dialing backend: {why}")),
            KubeletError::Lost(why) => unexplained(why),
        })?;
        match switched {
            UpgradeOutcome::Switched(headers, kubelet) => {
                request.switch.then(relay(client, kubelet));
                Ok(with_headers(Response::empty(StatusCode::SWITCHING_PROTOCOLS), headers))
            }
            UpgradeOutcome::Refused(answer) if answer.status().as_u16() < 400 => {
                let code = answer.status().as_u16();
                Err(unexplained(format!("invalid upgrade response: status code {code}")))
            }
            UpgradeOutcome::Refused(answer) => {
                let (head, body) = answer.into_parts();
                let response = Response::stream(head.status, HeaderValue::from_static("text/plain"), body);
                Ok(with_headers(response, head.headers))
            }
        }
    }

    async fn pod(&self, resolved: &ResolvedRequest) -> Result<Value, Status> {
        let stored = self.reader.get(&resolved.scope, &GetOptions::default()).await?;
        resolved.scope.view.value(&stored)
    }

    /// Returns the address of the kubelet of a node.
    async fn kubelet_address(&self, node: &str) -> Result<KubeletAddress, Status> {
        let registry = self.registry.now();
        let Some(row) = registry.get("", "v1", "nodes") else { return Err(no_kubelet_client(node)) };
        let view = View::of(&registry, row);
        let scope = Scope { resource: row.clone(), namespace: None, name: Some(node.to_owned()), view };
        let stored = self.reader.get(&scope, &GetOptions::default()).await?;
        KubeletAddress::of_node(&scope.view.value(&stored)?).map_err(unexplained)
    }
}

/// 500: this server is built without a kubelet client.
fn no_kubelet_client(node: &str) -> Status {
    Status::internal_error(format!("error dialing backend: no connection to node {node}"))
}

/// Converts an error of a kubelet into a status.
fn refusal(code: StatusCode, body: &[u8], pod: &str) -> Status {
    let text = String::from_utf8_lossy(body);
    match code {
        StatusCode::INTERNAL_SERVER_ERROR => Status::internal_error(text),
        StatusCode::BAD_REQUEST => Status::bad_request(text),
        code => {
            let resource = GroupResource { group: String::new(), resource: "pods/log".to_owned() };
            let mut status = Status::from(UnexpectedResponse {
                code: code.as_u16(),
                resource: Some(&resource),
                name: pod,
                text: Some(body),
                ..Default::default()
            });
            if let Some(details) = &mut status.details {
                details.causes.clear(); // not unexpected here
            }
            status
        }
    }
}

/// Replaces the headers of the response by those of the kubelet, except for the framing.
fn with_headers(mut response: Response, mut headers: HeaderMap) -> Response {
    const FRAMING: [HeaderName; 2] = [CONTENT_LENGTH, TRANSFER_ENCODING];
    for name in FRAMING {
        headers.remove(name);
    }
    response.headers = headers;
    response
}

/// Translates stream options into the kubelet's parameters.
fn stream_options(query: &Query, runs: bool) -> Vec<(&'static str, String)> {
    let mut options = Vec::new();
    for (parameter, name) in [("stdin", "input"), ("stdout", "output"), ("stderr", "error"), ("tty", "tty")] {
        if query.switch(parameter) == Some(true) {
            options.push((name, "1".to_owned()));
        }
    }
    if runs {
        options.extend(query.all("command").map(|word| ("command", word.to_owned())));
    }
    options
}

/// Translates the requested ports into the kubelet's parameter.
fn ports(query: &Query) -> Result<Vec<(&'static str, String)>, Status> {
    let mut ports = Vec::new();
    for text in query.all("ports").flat_map(|list| list.split(',')) {
        let problem = |error: String| Status::bad_request(format!("cannot convert to []int32: {error}"));
        let number = parse_u64(text).map_err(|error| problem(error.to_string()))?;
        if number > u64::from(u16::MAX) {
            return Err(problem(format!("strconv.ParseUint: parsing \"{text}\": value out of range")));
        }
        ports.push(number.to_string());
    }
    Ok(if ports.is_empty() { Vec::new() } else { vec![("port", ports.join(","))] })
}

/// Returns `namespace/pod`.
fn path_of(resolved: &ResolvedRequest) -> String {
    format!("{}/{}", resolved.scope.namespace.as_deref().unwrap_or_default(), name_of(resolved))
}

fn name_of(resolved: &ResolvedRequest) -> &str {
    resolved.scope.name.as_deref().unwrap_or_default()
}

fn node_of(pod: &Value) -> &str {
    pod["spec"]["nodeName"].as_str().unwrap_or_default()
}

/// Returns the requested container; 400 if it is ambiguous or does not exist.
fn container<'a>(pod: &'a Value, name: &str, query: &'a Query) -> Result<&'a str, Status> {
    let list = |list: &str| pod["spec"][list].as_array().map_or(&[] as &[Value], Vec::as_slice);
    let own =
        || list("containers").first().and_then(|container| container["name"].as_str()).unwrap_or_default();
    let names = || CONTAINERS.into_iter().flat_map(list).filter_map(|container| container["name"].as_str());
    let unclear = format!("a container name must be specified for pod {name}");
    let wrong = match (query.first("container").unwrap_or_default(), list("containers").len()) {
        ("", 1) => return Ok(own()),
        ("", 0) => unclear,
        ("", _) => format!("{unclear}, choose one of: [{}]", names().collect::<Vec<_>>().join(" ")),
        (wanted, _) if names().any(|name| name == wanted) => return Ok(wanted),
        (wanted, _) => format!("container {wanted} is not valid for pod {name}"),
    };
    Err(Status::bad_request(wrong))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_pod_with_several_containers_needs_a_container_name() {
        let several = json!({"spec": {
            "initContainers": [{"name": "first"}],
            "containers": [{"name": "main"}, {"name": "side"}],
        }});
        let one = json!({"spec": {"containers": [{"name": "main"}]}});
        let shown = |pod: &Value, query: &str| match container(pod, "web", &Query::parse(query)) {
            Ok(name) => name.to_owned(),
            Err(status) => format!("{} {}", status.code, status.message),
        };
        assert_eq!(shown(&one, ""), "main");
        assert_eq!(shown(&several, "container=first"), "first");
        assert_eq!(
            shown(&several, ""),
            "400 a container name must be specified for pod web, choose one of: [first main side]"
        );
        assert_eq!(shown(&one, "container=side"), "400 container side is not valid for pod web");
        assert_eq!(shown(&json!({}), ""), "400 a container name must be specified for pod web");
    }
}
