//! Outcomes: what becomes of a key after it was looked at.

use std::error::Error;
use std::fmt;
use std::time::Duration;

/// It is in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Until something changes.
    Done,
    /// Until something changes, and for so long at most.
    After(Duration),
}

/// It is not in order. Every error is one that is tried again; see [`terminal`](Self::terminal) for others.
///
/// ```
/// use watchkeeper_controller::{Action, Failure};
///
/// fn reconcile(text: &str) -> Result<Action, Failure> {
///     let _replicas: u32 = text.parse()?; // is tried again
///     Err(Failure::terminal("no such storage class")) // is not
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
    /// To try again would be no better: not before something changes.
    pub fn terminal(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { error: error.into(), is_terminal: true }
    }

    /// Tried again after a while.
    pub fn retry(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { error: error.into(), is_terminal: false }
    }

    /// Whether it is not tried again.
    pub fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    /// What has happened.
    pub fn error(&self) -> &(dyn Error + Send + Sync + 'static) {
        &*self.error
    }
}

impl<E: Error + Send + Sync + 'static> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::retry(error)
    }
}

/// With the reasons behind it, as the error itself does not say them.
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
