//! Request: what is read from the path and the query of a request, or refused.

use axum::extract::{FromRequestParts, Path, Query};
use axum::response::{IntoResponse as _, Response};
use http::Uri;
use http::request::Parts;
use serde::de::DeserializeOwned;
use watchkeeper_client::discovery::Mapping;
use watchkeeper_core::ObjectKey;

use crate::envelope::Failure;

/// What a path says where its route has names.
pub(super) struct At<T>(pub(super) T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for At<T> {
    type Rejection = Response;

    async fn from_request_parts(head: &mut Parts, state: &S) -> Result<Self, Response> {
        match Path::from_request_parts(head, state).await {
            Ok(Path(said)) => Ok(Self(said)),
            Err(wrong) => Err(Failure::bad(wrong.body_text()).into_response()),
        }
    }
}

/// What a query says. A name without a value says nothing.
pub(super) struct Said(Vec<(String, String)>);

impl Said {
    /// Reads a query whose names are these.
    pub(super) fn read(uri: &Uri, known: &[&str]) -> Result<Self, Failure> {
        let Query(pairs) = Query::<Vec<(String, String)>>::try_from_uri(uri)
            .map_err(|wrong| Failure::bad(wrong.body_text()))?;
        for (at, (name, _)) in pairs.iter().enumerate() {
            if !known.contains(&name.as_str()) {
                let known = known.join(", ");
                return Err(Failure::bad(format!("unknown query parameter {name:?}; there are: {known}")));
            }
            if pairs[..at].iter().any(|(other, _)| other == name) {
                return Err(Failure::bad(format!("query parameter {name:?} is there twice")));
            }
        }
        Ok(Self(pairs))
    }

    pub(super) fn text(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(other, value)| other == name && !value.is_empty());
        found.map(|(_, value)| value.as_str())
    }

    /// A truth, which is false unless it is said.
    pub(super) fn is(&self, name: &str) -> Result<bool, Failure> {
        match self.text(name) {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(other) => Err(Failure::bad(format!("{name}: {other:?} is neither true nor false"))),
        }
    }

    /// A number of things; 0 is as good as unsaid.
    pub(super) fn count(&self, name: &str) -> Result<Option<usize>, Failure> {
        let Some(text) = self.text(name) else { return Ok(None) };
        match text.parse() {
            Ok(0) => Ok(None),
            Ok(count) => Ok(Some(count)),
            Err(_) => Err(Failure::bad(format!("{name}: {text:?} is no number of objects"))),
        }
    }
}

/// A group as paths name it: the core group has no name, and is called `core`.
pub(super) fn group(said: &str) -> &str {
    if said == "core" { "" } else { said }
}

/// An object as paths name it: `-` is no namespace.
pub(super) fn key(mapping: &Mapping, namespace: &str, name: &str) -> Result<ObjectKey, Failure> {
    let resource = &mapping.resource.resource;
    match (mapping.namespaced, namespace) {
        (true, "-" | "") => Err(Failure::bad(format!("{resource} are in namespaces: say in which"))),
        (true, namespace) => Ok(ObjectKey::namespaced(namespace, name)),
        (false, "-") => Ok(ObjectKey::cluster(name)),
        (false, _) => Err(Failure::bad(format!("{resource} are in no namespace: say - instead of one"))),
    }
}
