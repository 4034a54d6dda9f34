//! Path and query parameters.

use axum::extract::{FromRequestParts, Path, Query};
use axum::response::{IntoResponse as _, Response};
use http::Uri;
use http::request::Parts;
use serde::de::DeserializeOwned;
use watchkeeper_client::discovery::Mapping;
use watchkeeper_core::ObjectKey;

use crate::access::ResourceAttributes;
use crate::envelope::Failure;

/// Path parameters; an error is an envelope.
pub(super) struct PathParams<T>(pub(super) T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for PathParams<T> {
    type Rejection = Response;

    async fn from_request_parts(head: &mut Parts, state: &S) -> Result<Self, Response> {
        match Path::from_request_parts(head, state).await {
            Ok(Path(query)) => Ok(Self(query)),
            Err(wrong) => Err(Failure::bad_request(wrong.body_text()).into_response()),
        }
    }
}

/// Query parameters. An empty value counts as absent.
pub(super) struct QueryParams(Vec<(String, String)>);

impl QueryParams {
    /// Parses a query with these allowed parameters.
    pub(super) fn read(uri: &Uri, known: &[&str]) -> Result<Self, Failure> {
        let Query(pairs) = Query::<Vec<(String, String)>>::try_from_uri(uri)
            .map_err(|wrong| Failure::bad_request(wrong.body_text()))?;
        for (at, (name, _)) in pairs.iter().enumerate() {
            if !known.contains(&name.as_str()) {
                let known = known.join(", ");
                return Err(Failure::bad_request(format!(
                    "unknown query parameter {name:?}; allowed: {known}"
                )));
            }
            if pairs[..at].iter().any(|(other, _)| other == name) {
                return Err(Failure::bad_request(format!("duplicate query parameter {name:?}")));
            }
        }
        Ok(Self(pairs))
    }

    pub(super) fn text(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(other, value)| other == name && !value.is_empty());
        found.map(|(_, value)| value.as_str())
    }

    /// Returns a boolean parameter; the default is false.
    pub(super) fn flag(&self, name: &str) -> Result<bool, Failure> {
        match self.text(name) {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(other) => {
                Err(Failure::bad_request(format!("{name}: invalid value {other:?}, must be true or false")))
            }
        }
    }

    /// Returns a count; 0 counts as absent.
    pub(super) fn count(&self, name: &str) -> Result<Option<usize>, Failure> {
        let Some(text) = self.text(name) else { return Ok(None) };
        match text.parse() {
            Ok(0) => Ok(None),
            Ok(count) => Ok(Some(count)),
            Err(_) => Err(Failure::bad_request(format!("{name}: invalid number {text:?}"))),
        }
    }
}

/// Converts a group from a path: `core` is the core group.
pub(super) fn group(query: &str) -> &str {
    if query == "core" { "" } else { query }
}

/// Returns the attributes of reading one object.
pub(super) fn get_attributes<'a>(mapping: &'a Mapping, key: &'a ObjectKey) -> ResourceAttributes<'a> {
    ResourceAttributes {
        verb: "get",
        group: &mapping.resource.group,
        resource: &mapping.resource.resource,
        namespace: key.namespace().unwrap_or_default(),
        name: key.name(),
    }
}

/// Converts an object key from a path: the namespace of a cluster-scoped object is `-`.
pub(super) fn key(mapping: &Mapping, namespace: &str, name: &str) -> Result<ObjectKey, Failure> {
    let resource = &mapping.resource.resource;
    match (mapping.namespaced, namespace) {
        (true, "-" | "") => {
            Err(Failure::bad_request(format!("{resource} are namespaced; a namespace is required")))
        }
        (true, namespace) => Ok(ObjectKey::namespaced(namespace, name)),
        (false, "-") => Ok(ObjectKey::cluster(name)),
        (false, _) => {
            Err(Failure::bad_request(format!("{resource} are not namespaced; use - as the namespace")))
        }
    }
}
