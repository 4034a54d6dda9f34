//! Refusals: the statuses of writing that are not about one kind.

use crate::http::NoRandomness;
pub(super) use crate::http::unexplained;
use crate::patch::PatchError;
use crate::registry::Resource;
use crate::store::WriteError;
use watchkeeper_core::{CauseType, Outcome, Quoted, Status, StatusCause, StatusReason};

/// Why an object cannot be written that has been changed meanwhile. Scripts look for this sentence.
pub(super) const MODIFIED: &str =
    "the object has been modified; please apply your changes to the latest version and try again";

/// A rule that a field breaks.
pub(crate) fn fault(cause: CauseType, field: &str, message: impl Into<String>) -> StatusCause {
    StatusCause { cause, field: field.to_owned(), message: message.into() }
}

/// A value that breaks a rule.
pub(crate) fn invalid_value(field: &str, value: &str, why: &str) -> StatusCause {
    fault(CauseType::FieldValueInvalid, field, format!("Invalid value: {}: {why}", Quoted(value)))
}

/// 422 where there are faults.
pub(crate) fn check(resource: &Resource, name: &str, faults: Vec<StatusCause>) -> Result<(), Status> {
    match faults.is_empty() {
        true => Ok(()),
        false => Err(Status::invalid(&resource.group_kind(), name, faults)),
    }
}

/// 503: the store did not answer. Whatever was asked of it can be asked again.
pub(crate) fn unavailable(error: impl std::fmt::Display) -> Status {
    Status::service_unavailable(error.to_string())
}

/// A write that did not happen, or of which nobody knows whether it did: 500 where the disk took nothing, with
/// what the disk said.
pub(super) fn unwritten(error: &WriteError) -> Status {
    match error {
        WriteError::NotDurable(why) => Status::internal_error(format_args!("{error}: {why}")),
        error => unavailable(error),
    }
}

pub(super) fn no_randomness(error: NoRandomness) -> Status {
    Status::internal_error(error)
}

/// A patch that was refused.
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
    fn a_disk_that_takes_nothing_is_an_error_of_the_server_with_what_the_disk_said() {
        let full = unwritten(&WriteError::NotDurable("log-1: No space left on device".into()));
        assert_eq!((full.code, full.reason.clone()), (500, StatusReason::InternalError));
        let text = "Internal error occurred: failed to write to disk: log-1: No space left on device";
        assert_eq!(full.message, text);
        assert_eq!(unwritten(&WriteError::Unavailable("gone".into())).code, 503);
    }
}
