//! Health checks of the service.

use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::header::CONTENT_TYPE;
use http::{HeaderValue, StatusCode, Uri};
use watchkeeper_core::{Health, HealthCheck};

use super::Service;
use crate::catalog::{Catalog, path_of};
use crate::envelope::Failure;

/// Creates the checks: the service is ready when the API server responds and every resource that is cached from the
/// start is up to date.
pub(super) fn checks(catalog: &Catalog) -> Health {
    let server = catalog.clone();
    let reachable = move || match server.freshness().server {
        None => Ok(()),
        Some(outage) => Err(format!("API server unreachable {outage}")),
    };
    let catalog = catalog.clone();
    let current = move || {
        let late: Vec<String> = catalog.unready().iter().map(|mapping| path_of(mapping)).collect();
        if !late.is_empty() {
            return Err(format!("not ready: {}", late.join(", ")));
        }
        let freshness = catalog.freshness();
        let permanent = catalog.permanent().into_iter();
        let stale = permanent.filter_map(|mapping| {
            let outage = freshness.stale.get(&mapping.resource)?;
            Some(format!("{} for {}s", path_of(&mapping), outage.since.elapsed().as_secs()))
        });
        let stale: Vec<String> = stale.collect();
        if stale.is_empty() { Ok(()) } else { Err(format!("stale: {}", stale.join(", "))) }
    };
    Health::default()
        .check(HealthCheck::new("api-server", reachable).ready_only())
        .check(HealthCheck::new("informers", current).ready_only())
        .with_reasons()
}

/// `GET /healthz`, `/livez`, `/readyz`, and single checks below them; `?verbose`, `?exclude=`.
pub(super) async fn health(State(service): State<Service>, uri: Uri) -> Result<Response, Failure> {
    let query = axum::extract::Query::<Vec<(String, String)>>::try_from_uri(&uri);
    let query = query.map_err(|wrong| Failure::bad_request(wrong.body_text()))?.0;
    let excluded: Vec<&str> =
        query.iter().filter(|(name, _)| name == "exclude").map(|(_, check)| check.as_str()).collect();
    let is_verbose = query.iter().any(|(name, _)| name == "verbose");
    let answer = service.health.answer(uri.path(), &excluded, is_verbose);
    let answer = answer.ok_or_else(|| Failure::not_found(format!("check {} not found", uri.path())))?;
    let status = if answer.is_healthy { StatusCode::OK } else { StatusCode::INTERNAL_SERVER_ERROR };
    let text = HeaderValue::from_static("text/plain; charset=utf-8");
    Ok((status, [(CONTENT_TYPE, text)], answer.text).into_response())
}
