//! Command failure: error messages in kubectl's wording; the command then exits with status 1.
//!
//! Input: any error of a command.
//! Output: one line per problem on standard error; never a panic.

use std::error::Error;
use std::fmt;
use std::io;
use std::net::SocketAddr;

use watchkeeper_client::discovery::{DiscoveryError, MapError};
use watchkeeper_client::rest::RequestError;
use watchkeeper_client::transport::{BodyError, BuildError, ConnectError, TransportError};
use watchkeeper_client::{ClientError, ConfigError};
use watchkeeper_core::{ErrorChain, Status, StatusReason};

use crate::stdout::WriteError;

/// One or more problems that made a command fail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    problems: Vec<Problem>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Problem {
    text: String,
    /// Whether `error: ` is prefixed if this is the only problem.
    is_bare: bool,
    is_not_found: bool,
}

impl Failure {
    /// Creates a failure that is printed as `error: text`.
    pub(crate) fn error(text: impl Into<String>) -> Self {
        Self { problems: vec![Problem { text: text.into(), is_bare: true, is_not_found: false }] }
    }

    /// Creates a failure that is printed verbatim.
    pub(crate) fn verbatim(text: impl Into<String>) -> Self {
        Self { problems: vec![Problem { text: text.into(), is_bare: false, is_not_found: false }] }
    }

    /// Creates the failure for an address that cannot be bound; names the flag that chooses another.
    pub(crate) fn port(address: SocketAddr, flag: &str, error: &(dyn Error + 'static)) -> Self {
        if is_taken(error) {
            Self::error(format!("{address} is already in use; choose another address with {flag}"))
        } else {
            Self::of(error)
        }
    }

    /// Creates a failure from an error and its causes, on one line.
    pub(crate) fn of(error: &(dyn Error + 'static)) -> Self {
        Self::error(ErrorChain(error).to_string())
    }

    /// Merges several failures and removes duplicates. Returns `Ok` if there are none.
    pub(crate) fn all(failures: impl IntoIterator<Item = Self>) -> Result<(), Self> {
        let mut problems: Vec<Problem> = Vec::new();
        for problem in failures.into_iter().flat_map(|failure| failure.problems) {
            if !problems.contains(&problem) {
                problems.push(problem);
            }
        }
        if problems.is_empty() { Ok(()) } else { Err(Self { problems }) }
    }

    /// Returns whether every problem is that the server does not have the object.
    pub(crate) fn is_not_found(&self) -> bool {
        self.problems.iter().all(|problem| problem.is_not_found)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [Problem { text, is_bare: true, .. }] = self.problems.as_slice()
            && !text.starts_with("error: ")
        {
            f.write_str("error: ")?;
        }
        for (position, problem) in self.problems.iter().enumerate() {
            write!(f, "{}{}", if position > 0 { "\n" } else { "" }, problem.text)?;
        }
        Ok(())
    }
}

/// Returns whether the error means that the address is already in use.
pub(crate) fn is_taken(error: &(dyn Error + 'static)) -> bool {
    let io = error.downcast_ref::<io::Error>();
    io.is_some_and(|io| io.kind() == io::ErrorKind::AddrInUse) || error.source().is_some_and(is_taken)
}

impl From<&Status> for Failure {
    fn from(status: &Status) -> Self {
        let text = match &status.reason {
            StatusReason::Unauthorized => {
                return Self::verbatim(format!(
                    "error: You must be logged in to the server ({})",
                    status.message
                ));
            }
            StatusReason::Unknown => format!("Error from server: {status}"),
            reason => format!("Error from server ({reason}): {status}"),
        };
        let is_not_found = status.is_not_found();
        Self { problems: vec![Problem { text, is_bare: false, is_not_found }] }
    }
}

impl From<&RequestError> for Failure {
    fn from(error: &RequestError) -> Self {
        match error {
            RequestError::Api { status, .. } => Self::from(&**status),
            RequestError::Transport { source, .. } => Self::from(source),
            RequestError::Body { source: BodyError::TooLarge { .. }, .. } => Self::of(error),
            RequestError::Body { source, .. } => {
                Self::verbatim(format!("Unable to connect to the server: {}", ErrorChain(source)))
            }
            RequestError::TimedOut { after, .. } => Self::verbatim(format!(
                "Unable to connect to the server: no response within {} s",
                after.as_secs_f64()
            )),
            other => Self::of(other),
        }
    }
}

impl From<RequestError> for Failure {
    fn from(error: RequestError) -> Self {
        Self::from(&error)
    }
}

impl From<&TransportError> for Failure {
    fn from(error: &TransportError) -> Self {
        if let TransportError::Connect(connect) = error
            && error.is_connection_refused()
            && let ConnectError::Unreachable { address, .. } = &**connect
        {
            return Self::verbatim(format!(
                "The connection to the server {address} was refused - did you specify the right host or port?"
            ));
        }
        Self::verbatim(format!("Unable to connect to the server: {}", ErrorChain(error)))
    }
}

impl From<DiscoveryError> for Failure {
    fn from(error: DiscoveryError) -> Self {
        match &error {
            DiscoveryError::Request(request) => Self::from(&**request),
            other => Self::of(other),
        }
    }
}

/// Includes suggestions for a mistyped resource, unlike kubectl.
impl From<MapError> for Failure {
    fn from(error: MapError) -> Self {
        match error {
            MapError::Discovery(error) => error.into(),
            other => Self::of(&other),
        }
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Self::of(&error)
    }
}

impl From<BuildError> for Failure {
    fn from(error: BuildError) -> Self {
        Self::of(&error)
    }
}

impl From<WriteError> for Failure {
    fn from(error: WriteError) -> Self {
        Self::of(&error)
    }
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        Self::of(&error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn status(body: serde_json::Value) -> Status {
        serde_json::from_value(body).unwrap()
    }

    #[test]
    fn server_errors_have_kubectls_wording() {
        let missing = status(json!({"status": "Failure", "message": "pods \"x\" not found",
            "reason": "NotFound", "code": 404}));
        let missing = Failure::from(&missing);
        assert_eq!(missing.to_string(), "Error from server (NotFound): pods \"x\" not found");
        assert!(missing.is_not_found());
        let stranger = status(
            json!({"status": "Failure", "message": "Unauthorized", "reason": "Unauthorized", "code": 401}),
        );
        let stranger = Failure::from(&stranger);
        assert_eq!(stranger.to_string(), "error: You must be logged in to the server (Unauthorized)");
        let odd = status(json!({"status": "Failure", "message": "odd", "code": 500}));
        assert_eq!(Failure::from(&odd).to_string(), "Error from server: odd");
    }

    #[test]
    fn each_problem_is_one_line_and_duplicates_are_dropped() {
        let one = Failure::error("a");
        assert_eq!(one.to_string(), "error: a");
        let both = Failure::all([one.clone(), Failure::verbatim("Error from server: b"), one]).unwrap_err();
        assert_eq!(both.to_string(), "a\nError from server: b");
        assert!(Failure::all([]).is_ok());
        assert_eq!(Failure::error("error: c").to_string(), "error: c");
    }
}
