//! Client metrics, under client-go's names.
//!
//! Input: the [REST client](crate::rest), the [transport](crate::transport) and [credentials](crate::auth).
//! Output: the [`Metrics`] in [`Config::metrics`](crate::Config), for instance [`PrometheusMetrics`].
//!
//! Invariants:
//! - `metrics.N1`: labels have few values: a host, a method, a code. They contain no object names, and every error is
//!   [`ERROR_CODE`].
//! - `metrics.N2`: every attempt is counted once, including cancelled ones.
//!
//! There are no metrics of a transport cache, because there is no such cache.

mod prometheus;

use std::fmt;
use std::time::{Duration, SystemTime};

pub use prometheus::PrometheusMetrics;

/// The code of an attempt without a response.
pub const ERROR_CODE: &str = "<error>";

/// A receiver of a client's metrics. Methods do nothing by default and must not block.
///
/// Each method's documentation names the metric in client-go.
#[allow(unused_variables, reason = "parameter names document the default methods")]
pub trait Metrics: fmt::Debug + Send + Sync {
    /// Called with the duration of a request: all attempts, waits and the body. Not called for watches and streams.
    /// `rest_client_request_duration_seconds{verb,host}`.
    fn request_duration(&self, labels: &RequestLabels<'_>, time: Duration) {}

    /// Called with the body size of an attempt; 0 without a body. Not called for watches and streams.
    /// `rest_client_request_size_bytes{verb,host}`.
    fn request_size(&self, labels: &RequestLabels<'_>, bytes: u64) {}

    /// Called with the decompressed body size of a response. Not called for watches and streams.
    /// `rest_client_response_size_bytes{verb,host}`.
    fn response_size(&self, labels: &RequestLabels<'_>, bytes: u64) {}

    /// Called with the time that an attempt waited for the [rate limiter](crate::rest::RateLimiter).
    /// `rest_client_rate_limiter_duration_seconds{verb,host}`.
    fn rate_limiter_duration(&self, labels: &RequestLabels<'_>, time: Duration) {}

    /// Called with the status code of an attempt, or [`ERROR_CODE`] without a response.
    /// `rest_client_requests_total{code,method,host}`.
    fn request_result(&self, labels: &RequestLabels<'_>, code: &str) {}

    /// Called with the status code of a retry. `rest_client_request_retries_total{code,verb,host}`.
    fn request_retry(&self, labels: &RequestLabels<'_>, code: &str) {}

    /// Called with the duration of a DNS lookup. `rest_client_dns_resolution_duration_seconds{host}`.
    fn dns_resolution_duration(&self, host: &str, time: Duration) {}

    /// Called with the exit code of an exec plugin; 1 if it could not be run, -1 if a signal ended it.
    /// `rest_client_exec_plugin_call_total{code,call_status}`.
    fn exec_plugin_call(&self, exit_code: i32, status: PluginCall) {}

    /// Called with the expiry of the client certificate that a plugin issued, if any. `plugin` identifies the plugin.
    /// `rest_client_exec_plugin_ttl_seconds` is the shortest remaining time.
    fn exec_plugin_expiry(&self, plugin: u64, expiry: Option<SystemTime>) {}

    /// Called with the age of a plugin's client certificate when it is replaced.
    /// `rest_client_exec_plugin_certificate_rotation_age`.
    fn exec_plugin_rotation_age(&self, age: Duration) {}

    /// Called when a transport is created. `rest_client_transport_create_calls_total{result="uncacheable"}`.
    fn transport_created(&self) {}

    /// Called when the certificate authorities file is reread.
    /// `rest_client_transport_ca_reload_total{result,reason}`.
    fn ca_reload(&self, reload: CaReload) {}
}

/// A receiver that discards metrics.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoMetrics;

impl Metrics for NoMetrics {}

/// The labels of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct RequestLabels<'a> {
    /// The method: `GET`, for watches too.
    pub verb: &'a str,
    /// The server's `host:port`.
    pub host: &'a str,
    /// Path and query with placeholders for names and values, for traces. client-go has no such label.
    pub template: &'a str,
}

/// The result of running a plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PluginCall {
    /// The plugin succeeded.
    NoError,
    /// The plugin exited with a non-zero code.
    ExecutionError,
    /// The executable was not found or could not be started.
    NotFound,
    /// Running the plugin, or waiting for it, failed.
    InternalError,
}

impl PluginCall {
    /// Returns the value of `call_status`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NoError => "no_error",
            Self::ExecutionError => "plugin_execution_error",
            Self::NotFound => "plugin_not_found_error",
            Self::InternalError => "client_internal_error",
        }
    }
}

/// The result of rereading certificate authorities.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum CaReload {
    /// The content is unchanged.
    Unchanged,
    /// The content has changed.
    Updated,
    /// The file cannot be read; the old content is used.
    Unreadable,
    /// The file is empty; the old content is used.
    Empty,
    /// The file contains no valid certificate; the old content is used.
    Unparsable,
}

impl CaReload {
    /// Returns the values of `result` and `reason`.
    pub fn labels(self) -> (&'static str, &'static str) {
        match self {
            Self::Unchanged => ("success", "unchanged"),
            Self::Updated => ("success", "updated"),
            Self::Unreadable => ("failure", "read_error"),
            Self::Empty => ("failure", "empty"),
            Self::Unparsable => ("failure", "ca_parse_error"),
        }
    }
}
