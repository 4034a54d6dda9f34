//! The result of a deletion.

use serde::de::DeserializeOwned;
use watchkeeper_core::Status;

use crate::rest::{RequestError, Response};

/// The result of a deletion.
#[derive(Debug, Clone, PartialEq)]
pub enum Deleted<T> {
    /// The object is gone.
    Completed(Box<Status>),
    /// The object still existed when the response was sent: it has finalizers, or a grace period.
    Pending(Box<T>),
}

impl<T: DeserializeOwned> Deleted<T> {
    pub(super) fn read(response: Response) -> Result<Self, RequestError> {
        match response.object_type() {
            Some((_, kind)) if kind == "Status" => Ok(Self::Completed(Box::new(response.into()?))),
            _ => Ok(Self::Pending(Box::new(response.into()?))),
        }
    }
}
