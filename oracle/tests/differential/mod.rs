//! Sends the same requests to two servers, and makes their responses comparable.
//!
//! ```text
//! request -> pair (both servers) -> response (as JSON) -> normal (placeholders for free choices) -> compare
//! ```

pub(crate) mod compare;
pub(crate) mod normal;
pub(crate) mod pair;
pub(crate) mod response;

pub(crate) type Outcome<T = ()> = Result<T, Box<dyn std::error::Error + Send + Sync>>;
