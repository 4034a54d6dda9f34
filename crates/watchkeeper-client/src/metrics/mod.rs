//! Metrics: what a client tells of its requests, under the names that operators know from client-go.
//!
//! From: the [REST client](crate::rest), the [transport](crate::transport) and [credentials](crate::auth).
//! To:   whoever implements [`Metrics`] and is in [`Config::metrics`](crate::Config): for instance
//!       [`PrometheusMetrics`].
//!
//! - N1: labels are few: a host, a method, a code. Names of objects are in none, and errors are all
//!   [`ERROR_CODE`].
//! - N2: every attempt that has begun is counted once, also one that was cancelled.
//!
//! There are no metrics of a cache of transports: there is none, a transport lives as long as its clones.

mod prometheus;

use std::fmt;
use std::time::{Duration, SystemTime};

pub use prometheus::PrometheusMetrics;

/// The code of an attempt that was not answered.
pub const ERROR_CODE: &str = "<error>";

/// Hears what a client does. Every method does nothing unless it is implemented; none may block.
///
/// In the docs of each stands the name that client-go's users know it by.
#[allow(unused_variables, reason = "the names are for those who implement it")]
pub trait Metrics: fmt::Debug + Send + Sync {
    /// A whole request took so long: all attempts, waits and the body. Watches and streams are not told of.
    /// `rest_client_request_duration_seconds{verb,host}`.
    fn request_duration(&self, of: &RequestLabels<'_>, time: Duration) {}

    /// An attempt was sent with a body of so many bytes; without one, with 0. Watches and streams are not
    /// told of. `rest_client_request_size_bytes{verb,host}`.
    fn request_size(&self, of: &RequestLabels<'_>, bytes: u64) {}

    /// A request was answered with a body of so many bytes, decompressed. Watches and streams are not told
    /// of. `rest_client_response_size_bytes{verb,host}`.
    fn response_size(&self, of: &RequestLabels<'_>, bytes: u64) {}

    /// An attempt waited so long for the [limiter](crate::rest::Limiter).
    /// `rest_client_rate_limiter_duration_seconds{verb,host}`.
    fn rate_limiter_duration(&self, of: &RequestLabels<'_>, time: Duration) {}

    /// An attempt was answered with this code, or was not ([`ERROR_CODE`]).
    /// `rest_client_requests_total{code,method,host}`.
    fn request_result(&self, of: &RequestLabels<'_>, code: &str) {}

    /// So ended an attempt that was not the first. `rest_client_request_retries_total{code,verb,host}`.
    fn request_retry(&self, of: &RequestLabels<'_>, code: &str) {}

    /// The addresses of a name took so long to be had. `rest_client_dns_resolution_duration_seconds{host}`.
    fn dns_resolution_duration(&self, host: &str, time: Duration) {}

    /// A plugin was run and has ended with this exit code; 1 where it has none.
    /// `rest_client_exec_plugin_call_total{code,call_status}`.
    fn exec_plugin_call(&self, exit_code: i32, status: PluginCall) {}

    /// A plugin has given a certificate that ends then, or none. The plugin is known by the number.
    /// `rest_client_exec_plugin_ttl_seconds` is what is left of the shortest.
    fn exec_plugin_expiry(&self, plugin: u64, ends: Option<SystemTime>) {}

    /// A certificate of a plugin was replaced at this age.
    /// `rest_client_exec_plugin_certificate_rotation_age`.
    fn exec_plugin_rotation_age(&self, age: Duration) {}

    /// A transport was made. `rest_client_transport_create_calls_total{result="uncacheable"}`.
    fn transport_created(&self) {}

    /// The file of certificate authorities was read again.
    /// `rest_client_transport_ca_reload_total{result,reason}`.
    fn ca_reload(&self, reload: CaReload) {}
}

/// Nobody hears.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoMetrics;

impl Metrics for NoMetrics {}

/// Which request something is told of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct RequestLabels<'a> {
    /// The method: `GET`, for watches too.
    pub verb: &'a str,
    /// The server: `host:port`.
    pub host: &'a str,
    /// The path and the query, with placeholders for names and values: for traces, and for those who can
    /// afford it as a label. client-go's metrics do not have it.
    pub template: &'a str,
}

/// What came of running a plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PluginCall {
    /// It has ended well.
    NoError,
    /// It has ended with another exit code than 0.
    ExecutionError,
    /// It is not there, or cannot be run.
    NotFound,
    /// We have failed to run it, or to wait for it.
    InternalError,
}

impl PluginCall {
    /// The word for it in `call_status`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NoError => "no_error",
            Self::ExecutionError => "plugin_execution_error",
            Self::NotFound => "plugin_not_found_error",
            Self::InternalError => "client_internal_error",
        }
    }
}

/// What came of reading certificate authorities again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum CaReload {
    /// They are the same.
    Unchanged,
    /// They are others.
    Updated,
    /// The file cannot be read: the old ones hold.
    Unreadable,
    /// The file is empty: the old ones hold.
    Empty,
    /// The file has none: the old ones hold.
    Unparsable,
}

impl CaReload {
    /// The words for it in `result` and `reason`.
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
