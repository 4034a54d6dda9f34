//! Metrics: counters, gauges and histograms of a running program.
//!
//! Input: any component that counts something: the client, a work queue, a cache.
//! Output: a page in the [text format](Registry::render) of Prometheus.
//!
//! Invariants:
//! - `metrics.M1`: a name has one meaning: registering it again returns the same family, or an error if the
//!   description differs.
//! - `metrics.M2`: a family has at most [`SERIES_LIMIT`] series. Further label values are counted in one series whose
//!   labels are all [`OVERFLOW`], so that sums stay correct.
//! - `metrics.M3`: counting is an atomic operation, and never waits for a page that is being rendered.
//!
//! There is no global registry: a program creates one and passes it to its components.
//!
//! ```
//! use watchkeeper_metrics::Registry;
//!
//! let registry = Registry::new();
//! let responses = registry.counter("responses_total", "Responses by code.", ["code"])?;
//! responses.with(["200"]).add(2);
//! assert_eq!(
//!     registry.render(),
//!     "# HELP responses_total Responses by code.\n# TYPE responses_total counter\nresponses_total{code=\"200\"} 2\n"
//! );
//! # Ok::<(), watchkeeper_metrics::RegisterError>(())
//! ```

mod family;
mod registry;
mod text;
mod values;

pub use family::{Family, OVERFLOW, SERIES_LIMIT};
pub use registry::{MetricType, RegisterError, Registry};
pub use values::{Counter, Gauge, Histogram, Value};

/// The media type of [`Registry::render`].
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";
