//! Statuses that several writes share.

use crate::http::NoRandomness;
pub(super) use crate::http::unexplained;
use crate::patch::PatchError;
use crate::registry::Resource;
use crate::store::WriteError;
use watchkeeper_core::{CauseType, Outcome, Quoted, Status, StatusCause, StatusReason};

/// The message of a conflict. Scripts match it.
pub(super) const MODIFIED: &str =
    "the object has been modified; please apply your changes to the latest version and try again";

/// Creates a cause.
pub(crate) fn fault(cause: CauseType, field: &str, message: impl Into<String>) -> StatusCause {
    StatusCause { cause, field: field.to_owned(), message: message.into() }
}

/// Creates a cause for an invalid value.
pub(crate) fn invalid_value(field: &str, value: &str, why: &str) -> StatusCause {
    fault(CauseType::FieldValueInvalid, field, format!("Invalid value: {}: {why}", Quoted(value)))
}

/// 422 if there are faults.
pub(crate) fn check(resource: &Resource, name: &str, faults: Vec<StatusCause>) -> Result<(), Status> {
    if faults.is_empty() { Ok(()) } else { Err(Status::invalid(&resource.group_kind(), name, faults)) }
}

/// 503: the store is unavailable. The request can be retried.
pub(crate) fn unavailable(error: impl std::fmt::Display) -> Status {
    Status::service_unavailable(error.to_string())
}

/// Converts a failed write, or one with an unknown outcome: 500 with the error of the disk if it was not durable.
pub(super) fn unwritten(error: &WriteError) -> Status {
    match error {
        WriteError::NotDurable(why) => Status::internal_error(format_args!("{error}: {why}")),
        error => unavailable(error),
    }
}

pub(super) fn no_randomness(error: NoRandomness) -> Status {
    Status::internal_error(error)
}

/// Converts the error of a patch.
pub(super) fn unpatchable(error: &PatchError) -> Status {
    let (code, message) = (i32::from(error.code()), error.status_message());
    let (reason, details) = match error {
        PatchError::BadRequest(_) => return Status::bad_request(message),
        PatchError::Unprocessable(_) => (StatusReason::Invalid, Some(Box::default())),
        PatchError::TooLarge(_) => (StatusReason::RequestEntityTooLarge, None),
        _ => (StatusReason::Unknown, None),
    };
    Status { outcome: Some(Outcome::Failure), code, message, reason, details, ..Default::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_that_is_not_durable_is_an_internal_error_with_the_cause() {
        let full = unwritten(&WriteError::NotDurable("log-1: No space left on device".into()));
        assert_eq!((full.code, full.reason.clone()), (500, StatusReason::InternalError));
        let text = "Internal error occurred: failed to write to disk: log-1: No space left on device";
        assert_eq!(full.message, text);
        assert_eq!(unwritten(&WriteError::Unavailable("gone".into())).code, 503);
    }
}
