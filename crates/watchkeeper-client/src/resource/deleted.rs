//! Deleted: gone, or on its way.

use serde::de::DeserializeOwned;
use watchkeeper_core::Status;

use crate::rest::{Answer, RequestError};

/// What came of a deletion.
#[derive(Debug, Clone, PartialEq)]
pub enum Deleted<T> {
    /// It is gone.
    Gone(Box<Status>),
    /// It was there when the answer was sent, and may be still: it has finalizers, or time to end.
    Going(Box<T>),
}

impl<T: DeserializeOwned> Deleted<T> {
    pub(super) fn read(answer: Answer) -> Result<Self, RequestError> {
        match answer.object_type() {
            Some((_, kind)) if kind == "Status" => Ok(Self::Gone(Box::new(answer.into()?))),
            _ => Ok(Self::Going(Box::new(answer.into()?))),
        }
    }
}
