//! Outcome: the result of a reconcile call.

use std::fmt;
use std::time::Duration;

use watchkeeper_core::{BoxError, ErrorChain};

/// When to reconcile a key again after a successful call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Action {
    pub(crate) requeue_after: Option<Duration>,
}

impl Action {
    /// Reconciles again when something changes.
    pub const fn await_change() -> Self {
        Self { requeue_after: None }
    }

    /// Reconciles again when something changes, and after `delay` at the latest.
    pub const fn requeue(delay: Duration) -> Self {
        Self { requeue_after: Some(delay) }
    }
}

/// The error of a failed reconcile call: any error converts into it with `?`. The call is retried with backoff, unless
/// the error is or wraps a [`TerminalError`].
pub type Error = BoxError;

/// An error that is not retried until something changes.
///
/// ```
/// use watchkeeper_controller::{Action, Error, TerminalError};
///
/// fn reconcile(text: &str) -> Result<Action, Error> {
///     let _replicas: u32 = text.parse()?; // retried
///     Err(TerminalError::new("storage class not found").into()) // not retried
/// }
/// assert!(reconcile("many").unwrap_err().downcast_ref::<TerminalError>().is_none());
/// assert!(reconcile("3").unwrap_err().downcast_ref::<TerminalError>().is_some());
/// ```
#[derive(Debug)]
pub struct TerminalError {
    cause: Error,
}

impl TerminalError {
    /// Marks an error as terminal.
    pub fn new(cause: impl Into<Error>) -> Self {
        Self { cause: cause.into() }
    }
}

impl fmt::Display for TerminalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.cause.fmt(f)
    }
}

impl std::error::Error for TerminalError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.cause.source()
    }
}

/// Returns whether the error or one of its causes is a [`TerminalError`].
pub(crate) fn is_terminal(error: &(dyn std::error::Error + 'static)) -> bool {
    ErrorChain(error).iter().any(|error| error.is::<TerminalError>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("quota exceeded")]
    struct Wrapped(#[source] TerminalError);

    fn boxed() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        Err("no answer".into())
    }

    #[test]
    fn boxed_errors_convert_and_a_terminal_one_is_found_inside_others() {
        let call = || -> Result<Action, Error> {
            boxed()?;
            Ok(Action::await_change())
        };
        let retried = call().unwrap_err();
        assert!(!is_terminal(&*retried));
        let terminal: Error = Wrapped(TerminalError::new("no storage")).into();
        assert!(is_terminal(&*terminal));
        assert_eq!(ErrorChain(&*terminal).to_string(), "quota exceeded: no storage");
    }
}
