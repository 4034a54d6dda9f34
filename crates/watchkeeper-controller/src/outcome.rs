//! Outcome: the result of a reconcile call.

use std::error::Error;
use std::fmt;
use std::time::Duration;

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

/// A failed reconcile call. Every error converts into one that is retried with backoff; see
/// [`terminal`](Self::terminal) for errors that are not.
///
/// ```
/// use watchkeeper_controller::{Action, Failure};
///
/// fn reconcile(text: &str) -> Result<Action, Failure> {
///     let _replicas: u32 = text.parse()?; // retried
///     Err(Failure::terminal("storage class not found")) // not retried
/// }
/// assert!(!reconcile("many").unwrap_err().is_terminal());
/// assert!(reconcile("3").unwrap_err().is_terminal());
/// ```
#[derive(Debug)]
pub struct Failure {
    error: Box<dyn Error + Send + Sync>,
    is_terminal: bool,
}

impl Failure {
    /// Creates an error that is not retried until something changes.
    pub fn terminal(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { error: error.into(), is_terminal: true }
    }

    /// Creates an error that is retried with backoff.
    pub fn retry(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { error: error.into(), is_terminal: false }
    }

    /// Returns whether the call is not retried.
    pub fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    /// Returns the cause.
    pub fn error(&self) -> &(dyn Error + Send + Sync + 'static) {
        &*self.error
    }
}

impl<E: Error + Send + Sync + 'static> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::retry(error)
    }
}

/// Formats the error followed by its sources, separated by colons.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.error)?;
        let mut source = self.error.source();
        while let Some(error) = source {
            write!(f, ": {error}")?;
            source = error.source();
        }
        Ok(())
    }
}
