//! Request options: the parameters in the query, or in the body of a DELETE.
//!
//! Input: [`Query`].
//! Output: the [`Handler`](crate::http::Handler).
//!
//! Invariants:
//! - `options.O1`: an unreadable value is a 400; one that breaks a rule is a 422 about `ListOptions` and so on of
//!   group `meta.k8s.io`, with one cause per rule. Texts are kube-apiserver's, and `testdata` holds recorded
//!   responses.
//! - `options.O2`: unknown parameters are ignored.

mod cause;
mod delete;
mod list;
#[cfg(test)]
mod tests;
mod write;

use std::time::Duration;

use watchkeeper_core::{Outcome, Status};

use super::go_text::parse_duration;
use super::query::Query;

pub use delete::{DeleteOptions, Propagation};
pub use list::{AtVersion, GetOptions, ListOptions, VersionMatch};
pub use write::{FIELD_MANAGER_BYTES, FieldValidation, WriteOptions};

/// Returns the time limit of a request that is not long-running: `?timeout=`, capped at `maximum`, which is also the
/// default.
///
/// # Errors
/// Returns 400 if it is not a Go duration.
pub fn request_timeout(query: &Query, maximum: Duration) -> Result<Duration, Status> {
    match query.text("timeout") {
        "" => Ok(maximum),
        text => match parse_duration(text) {
            Ok((_, Duration::ZERO)) => Ok(maximum),
            Ok((true, _)) => Ok(maximum), // negative
            Ok((false, timeout)) => Ok(timeout.min(maximum)),
            Err(error) => {
                Err(Status::bad_request(format!("invalid timeout specified in the request URL - {error}")))
            }
        },
    }
}

/// Returns 500 without a reason, like kube-apiserver for unexpected errors.
pub(crate) fn unexplained(message: impl Into<String>) -> Status {
    Status { outcome: Some(Outcome::Failure), code: 500, message: message.into(), ..Default::default() }
}
