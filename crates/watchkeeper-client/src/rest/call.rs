//! Call: what is told of one request, to metrics and to traces.

use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use tokio::time::Instant;
use tracing::Span;
use tracing::field::Empty;

use super::Limiter;
use super::request::Request;
use crate::Transport;
use crate::metrics::{ERROR_CODE, RequestLabels};

/// From when on a wait for the limiter is logged, and from when on it is more than a detail.
const LONG_WAIT: Duration = Duration::from_millis(50);
const VERY_LONG_WAIT: Duration = Duration::from_secs(1);

/// A request, as it is told of: without names, values, or credentials.
pub(super) struct Call {
    transport: Transport,
    method: http::Method,
    template: String,
    limiter: Option<Arc<Limiter>>,
    /// Of the whole request.
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

    /// Tells how long it took once this is dropped: however the request ends.
    pub(super) fn time(&self) -> Timed<'_> {
        Timed { call: self, begun: Instant::now() }
    }

    /// Tells how an attempt has ended once this is dropped: without an answer, unless it is given one (N2).
    pub(super) fn attempt(&self, number: u32) -> Attempted<'_> {
        Attempted { call: self, number, code: None }
    }

    pub(super) fn sent(&self, bytes: Option<u64>) {
        if let Some(bytes) = bytes {
            self.transport.metrics().request_size(&self.labels(), bytes);
        }
    }

    pub(super) fn received(&self, bytes: usize) {
        self.transport.metrics().response_size(&self.labels(), bytes as u64);
    }

    /// Returns once the limiter lets an attempt through.
    pub(super) async fn wait(&self) {
        let Some(limiter) = &self.limiter else { return };
        let begun = Instant::now();
        limiter.wait().await;
        let waited = begun.elapsed();
        if waited > VERY_LONG_WAIT && limiter.is_news() {
            tracing::info!(?waited, "a request has waited for the client's own limiter");
        } else if waited > LONG_WAIT {
            tracing::debug!(?waited, "a request has waited for the client's own limiter");
        }
        self.transport.metrics().rate_limiter_duration(&self.labels(), waited);
    }

    fn labels(&self) -> RequestLabels<'_> {
        RequestLabels { verb: self.method.as_str(), host: self.transport.host(), template: &self.template }
    }
}

/// The time that a request takes.
pub(super) struct Timed<'a> {
    call: &'a Call,
    begun: Instant,
}

impl Drop for Timed<'_> {
    fn drop(&mut self) {
        self.call.transport.metrics().request_duration(&self.call.labels(), self.begun.elapsed());
    }
}

/// An attempt that has begun; the first has number 0.
pub(super) struct Attempted<'a> {
    call: &'a Call,
    number: u32,
    pub(super) code: Option<StatusCode>,
}

impl Drop for Attempted<'_> {
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
