//! Metrics: numbers about a running program, for whoever scrapes them.
//!
//! From: any part of a program that counts something: the client, a work queue, a cache.
//! To:   a page in the [text format](Registry::render) of Prometheus.
//!
//! - M1: a name means one thing: whoever registers it again gets the same family, or an error if it is another.
//! - M2: a family never has more than [`SERIES_LIMIT`] series. What would be more is counted in one that has
//!   [`OVERFLOW`] for every label, so that sums stay right.
//! - M3: to count is an atomic operation: nothing waits for a page that is being written.
//!
//! There is no registry for all: who wants numbers makes one and hands it to the parts.
//!
//! ```
//! use watchkeeper_metrics::Registry;
//!
//! let registry = Registry::new();
//! let answers = registry.counter("answers_total", "Answers by code.", ["code"])?;
//! answers.with(["200"]).add(2);
//! assert_eq!(
//!     registry.render(),
//!     "# HELP answers_total Answers by code.\n# TYPE answers_total counter\nanswers_total{code=\"200\"} 2\n"
//! );
//! # Ok::<(), watchkeeper_metrics::RegisterError>(())
//! ```

mod family;
mod registry;
mod text;
mod values;

pub use family::{Family, OVERFLOW, SERIES_LIMIT};
pub use registry::{RegisterError, Registry, Sort};
pub use values::{Counter, Gauge, Histogram, Value};

/// The media type of [`Registry::render`].
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";
