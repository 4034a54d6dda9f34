//! Builder: what has to be known of an etcd before it is asked anything.

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

/// How long it may take to connect to an endpoint, unless said otherwise.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long an answer may take, unless said otherwise.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a message from etcd may be, unless said otherwise.
pub const MAX_MESSAGE: usize = 64 << 20;

/// An etcd with choices. Made by [`Etcd::builder`].
#[derive(Clone)]
pub struct Builder {
    endpoints: Vec<String>,
    tls: Tls,
    user: Option<(String, String)>,
    connect_timeout: Duration,
    request_timeout: Duration,
    max_message: usize,
}

/// Why there is no client.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// There is nobody to ask.
    #[error("there is no endpoint")]
    NoEndpoint,
    /// An endpoint is `http://HOST:PORT` or `https://HOST:PORT`.
    #[error("{endpoint:?} is not an endpoint: it must be http:// or https://, a host and a port")]
    Endpoint {
        /// What was given.
        endpoint: String,
    },
    /// Certificates or keys cannot be used.
    #[error("TLS: {0}")]
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

    /// How to speak TLS with endpoints that begin with `https`. By default whoever is vouched for by those that
    /// this machine trusts is believed.
    #[must_use]
    pub fn tls(mut self, tls: Tls) -> Self {
        self.tls = tls;
        self
    }

    /// Whom to ask as. By default nobody is named; a client certificate may name one then.
    #[must_use]
    pub fn user(mut self, name: impl Into<String>, password: impl Into<String>) -> Self {
        self.user = Some((name.into(), password.into()));
        self
    }

    /// How long it may take to connect to an endpoint before the next one is tried. By default 5 s.
    #[must_use]
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// How long an answer may take. By default 30 s.
    #[must_use]
    pub fn request_timeout(mut self, timeout: Duration) -> Self {
        self.request_timeout = timeout;
        self
    }

    /// How long a message from etcd may be, in bytes. By default [`MAX_MESSAGE`], 64 MiB.
    #[must_use]
    pub fn max_message(mut self, bytes: usize) -> Self {
        self.max_message = bytes;
        self
    }

    /// The client. Nothing is connected yet.
    ///
    /// # Errors
    /// Where an endpoint, a certificate or a key is none.
    pub fn build(self) -> Result<Etcd, BuildError> {
        if self.endpoints.is_empty() {
            return Err(BuildError::NoEndpoint);
        }
        let mut config = None;
        let mut endpoints = Vec::with_capacity(self.endpoints.len());
        for text in &self.endpoints {
            let refused = || BuildError::Endpoint { endpoint: text.clone() };
            let uri: Uri = text.parse().map_err(|_| refused())?;
            let (Some(scheme), Some(authority)) = (uri.scheme(), uri.authority()) else {
                return Err(refused());
            };
            if !matches!(uri.path(), "" | "/") || authority.as_str().contains('@') {
                return Err(refused());
            }
            let tls = match scheme {
                scheme if *scheme == Scheme::HTTP => None,
                scheme if *scheme == Scheme::HTTPS => {
                    let name = self.tls.name(authority.host());
                    let plain = name.trim_start_matches('[').trim_end_matches(']').to_owned();
                    let name = ServerName::try_from(plain).map_err(|_| refused())?;
                    let config = match &config {
                        Some(config) => Arc::clone(config),
                        None => config.insert(self.tls.build()?).clone(),
                    };
                    Some((config, name))
                }
                _ => return Err(refused()),
            };
            endpoints.push(Endpoint { scheme: scheme.clone(), authority: authority.clone(), tls });
        }
        let channel = Channel::new(endpoints, self.connect_timeout);
        Ok(Etcd::new(channel, Auth::new(self.user), self.request_timeout, self.max_message))
    }
}

/// Shows no password.
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
    fn endpoints_are_schemes_hosts_and_ports() {
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
