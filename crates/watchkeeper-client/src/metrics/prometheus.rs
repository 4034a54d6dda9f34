//! The metrics of client-go, in a registry.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;
use watchkeeper_metrics::{Counter, Family, Histogram, RegisterError, Registry};

use super::{CaReload, Metrics, PluginCall, RequestLabels};

const DURATIONS: &[f64] = &[0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0];
const DNS_DURATIONS: &[f64] = &[0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0];
const SIZES: &[f64] =
    &[64.0, 256.0, 512.0, 1024.0, 4096.0, 16384.0, 65536.0, 262144.0, 1048576.0, 4194304.0, 16777216.0];
/// From ten minutes to four years.
const AGES: &[f64] = &[
    600.0,
    1800.0,
    3600.0,
    14400.0,
    86400.0,
    604800.0,
    2592000.0,
    7776000.0,
    15552000.0,
    31104000.0,
    124416000.0,
];

/// Counts under client-go's names, with its labels and its buckets. Clients that share it are counted together.
///
/// ```
/// use std::sync::Arc;
/// use watchkeeper_client::Config;
/// use watchkeeper_client::metrics::PrometheusMetrics;
/// use watchkeeper_metrics::Registry;
///
/// let registry = Registry::new();
/// let mut config = Config::new("https://localhost:6443".parse()?);
/// config.metrics = Arc::new(PrometheusMetrics::new(&registry)?);
/// // ... and `registry.render()` is what `/metrics` answers with.
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct PrometheusMetrics {
    durations: Family<Histogram, 2>,
    request_sizes: Family<Histogram, 2>,
    response_sizes: Family<Histogram, 2>,
    limiter_durations: Family<Histogram, 2>,
    results: Family<Counter, 3>,
    retries: Family<Counter, 3>,
    dns: Family<Histogram, 1>,
    plugin_calls: Family<Counter, 2>,
    /// When the certificates of plugins end.
    ends: Arc<Mutex<HashMap<u64, SystemTime>>>,
    rotations: Family<Histogram, 0>,
    created: Family<Counter, 1>,
    ca_reloads: Family<Counter, 2>,
}

impl PrometheusMetrics {
    /// Registers them all.
    ///
    /// # Errors
    /// If the registry has such a name for something else, or has these metrics already: one serves any
    /// number of clients.
    pub fn new(registry: &Registry) -> Result<Self, RegisterError> {
        let verb_host = ["verb", "host"];
        let ends = Arc::new(Mutex::new(HashMap::new()));
        let of = ends.clone();
        registry.computed(
            "rest_client_exec_plugin_ttl_seconds",
            "Seconds until the first client certificate of an exec plugin expires, negative if it has; +Inf \
             if there is none.",
            move || seconds_left(of.lock().values().min().copied()),
        )?;
        let rotations = registry.histogram(
            "rest_client_exec_plugin_certificate_rotation_age",
            "Seconds that a client certificate of an exec plugin lived before it was replaced.",
            [],
            AGES,
        )?;
        rotations.with([]); // it is on the page before there is any
        Ok(Self {
            durations: registry.histogram(
                "rest_client_request_duration_seconds",
                "Request latency in seconds, by verb and host.",
                verb_host,
                DURATIONS,
            )?,
            request_sizes: registry.histogram(
                "rest_client_request_size_bytes",
                "Request size in bytes, by verb and host.",
                verb_host,
                SIZES,
            )?,
            response_sizes: registry.histogram(
                "rest_client_response_size_bytes",
                "Response size in bytes, by verb and host.",
                verb_host,
                SIZES,
            )?,
            limiter_durations: registry.histogram(
                "rest_client_rate_limiter_duration_seconds",
                "Seconds that requests waited for the client's own rate limiter, by verb and host.",
                verb_host,
                DURATIONS,
            )?,
            results: registry.counter(
                "rest_client_requests_total",
                "HTTP requests, by status code, method and host.",
                ["code", "method", "host"],
            )?,
            retries: registry.counter(
                "rest_client_request_retries_total",
                "Retries of requests, by status code, verb and host.",
                ["code", "verb", "host"],
            )?,
            dns: registry.histogram(
                "rest_client_dns_resolution_duration_seconds",
                "Seconds that the addresses of a host took to be had.",
                ["host"],
                DNS_DURATIONS,
            )?,
            plugin_calls: registry.counter(
                "rest_client_exec_plugin_call_total",
                "Runs of exec plugins, by exit code and outcome.",
                ["code", "call_status"],
            )?,
            ends,
            rotations,
            created: registry.counter(
                "rest_client_transport_create_calls_total",
                "Transports that were asked for. There is no cache of them: all are uncacheable.",
                ["result"],
            )?,
            ca_reloads: registry.counter(
                "rest_client_transport_ca_reload_total",
                "Reads of the file of certificate authorities, by result and reason.",
                ["result", "reason"],
            )?,
        })
    }
}

impl Metrics for PrometheusMetrics {
    fn request_duration(&self, of: &RequestLabels<'_>, time: Duration) {
        self.durations.with([of.verb, of.host]).observe(time.as_secs_f64());
    }

    fn request_size(&self, of: &RequestLabels<'_>, bytes: u64) {
        self.request_sizes.with([of.verb, of.host]).observe(bytes as f64);
    }

    fn response_size(&self, of: &RequestLabels<'_>, bytes: u64) {
        self.response_sizes.with([of.verb, of.host]).observe(bytes as f64);
    }

    fn rate_limiter_duration(&self, of: &RequestLabels<'_>, time: Duration) {
        self.limiter_durations.with([of.verb, of.host]).observe(time.as_secs_f64());
    }

    fn request_result(&self, of: &RequestLabels<'_>, code: &str) {
        self.results.with([code, of.verb, of.host]).increment();
    }

    fn request_retry(&self, of: &RequestLabels<'_>, code: &str) {
        self.retries.with([code, of.verb, of.host]).increment();
    }

    fn dns_resolution_duration(&self, host: &str, time: Duration) {
        self.dns.with([host]).observe(time.as_secs_f64());
    }

    fn exec_plugin_call(&self, exit_code: i32, status: PluginCall) {
        self.plugin_calls.with([&exit_code.to_string(), status.as_str()]).increment();
    }

    fn exec_plugin_expiry(&self, plugin: u64, ends: Option<SystemTime>) {
        let mut known = self.ends.lock();
        match ends {
            Some(end) => known.insert(plugin, end),
            None => known.remove(&plugin),
        };
    }

    fn exec_plugin_rotation_age(&self, age: Duration) {
        self.rotations.with([]).observe(age.as_secs_f64());
    }

    fn transport_created(&self) {
        self.created.with(["uncacheable"]).increment();
    }

    fn ca_reload(&self, reload: CaReload) {
        let (result, reason) = reload.labels();
        self.ca_reloads.with([result, reason]).increment();
    }
}

fn seconds_left(end: Option<SystemTime>) -> f64 {
    let Some(end) = end else { return f64::INFINITY };
    match end.duration_since(SystemTime::now()) {
        Ok(left) => left.as_secs_f64(),
        Err(over) => -over.duration().as_secs_f64(),
    }
}
