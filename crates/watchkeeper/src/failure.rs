//! Failure: what a command says when it has failed, in kubectl's words, and then exits with 1.
//!
//! From: whatever went wrong.
//! To:   standard error: one line each, and no panic.

use std::error::Error;
use std::fmt;
use std::io;
use std::net::SocketAddr;

use watchkeeper_client::discovery::{DiscoveryError, MapError};
use watchkeeper_client::rest::RequestError;
use watchkeeper_client::transport::{BodyError, BuildError, ConnectError, TransportError};
use watchkeeper_client::{ClientError, ConfigError};
use watchkeeper_core::{Status, StatusReason};

use crate::stdout::WriteError;

/// Everything that went wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    complaints: Vec<Complaint>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Complaint {
    text: String,
    /// Whether `error: ` stands before it where it is the only one.
    is_bare: bool,
    is_not_found: bool,
}

impl Failure {
    /// One thing, which is said as `error: text`.
    pub(crate) fn error(text: impl Into<String>) -> Self {
        Self { complaints: vec![Complaint { text: text.into(), is_bare: true, is_not_found: false }] }
    }

    /// One thing, which is said as it is.
    pub(crate) fn said(text: impl Into<String>) -> Self {
        Self { complaints: vec![Complaint { text: text.into(), is_bare: false, is_not_found: false }] }
    }

    /// A port that cannot be had, and how to choose another.
    pub(crate) fn port(address: SocketAddr, flag: &str, error: &(dyn Error + 'static)) -> Self {
        match is_taken(error) {
            true => Self::error(format!("{address} is taken by another program: choose another with {flag}")),
            false => Self::of(error),
        }
    }

    /// An error and what caused it, on one line.
    pub(crate) fn of(error: &dyn Error) -> Self {
        Self::error(chain(error))
    }

    /// All of these at once, each said once; nothing if there are none.
    pub(crate) fn all(failures: impl IntoIterator<Item = Self>) -> Result<(), Self> {
        let mut complaints: Vec<Complaint> = Vec::new();
        for complaint in failures.into_iter().flat_map(|failure| failure.complaints) {
            if !complaints.contains(&complaint) {
                complaints.push(complaint);
            }
        }
        if complaints.is_empty() { Ok(()) } else { Err(Self { complaints }) }
    }

    /// Whether all that went wrong is that the server has no such object.
    pub(crate) fn is_not_found(&self) -> bool {
        self.complaints.iter().all(|complaint| complaint.is_not_found)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [Complaint { text, is_bare: true, .. }] = self.complaints.as_slice()
            && !text.starts_with("error: ")
        {
            f.write_str("error: ")?;
        }
        for (position, complaint) in self.complaints.iter().enumerate() {
            write!(f, "{}{}", if position > 0 { "\n" } else { "" }, complaint.text)?;
        }
        Ok(())
    }
}

/// Whether somebody else listens there already.
pub(crate) fn is_taken(error: &(dyn Error + 'static)) -> bool {
    let io = error.downcast_ref::<io::Error>();
    io.is_some_and(|io| io.kind() == io::ErrorKind::AddrInUse) || error.source().is_some_and(is_taken)
}

/// An error and what caused it, on one line. What an error repeats of its cause is said once.
fn chain(error: &dyn Error) -> String {
    let said = error.to_string();
    match error.source().map(chain) {
        Some(source) if !said.ends_with(&source) => format!("{said}: {source}"),
        _ => said,
    }
}

impl From<&Status> for Failure {
    fn from(status: &Status) -> Self {
        let text = match &status.reason {
            StatusReason::Unauthorized => {
                return Self::said(format!(
                    "error: You must be logged in to the server ({})",
                    status.message
                ));
            }
            StatusReason::Unknown => format!("Error from server: {status}"),
            reason => format!("Error from server ({reason}): {status}"),
        };
        let is_not_found = status.is_not_found();
        Self { complaints: vec![Complaint { text, is_bare: false, is_not_found }] }
    }
}

impl From<&RequestError> for Failure {
    fn from(error: &RequestError) -> Self {
        match error {
            RequestError::Api { status, .. } => Self::from(&**status),
            RequestError::Transport { source, .. } => Self::from(source),
            RequestError::Body { source: BodyError::TooLarge { .. }, .. } => Self::of(error),
            RequestError::Body { source, .. } => {
                Self::said(format!("Unable to connect to the server: {}", chain(source)))
            }
            RequestError::TimedOut { after, .. } => Self::said(format!(
                "Unable to connect to the server: no answer within {} s",
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
            return Self::said(format!(
                "The connection to the server {address} was refused - did you specify the right host or port?"
            ));
        }
        Self::said(format!("Unable to connect to the server: {}", chain(error)))
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

/// With what may have been meant, which kubectl does not say.
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
    fn what_a_server_refuses_is_said_as_kubectl_says_it() {
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
    fn several_things_are_one_line_each_and_each_is_said_once() {
        let one = Failure::error("a");
        assert_eq!(one.to_string(), "error: a");
        let both = Failure::all([one.clone(), Failure::said("Error from server: b"), one]).unwrap_err();
        assert_eq!(both.to_string(), "a\nError from server: b");
        assert!(Failure::all([]).is_ok());
        assert_eq!(Failure::error("error: c").to_string(), "error: c");
    }
}
