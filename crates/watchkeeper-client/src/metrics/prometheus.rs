//! client-go's metrics in a Prometheus registry.

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

/// Prometheus metrics with client-go's names, labels and buckets. Several clients may share one instance.
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
/// // `registry.render()` is the body of `/metrics`.
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
    /// Expiry of each plugin's client certificate.
    expiries: Arc<Mutex<HashMap<u64, SystemTime>>>,
    rotations: Family<Histogram, 0>,
    created: Family<Counter, 1>,
    ca_reloads: Family<Counter, 2>,
}

impl PrometheusMetrics {
    /// Creates and registers the metrics.
    ///
    /// # Errors
    /// If one of the names is already registered. One instance serves any number of clients.
    pub fn new(registry: &Registry) -> Result<Self, RegisterError> {
        let verb_host = ["verb", "host"];
        let expiries = Arc::new(Mutex::new(HashMap::new()));
        let computed_from = expiries.clone();
        registry.computed(
            "rest_client_exec_plugin_ttl_seconds",
            "Seconds until the first client certificate of an exec plugin expires, negative if it has expired; +Inf \
             without a certificate.",
            move || seconds_until(computed_from.lock().values().min().copied()),
        )?;
        let rotations = registry.histogram(
            "rest_client_exec_plugin_certificate_rotation_age",
            "Age in seconds of exec plugin client certificates when they were replaced.",
            [],
            AGES,
        )?;
        rotations.with([]); // exported before the first rotation
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
                "Time in seconds that requests waited for the client-side rate limiter, by verb and host.",
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
                "DNS lookup latency in seconds, by host.",
                ["host"],
                DNS_DURATIONS,
            )?,
            plugin_calls: registry.counter(
                "rest_client_exec_plugin_call_total",
                "Runs of exec plugins, by exit code and outcome.",
                ["code", "call_status"],
            )?,
            expiries,
            rotations,
            created: registry.counter(
                "rest_client_transport_create_calls_total",
                "Transports created. All are uncacheable: there is no transport cache.",
                ["result"],
            )?,
            ca_reloads: registry.counter(
                "rest_client_transport_ca_reload_total",
                "Reloads of the certificate authorities file, by result and reason.",
                ["result", "reason"],
            )?,
        })
    }
}

impl Metrics for PrometheusMetrics {
    fn request_duration(&self, labels: &RequestLabels<'_>, time: Duration) {
        self.durations.with([labels.verb, labels.host]).observe(time.as_secs_f64());
    }

    fn request_size(&self, labels: &RequestLabels<'_>, bytes: u64) {
        self.request_sizes.with([labels.verb, labels.host]).observe(bytes as f64);
    }

    fn response_size(&self, labels: &RequestLabels<'_>, bytes: u64) {
        self.response_sizes.with([labels.verb, labels.host]).observe(bytes as f64);
    }

    fn rate_limiter_duration(&self, labels: &RequestLabels<'_>, time: Duration) {
        self.limiter_durations.with([labels.verb, labels.host]).observe(time.as_secs_f64());
    }

    fn request_result(&self, labels: &RequestLabels<'_>, code: &str) {
        self.results.with([code, labels.verb, labels.host]).increment();
    }

    fn request_retry(&self, labels: &RequestLabels<'_>, code: &str) {
        self.retries.with([code, labels.verb, labels.host]).increment();
    }

    fn dns_resolution_duration(&self, host: &str, time: Duration) {
        self.dns.with([host]).observe(time.as_secs_f64());
    }

    fn exec_plugin_call(&self, exit_code: i32, status: PluginCall) {
        self.plugin_calls.with([&exit_code.to_string(), status.as_str()]).increment();
    }

    fn exec_plugin_expiry(&self, plugin: u64, expiry: Option<SystemTime>) {
        let mut expiries = self.expiries.lock();
        match expiry {
            Some(expiry) => expiries.insert(plugin, expiry),
            None => expiries.remove(&plugin),
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

fn seconds_until(expiry: Option<SystemTime>) -> f64 {
    let Some(expiry) = expiry else { return f64::INFINITY };
    match expiry.duration_since(SystemTime::now()) {
        Ok(left) => left.as_secs_f64(),
        Err(past) => -past.duration().as_secs_f64(),
    }
}
