//! Benchmarks of web services over a cache: requests per second.
//!
//! Input: [`ServiceProcess`]es that follow one server, and a [`Query`] to send to each.
//! Output: a [`Measurement`]: number of responses, time and cost.
//!
//! - `web.W1`: every service gets the same requests on the same number of connections. A connection waits for a response
//!   before it sends the next request, and only one service is under load at a time.
//! - `web.W2`: a response counts if its status is 200 and it has the expected number of objects: the first response of
//!   each connection is parsed, the others must have the same length.

mod load;
mod service;

pub use load::{Measurement, Query};
pub use service::ServiceProcess;
