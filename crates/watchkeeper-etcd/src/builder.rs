//! Builder: the settings of a client.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::Uri;
use http::uri::Scheme;
use rustls::pki_types::ServerName;

use crate::auth::Auth;
use crate::channel::Channel;
use crate::connection::Endpoint;
use crate::{Etcd, Tls};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// Default limit of a message from etcd, in bytes.
pub const MAX_MESSAGE: usize = 64 << 20;

/// A builder of an [`Etcd`] client; created by [`Etcd::builder`].
#[derive(Clone)]
pub struct Builder {
    endpoints: Vec<String>,
    tls: Tls,
    user: Option<(String, String)>,
    connect_timeout: Duration,
    request_timeout: Duration,
    max_message: usize,
}

/// Why a client cannot be built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// The list of endpoints is empty.
    #[error("no endpoints")]
    NoEndpoint,
    /// An endpoint is `http://HOST:PORT` or `https://HOST:PORT`.
    #[error("invalid endpoint {endpoint:?}: expected http://HOST:PORT or https://HOST:PORT")]
    Endpoint {
        /// The endpoint.
        endpoint: String,
    },
    /// A certificate or key is invalid.
    #[error("invalid TLS configuration: {0}")]
    Certificates(String),
}

impl Builder {
    pub(crate) fn new(endpoints: Vec<String>) -> Self {
        Self {
            endpoints,
            tls: Tls::default(),
            user: None,
            connect_timeout: CONNECT_TIMEOUT,
            request_timeout: REQUEST_TIMEOUT,
            max_message: MAX_MESSAGE,
        }
    }

    /// Sets up TLS for `https` endpoints. By default the system's root certificates are trusted.
    #[must_use]
    pub fn tls(mut self, tls: Tls) -> Self {
        self.tls = tls;
        self
    }

    /// Sets name and password. By default none are sent; a client certificate may identify the user.
    #[must_use]
    pub fn user(mut self, name: impl Into<String>, password: impl Into<String>) -> Self {
        self.user = Some((name.into(), password.into()));
        self
    }

    /// Sets how long to wait for a connection before the next endpoint is tried; 5 s by default.
    #[must_use]
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// Sets the timeout of a request; 30 s by default.
    #[must_use]
    pub fn request_timeout(mut self, timeout: Duration) -> Self {
        self.request_timeout = timeout;
        self
    }

    /// Sets the limit of a message from etcd, in bytes; [`MAX_MESSAGE`], 64 MiB, by default.
    #[must_use]
    pub fn max_message(mut self, bytes: usize) -> Self {
        self.max_message = bytes;
        self
    }

    /// Builds the client, without connecting.
    ///
    /// # Errors
    /// If an endpoint, a certificate or a key is invalid.
    pub fn build(self) -> Result<Etcd, BuildError> {
        if self.endpoints.is_empty() {
            return Err(BuildError::NoEndpoint);
        }
        let mut config = None;
        let mut endpoints = Vec::with_capacity(self.endpoints.len());
        for text in &self.endpoints {
            let invalid = || BuildError::Endpoint { endpoint: text.clone() };
            let uri: Uri = text.parse().map_err(|_| invalid())?;
            let (Some(scheme), Some(authority)) = (uri.scheme(), uri.authority()) else {
                return Err(invalid());
            };
            if !matches!(uri.path(), "" | "/") || authority.as_str().contains('@') {
                return Err(invalid());
            }
            let tls = match scheme {
                scheme if *scheme == Scheme::HTTP => None,
                scheme if *scheme == Scheme::HTTPS => {
                    let name = self.tls.name(authority.host());
                    let plain = name.trim_start_matches('[').trim_end_matches(']').to_owned();
                    let name = ServerName::try_from(plain).map_err(|_| invalid())?;
                    let config = match &config {
                        Some(config) => Arc::clone(config),
                        None => config.insert(self.tls.build()?).clone(),
                    };
                    Some((config, name))
                }
                _ => return Err(invalid()),
            };
            endpoints.push(Endpoint { scheme: scheme.clone(), authority: authority.clone(), tls });
        }
        let channel = Channel::new(endpoints, self.connect_timeout);
        Ok(Etcd::new(channel, Auth::new(self.user), self.request_timeout, self.max_message))
    }
}

/// Omits the password.
impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("endpoints", &self.endpoints)
            .field("tls", &self.tls)
            .field("user", &self.user.as_ref().map(|(name, _)| name))
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_have_scheme_host_and_port() {
        for good in ["http://127.0.0.1:2379", "https://etcd.example:2379/", "http://[::1]:2379", "http://a"] {
            assert!(Etcd::builder([good]).build().is_ok(), "{good}");
        }
        for bad in ["", "127.0.0.1:2379", "ftp://a:1", "http://", "http://a:1/path", "http://me@a:1", "a b"] {
            assert!(matches!(Etcd::builder([bad]).build(), Err(BuildError::Endpoint { .. })), "{bad}");
        }
        assert!(matches!(Etcd::builder::<&str>([]).build(), Err(BuildError::NoEndpoint)));
    }

    #[test]
    fn a_password_is_not_shown() {
        let builder = Etcd::builder(["http://a:1"]).user("me", "s3cret");
        assert!(!format!("{builder:?} {:?}", builder.clone().build()).contains("s3cret"));
    }
}
