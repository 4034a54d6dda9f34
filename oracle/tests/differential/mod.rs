//! What two servers answer to the same requests, made comparable.
//!
//! ```text
//! request -> pair (both servers) -> answer (JSON, whatever came) -> normal (symbols for what may differ) -> compare
//! ```

pub(crate) mod answer;
pub(crate) mod compare;
pub(crate) mod normal;
pub(crate) mod pair;

pub(crate) type Outcome<T = ()> = Result<T, Box<dyn std::error::Error + Send + Sync>>;
