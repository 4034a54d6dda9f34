//! Errors printed with their causes.

use std::error::Error;
use std::fmt;

/// Any error, for the return type of `main`: both `Display` and `Debug` print the message and its causes.
///
/// With `Box<dyn Error>`, a failing `main` prints the `Debug` output of the error, which lists fields instead of messages.
/// `?` converts every error into a report.
///
/// ```
/// use watchkeeper_core::{ObjectKey, Report};
///
/// fn run() -> Result<(), Report> {
///     let key: ObjectKey = "a/b/c".parse()?;
///     println!("{key}");
///     Ok(())
/// }
///
/// assert_eq!(format!("{:?}", run().unwrap_err()), run().unwrap_err().to_string());
/// ```
pub struct Report(Box<dyn Error + Send + Sync>);

impl Report {
    /// Creates a report of an error, a boxed error or a message.
    pub fn new(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self(error.into())
    }

    /// Returns the reported error.
    pub fn error(&self) -> &(dyn Error + Send + Sync + 'static) {
        &*self.0
    }
}

impl<E: Error + Send + Sync + 'static> From<E> for Report {
    fn from(error: E) -> Self {
        Self(Box::new(error))
    }
}

/// Prints `message: cause: cause`, as [`ErrorChain`] does.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        ErrorChain(&*self.0).fmt(f)
    }
}

/// A borrowed error that prints its causes, for logs and messages.
///
/// ```
/// use watchkeeper_core::{ErrorChain, ListError};
///
/// let error = ListError::Interrupted("connection lost".into());
/// assert_eq!(ErrorChain(&error).to_string(), "list interrupted: connection lost");
/// ```
#[derive(Debug, Clone, Copy)]
pub struct ErrorChain<'a>(pub &'a (dyn Error + 'static));

impl<'a> ErrorChain<'a> {
    /// Returns the error and its causes, outermost first.
    pub fn iter(self) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
        std::iter::successors(Some(self.0), |error| (*error).source())
    }
}

/// Prints `message: cause: cause`. A cause that the text before it already ends with is not repeated.
impl fmt::Display for ErrorChain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut printed = self.0.to_string();
        f.write_str(&printed)?;
        let mut next = self.0.source();
        while let Some(cause) = next {
            let text = cause.to_string();
            if !printed.ends_with(&text) {
                write!(f, ": {text}")?;
            }
            (printed, next) = (text, cause.source());
        }
        Ok(())
    }
}

impl fmt::Debug for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("failed to read {0}")]
    struct ReadError(&'static str, #[source] std::io::Error);

    #[derive(Debug, thiserror::Error)]
    #[error("GET /pods: {source}")]
    struct RequestError {
        source: ReadError,
    }

    #[test]
    fn a_report_prints_each_message_of_the_chain_once() {
        let refused = std::io::Error::from(std::io::ErrorKind::ConnectionRefused);
        let error = RequestError { source: ReadError("ca.crt", refused) };
        let report = Report::from(error);
        assert_eq!(format!("{report:?}"), "GET /pods: failed to read ca.crt: connection refused");
        assert!(report.error().is::<RequestError>());
        assert_eq!(Report::new("no pods").to_string(), "no pods");
    }
}
