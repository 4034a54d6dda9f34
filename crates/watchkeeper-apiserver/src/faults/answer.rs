//! Injected responses.

use std::time::Duration;

use crate::http::Verb;
use watchkeeper_core::{Outcome, Status};

use super::{RequestInfo, too_old};

/// The response to return instead of serving a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The server's own status for this code and the requested object. Anything but a failure (400 to 599) counts as
    /// 500.
    Code(u16),
    /// This status.
    Status(Box<Status>),
}

impl From<u16> for Answer {
    fn from(code: u16) -> Self {
        Self::Code(code)
    }
}

impl From<Status> for Answer {
    fn from(status: Status) -> Self {
        Self::Status(Box::new(status))
    }
}

/// The codes of failures.
pub(super) const FAILURES: std::ops::RangeInclusive<i32> = 400..=599;

/// The message of a status without a standard one.
const MESSAGE: &str = "injected fault";

impl Answer {
    pub(super) fn status(&self, info: &RequestInfo) -> Status {
        let mut status = match self {
            Self::Status(status) => (**status).clone(),
            Self::Code(code) => default_status(*code, info),
        };
        if !FAILURES.contains(&status.code) {
            status.code = 500;
        }
        status
    }
}

fn default_status(code: u16, info: &RequestInfo) -> Status {
    let (resource, name) = (info.target.group_resource(), info.target.name.as_str());
    let second = Duration::from_secs(1);
    match code {
        400 => Status::bad_request(MESSAGE),
        401 => Status::unauthorized("Unauthorized"),
        403 => Status::forbidden(Some(&resource), name, MESSAGE),
        404 => Status::not_found(&resource, name),
        409 if info.target.verb == Verb::Create => Status::already_exists(&resource, name),
        409 => Status::conflict(
            &resource,
            name,
            "the object has been modified; please apply your changes to the latest version and try again",
        ),
        410 if info.target.verb == Verb::Watch => too_old(),
        410 => Status::expired("The resourceVersion for the provided list is too old."),
        429 => Status::too_many_requests("Too many requests, please try again later.", second),
        500 => Status::internal_error(MESSAGE),
        503 => Status::service_unavailable(MESSAGE),
        504 => Status::timeout(MESSAGE, Duration::ZERO),
        code => Status {
            outcome: Some(Outcome::Failure),
            message: MESSAGE.to_owned(),
            code: code.into(),
            ..Status::default()
        },
    }
}
