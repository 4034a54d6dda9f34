//! Documents: responses to non-resource paths.

use crate::discovery::{self, Aggregated, Document, Root, Swagger};
use crate::http::{Accepted, MediaType, Offer, Request, Response, method_not_allowed, no_such_resource};
use http::header::{ACCEPT, CACHE_CONTROL, ETAG, IF_NONE_MATCH, VARY};
use http::{HeaderValue, Method, StatusCode};
use serde_json::{Value, json};
use watchkeeper_core::Status;
use watchkeeper_wire::Kind;

use super::Api;

/// Legacy documents have no table and are not collections.
const OFFER: Offer = Offer { transforms: false, ..Offer::OBJECT };

impl Api {
    pub(super) async fn document(&self, path: &str, request: Request) -> Result<Response, Status> {
        if path.trim_matches('/') == "metrics" {
            let text = self.metrics.render(self.revision().await?, request.budget.used());
            return Ok(Response::text(StatusCode::OK, text));
        }
        match path.trim_end_matches('/').strip_prefix("/debug/watchkeeper/") {
            Some(path) if self.fault_endpoint => self.fault_request(path, request).await,
            _ => self.discover(path, &request),
        }
    }

    fn discover(&self, path: &str, request: &Request) -> Result<Response, Status> {
        let registry = &*self.registry.now();
        let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
        let known = match parts[..] {
            [""] => {
                let paths = self.paths();
                return Ok(Response::raw_json(StatusCode::OK, &json!({ "paths": paths })));
            }
            ["api"] => return self.root(request, Root::Api),
            ["apis"] => return self.root(request, Root::Apis),
            ["api", version] => discovery::api_resource_list(registry, "", version),
            ["apis", group] => discovery::api_group(registry, group),
            ["apis", group, version] => discovery::api_resource_list(registry, group, version),
            ["openapi", "v2"] => Some(discovery::openapi_v2(swagger_form(request))),
            ["openapi", "v3"] => Some(discovery::openapi_index(registry)),
            ["openapi", "v3", "api", version] => discovery::openapi(registry, "", version),
            ["openapi", "v3", "apis", group, version] => discovery::openapi(registry, group, version),
            _ => None,
        };
        match known {
            None if self.is_version_of_known_group(&parts) => Err(no_such_resource()),
            None if parts[0] == "openapi" => Ok(Response::empty(StatusCode::NOT_FOUND)),
            None => Ok(Response::page_not_found()),
            Some(_) if !matches!(request.method, Method::GET | Method::HEAD) => Err(method_not_allowed()),
            Some(document) if parts[0] == "openapi" => Ok(tagged(&document, request)),
            Some(document) => plain(&document, request),
        }
    }

    fn root(&self, request: &Request, root: Root) -> Result<Response, Status> {
        if !matches!(request.method, Method::GET | Method::HEAD) {
            return Err(method_not_allowed());
        }
        let registry = self.registry.now();
        if let Some(form) = aggregated_form(request) {
            let document = discovery::aggregated(&registry, root, form);
            return Ok(tagged(&document, request)
                .with_header(VARY, HeaderValue::from_static("Accept"))
                .with_header(CACHE_CONTROL, HeaderValue::from_static("public")));
        }
        let document = match root {
            Root::Api => discovery::api_versions(&registry, &self.address),
            Root::Apis => discovery::api_group_list(&registry),
        };
        plain(&document, request)
    }

    fn is_version_of_known_group(&self, parts: &[&str]) -> bool {
        match parts {
            ["api", _] => true,
            ["apis", group, _] => self.registry.now().has_built_in(group),
            _ => false,
        }
    }

    /// Returns all paths, for the index.
    fn paths(&self) -> Vec<String> {
        let mut paths = vec!["/api".to_owned(), "/apis".to_owned()];
        let registry = self.registry.now();
        for group in registry.groups() {
            let base = if group.is_empty() { "/api".to_owned() } else { format!("/apis/{group}") };
            paths.extend(registry.versions(group).into_iter().map(|version| format!("{base}/{version}")));
            paths.extend((!group.is_empty()).then_some(base));
        }
        paths.extend(
            ["/healthz", "/livez", "/metrics", "/openapi/v2", "/openapi/v3", "/readyz", "/version"]
                .map(str::to_owned),
        );
        paths.sort_unstable();
        paths
    }
}

/// Returns the OpenAPI v2 format that the client accepts; kubectl accepts only protobuf.
fn swagger_form(request: &Request) -> Swagger {
    let accept = request.headers.get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if accept.contains("proto-openapi") { Swagger::Protobuf } else { Swagger::Json }
}

/// Returns the version of aggregated discovery that the client prefers over the legacy documents, if any.
fn aggregated_form(request: &Request) -> Option<Aggregated> {
    let accept = request.headers.get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let mut forms = accept.split(',').filter_map(|clause| {
        let mut parts = clause.split(';').map(str::trim);
        let media = parts.next().unwrap_or_default();
        let parameters: Vec<(&str, &str)> = parts.filter_map(|part| part.split_once('=')).collect();
        let parameter = |name| parameters.iter().find(|(key, _)| *key == name).map(|(_, value)| *value);
        let asked = (parameter("g"), parameter("v"), parameter("as"));
        match (media, asked) {
            (
                "application/json",
                (Some("apidiscovery.k8s.io"), Some(version), Some("APIGroupDiscoveryList")),
            ) => match version {
                "v2" => Some(Some(Aggregated::V2)),
                "v2beta1" => Some(Some(Aggregated::V2Beta1)),
                _ => None,
            },
            (_, (None, None, None)) => Some(None), // the legacy documents, in any encoding
            _ => None,
        }
    });
    forms.next().flatten()
}

/// Returns a document with its ETag, or 304 if the client already has it.
fn tagged(document: &Document, request: &Request) -> Response {
    let seen = request.headers.get(IF_NONE_MATCH).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let is_current = seen.split(',').any(|tag| tag.trim() == document.etag || tag.trim() == "*");
    let mut response = if is_current {
        Response::encoded(StatusCode::NOT_MODIFIED, MediaType::JSON, Vec::new())
    } else {
        Response::encoded(StatusCode::OK, MediaType::JSON, document.body.clone())
    };
    response.headers.insert(http::header::CONTENT_TYPE, HeaderValue::from_static(document.content_type));
    if let Ok(etag) = HeaderValue::from_str(&document.etag) {
        response.headers.insert(ETAG, etag);
    }
    response
}

/// Returns a document in the encoding that the client accepts.
fn plain(document: &Document, request: &Request) -> Result<Response, Status> {
    let accepted = request.preferences.object(&OFFER)?;
    if accepted == (Accepted { media: MediaType::JSON, pretty: false, transform: None }) {
        let mut body = document.body.to_vec();
        body.push(b'\n');
        return Ok(Response::encoded(StatusCode::OK, MediaType::JSON, body));
    }
    let value: Value = serde_json::from_slice(&document.body).map_err(Status::internal_error)?;
    let kind = Kind::new("", "v1", value["kind"].as_str().unwrap_or_default());
    let media = if kind.message().is_none() && accepted.media == MediaType::PROTOBUF {
        MediaType::JSON
    } else {
        accepted.media
    };
    Response::object(StatusCode::OK, Accepted { media, ..accepted }, &value, &kind)
}
