//! Resources that can be listed.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use http::Uri;
use serde::Serialize;
use watchkeeper_client::discovery::{
    ApiResource, Discovered, Discovery as _, MISS_INTERVAL, MapError, Mapping,
};
use watchkeeper_core::GroupVersion;

use super::Service;
use super::request::QueryParams;
use crate::access::Identity;
use crate::catalog::CatalogError;
use crate::envelope::{Failure, success};

/// A resource that can be listed.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Resource<'a> {
    group: &'a str,
    version: &'a str,
    resource: &'a str,
    kind: &'a str,
    namespaced: bool,
    short_names: &'a [String],
    categories: &'a [String],
    verbs: &'a [String],
    cached: bool,
}

/// `GET /v1/resources`. Allowed for every authenticated user, as on the API server.
pub(super) async fn resources(
    State(service): State<Service>,
    _: Identity,
    uri: Uri,
) -> Result<Response, Failure> {
    QueryParams::read(&uri, &[])?;
    let discovered = discovered(&service).await?;
    let cached = service.catalog.cached();
    let preferred = discovered.preferred_resources();
    let listable = preferred.iter().filter(|(_, resource)| resource.can("list"));
    let rows: Vec<Resource<'_>> = listable.map(|(of, resource)| row(of, resource, &cached)).collect();
    Ok(success(rows))
}

fn row<'a>(of: &'a GroupVersion, resource: &'a ApiResource, cached: &[Arc<Mapping>]) -> Resource<'a> {
    let is_it = |mapping: &Arc<Mapping>| {
        mapping.resource.resource == resource.name && mapping.resource.group_version() == *of
    };
    Resource {
        group: &of.group,
        version: &of.version,
        resource: &resource.name,
        kind: &resource.kind.kind,
        namespaced: resource.namespaced,
        short_names: &resource.short_names,
        categories: &resource.categories,
        verbs: &resource.verbs,
        cached: cached.iter().any(is_it),
    }
}

/// Returns a recent discovery result.
async fn discovered(service: &Service) -> Result<Arc<Discovered>, CatalogError> {
    let discovery = service.catalog.discovery();
    let is_old = |known: &Discovered| known.read_at.is_none_or(|at| at.elapsed() >= MISS_INTERVAL);
    let is_reachable = service.catalog.freshness().server.is_none(); // otherwise the last result is used
    if is_reachable && discovery.known().is_some_and(|known| is_old(&known)) {
        service.catalog.mapper().reset();
    }
    Ok(discovery.discover().await.map_err(MapError::from)?)
}
