//! Metrics of requests, and the metrics endpoint.

use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method};
use watchkeeper_metrics::{Counter, Family, Histogram, RegisterError, Registry};

use super::Service;

/// Histogram buckets, from 0.1 ms to 10 s.
const DURATIONS: &[f64] =
    &[0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

/// Request metrics. Clones share them.
#[derive(Debug, Clone)]
pub(super) struct RequestMetrics {
    requests: Family<Counter, 3>,
    durations: Family<Histogram, 1>,
}

impl RequestMetrics {
    pub(super) fn new(registry: &Registry) -> Result<Self, RegisterError> {
        Ok(Self {
            requests: registry.counter(
                "watchkeeper_web_requests_total",
                "Requests by route, method and status code.",
                ["route", "method", "code"],
            )?,
            durations: registry.histogram(
                "watchkeeper_web_request_duration_seconds",
                "Time until the response started, by route.",
                ["route"],
                DURATIONS,
            )?,
        })
    }
}

/// Counts a request by its route; object names never become labels.
pub(super) async fn count(State(metrics): State<RequestMetrics>, request: Request, next: Next) -> Response {
    let began = Instant::now();
    let method = known(request.method());
    let route = request.extensions().get::<MatchedPath>().cloned();
    let response = next.run(request).await;
    let route = route.as_ref().map_or("none", MatchedPath::as_str);
    metrics.requests.with([route, method, response.status().as_str()]).increment();
    metrics.durations.with([route]).observe(began.elapsed().as_secs_f64());
    response
}

/// Returns a known method, or `other`: clients can send any method.
fn known(method: &Method) -> &'static str {
    let all = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
    all.into_iter().find(|known| *known == method.as_str()).unwrap_or("other")
}

/// `GET /metrics`
pub(super) async fn page(State(service): State<Service>) -> Response {
    let media_type = HeaderValue::from_static(watchkeeper_metrics::CONTENT_TYPE);
    ([(CONTENT_TYPE, media_type)], service.registry.render()).into_response()
}
