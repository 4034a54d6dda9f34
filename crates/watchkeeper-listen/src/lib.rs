//! Listener: HTTP/1.1 and HTTP/2 connections, plain or TLS, within limits.
//!
//! Input: a socket.
//! Output: a [`Service`], one call per request.
//!
//! The embedded API server and the web service both run behind a [`Listener`].

mod budget;
mod connection;
mod framing;
mod gather;
mod listener;
mod metered;
mod progress;
mod service;
mod stall;
mod switch;

pub use budget::{Budget, Charge};
pub use listener::{Certificates, ConnectionLimits, CurrentConfig, ListenError, Listener, Security, Socket};
pub use metered::CHARGED_FROM_BYTES;
pub use service::{Service, ServiceRequest, ServiceResponse};
pub use switch::Switch;
