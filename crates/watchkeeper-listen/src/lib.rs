//! Listening: from a socket to requests, and back.
//!
//! From: whoever connects.
//! To:   an [`Answer`], request by request.
//!
//! The embedded API server and the web service are served by the same [`Listener`].

mod answer;
mod budget;
mod framing;
mod gather;
mod listener;
mod metered;
mod progress;
mod stall;
mod switch;

pub use answer::{Answer, Arrival, Departure};
pub use budget::{Budget, Charge};
pub use listener::{Certificates, ConnectionLimits, CurrentConfig, ListenError, Listener, Security, Socket};
pub use metered::CHARGED_FROM_BYTES;
pub use switch::Switch;
