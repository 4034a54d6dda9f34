//! Load on API servers: the same requests, the same bytes, for Watchkeeper's and for any other.
//!
//! From: [`Endpoint`], where a server is and how one is let in.
//! To:   [`Comparison`], rows with a goal each.
//!
//! - L1: what is sent does not depend on which server it is sent to.
//! - L2: bodies are counted as they arrive, and not parsed; what they must hold is checked once, untimed.
//! - L3: the loader's own processor time stands beside the servers', so that a number that says more of
//!   the loader than of the server can be seen to.

mod comparison;
mod connection;
mod creates;
mod endpoint;
mod fan_out;
mod lists;
mod own;
mod pace;
mod population;
mod usage;

pub(crate) use comparison::number;
pub use comparison::{Comparison, Goal};
pub use connection::Connection;
pub use creates::Creates;
pub use endpoint::Endpoint;
pub use fan_out::FanOut;
pub use lists::{ListForm, ListSize, check_list, measure_list, time_list};
pub use own::OwnServer;
pub use pace::Pace;
pub use population::{Population, namespace};
pub use usage::{Usage, resident_megabytes};

/// What goes wrong in a bench ends it: it is only told.
pub type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;
