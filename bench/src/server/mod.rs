//! Benchmarks of API servers: a load generator that sends the same bytes to Watchkeeper's server and to any other.
//!
//! Input: an [`Endpoint`], the address and credentials of a server.
//! Output: a [`Comparison`], rows with a goal each.
//!
//! - `server.L1`: requests do not depend on the server that they are sent to.
//! - `server.L2`: response bodies are counted as they arrive, and not parsed. Their content is checked once, untimed.
//! - `server.L3`: the CPU time of the load generator is reported beside that of the server, to show where the load
//!   generator dominates a result.

mod comparison;
mod connection;
mod creates;
mod endpoint;
mod fan_out;
mod lists;
mod population;
mod process;
mod steady_load;
mod usage;

pub(crate) use comparison::number;
pub use comparison::{Comparison, Goal};
pub use connection::Connection;
pub use creates::Creates;
pub use endpoint::Endpoint;
pub use fan_out::FanOut;
pub use lists::{ListForm, ListSize, check_list, measure_list, time_list};
pub use population::{Population, create_namespace};
pub use process::ServerProcess;
pub use steady_load::SteadyLoad;
pub use usage::{Usage, resident_megabytes};

/// The result of a step. A benchmark reports the error and exits, so the type of the error does not matter.
pub type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;
