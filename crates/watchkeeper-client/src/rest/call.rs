//! Metrics and tracing of one request.

use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use tokio::time::Instant;
use tracing::Span;
use tracing::field::Empty;

use super::RateLimiter;
use super::request::Request;
use crate::Transport;
use crate::metrics::{ERROR_CODE, RequestLabels};

/// A wait for the rate limiter longer than this is logged at debug level.
const LONG_WAIT: Duration = Duration::from_millis(50);
/// A wait for the rate limiter longer than this is logged at info level.
const VERY_LONG_WAIT: Duration = Duration::from_secs(1);

/// A request as seen by metrics and traces: without names, values or credentials.
pub(super) struct Call {
    transport: Transport,
    method: http::Method,
    template: String,
    limiter: Option<Arc<RateLimiter>>,
    /// Covers the whole request.
    pub(super) span: Span,
}

impl Call {
    pub(super) fn new(request: &Request) -> Self {
        let (transport, method) = (request.client.transport().clone(), request.method.clone());
        let template = request.template();
        let span = tracing::debug_span!(
            "request",
            %method,
            host = transport.host(),
            template,
            attempts = Empty,
            code = Empty
        );
        Self { transport, method, template, limiter: request.client.limiter.clone(), span }
    }

    /// Records the duration when the returned guard is dropped, however the request ends.
    pub(super) fn time(&self) -> DurationGuard<'_> {
        DurationGuard { call: self, started: Instant::now() }
    }

    /// Records the result of an attempt when the returned guard is dropped: an error, unless its code is set
    /// (`metrics.N2`).
    pub(super) fn attempt(&self, number: u32) -> AttemptGuard<'_> {
        AttemptGuard { call: self, number, code: None }
    }

    pub(super) fn sent(&self, bytes: Option<u64>) {
        if let Some(bytes) = bytes {
            self.transport.metrics().request_size(&self.labels(), bytes);
        }
    }

    pub(super) fn received(&self, bytes: usize) {
        self.transport.metrics().response_size(&self.labels(), bytes as u64);
    }

    /// Waits until the rate limiter permits an attempt.
    pub(super) async fn wait(&self) {
        let Some(limiter) = &self.limiter else { return };
        let started = Instant::now();
        limiter.wait().await;
        let waited = started.elapsed();
        if waited > VERY_LONG_WAIT && limiter.should_log() {
            tracing::info!(?waited, "request delayed by the client-side rate limiter");
        } else if waited > LONG_WAIT {
            tracing::debug!(?waited, "request delayed by the client-side rate limiter");
        }
        self.transport.metrics().rate_limiter_duration(&self.labels(), waited);
    }

    fn labels(&self) -> RequestLabels<'_> {
        RequestLabels { verb: self.method.as_str(), host: self.transport.host(), template: &self.template }
    }
}

/// A guard that records the duration of a request on drop.
pub(super) struct DurationGuard<'a> {
    call: &'a Call,
    started: Instant,
}

impl Drop for DurationGuard<'_> {
    fn drop(&mut self) {
        self.call.transport.metrics().request_duration(&self.call.labels(), self.started.elapsed());
    }
}

/// A guard that records the result of an attempt on drop. The first attempt has number 0.
pub(super) struct AttemptGuard<'a> {
    call: &'a Call,
    number: u32,
    pub(super) code: Option<StatusCode>,
}

impl Drop for AttemptGuard<'_> {
    fn drop(&mut self) {
        let code = self.code.as_ref().map_or(ERROR_CODE, StatusCode::as_str);
        self.call.span.record("attempts", self.number.saturating_add(1)).record("code", code);
        let (metrics, labels) = (self.call.transport.metrics(), self.call.labels());
        metrics.request_result(&labels, code);
        if self.number > 0 {
            metrics.request_retry(&labels, code);
        }
    }
}
