//! Auth: the credentials that requests are sent with.
//!
//! Input: a [`Config`], through [`from_config`].
//! Output: the [transport](crate::transport), which gets credentials before every connection and request.
//!
//! Invariants:
//! - `auth.A1`: no file or process operation blocks the runtime.
//! - `auth.A2`: credentials appear neither in debug output nor in errors.
//! - `auth.A3`: concurrent requests that need new credentials share one fetch and its result.

mod cached;
mod exec;
mod instances;
mod oidc;
mod token_file;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderValue;

use crate::config::Authorization;
use crate::{Config, Secret};

pub use exec::{MAX_HINTS_PER_HOUR, OUTPUT_LIMIT, PLUGIN_TIMEOUT, PluginPolicy};
pub use oidc::{EXPIRY_LEEWAY, PROVIDER_TIMEOUT};
pub use token_file::TOKEN_RELOAD_INTERVAL;

/// The future returned by the methods of [`Credentials`].
pub type AuthFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, AuthError>> + Send + 'a>>;

/// A source of credentials, shared by the requests on all connections.
pub trait Credentials: fmt::Debug + Send + Sync {
    /// Returns the credential for the next request.
    fn authorization(&self) -> AuthFuture<'_, Credential>;

    /// Returns the client certificate for the next connection, if any. Connections made with another certificate
    /// are not used for requests of a newer [generation](Credential::generation).
    fn certificate(&self) -> AuthFuture<'_, Option<PemIdentity>> {
        Box::pin(std::future::ready(Ok(None)))
    }

    /// Called when the server has responded with 401 to a request with credentials of this generation: they
    /// must not be returned again if there can be others.
    fn invalidate(&self, generation: u64) {
        let _ = generation;
    }
}

/// The credential that a request is sent with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Credential {
    /// The `Authorization` header, if any.
    pub header: Option<HeaderValue>,
    /// Number of times that credentials have been fetched; a new number may mean a new certificate.
    pub generation: u64,
}

/// Returns the credentials of a config. Nothing is read, run or requested before the first request. Configs with
/// the same plugin or identity provider share one instance of it.
///
/// # Errors
/// If the settings are invalid.
pub fn from_config(config: &Config) -> Result<Arc<dyn Credentials>, AuthError> {
    Ok(match &config.authorization {
        Authorization::None => Arc::new(StaticCredentials::none()),
        Authorization::Token(token) => Arc::new(StaticCredentials::token(token)?),
        Authorization::Basic { username, password } => {
            Arc::new(StaticCredentials::basic(username, password)?)
        }
        Authorization::TokenFile(file) => Arc::new(token_file::TokenFile::new(file.clone())),
        Authorization::Exec(exec) => Arc::new(exec::ExecPlugin::new(exec, config)?),
        Authorization::Oidc(oidc) => oidc::Provider::shared(oidc, config)?,
    })
}

/// A certificate and its key, in PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PemIdentity {
    /// The certificate, followed by its intermediates.
    pub certificate: String,
    /// The private key.
    pub key: Secret,
}

/// An error getting credentials. The request was not sent.
#[derive(Debug, Clone, thiserror::Error)]
#[error("failed to get credentials: {message}")]
pub struct AuthError {
    /// The message. Contains no secrets.
    pub message: String,
    /// The cause.
    pub source: Option<Arc<dyn std::error::Error + Send + Sync>>,
}

impl AuthError {
    /// Creates an error without a cause.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), source: None }
    }

    /// Creates an error with a cause.
    pub fn with_source(
        message: impl Into<String>,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        Self { message: message.into(), source: Some(Arc::from(source.into())) }
    }
}

/// Credentials that never change.
#[derive(Clone, Default)]
pub struct StaticCredentials {
    header: Option<HeaderValue>,
}

impl StaticCredentials {
    /// Creates anonymous credentials.
    pub fn none() -> Self {
        Self::default()
    }

    /// Creates bearer token credentials.
    ///
    /// # Errors
    /// If the token contains characters not allowed in a header.
    pub fn token(token: &Secret) -> Result<Self, AuthError> {
        Ok(Self { header: Some(bearer(token)?) })
    }

    /// Creates basic authentication credentials.
    ///
    /// # Errors
    /// Never: the header value is base64.
    pub fn basic(username: &str, password: &Secret) -> Result<Self, AuthError> {
        let text = STANDARD.encode(format!("{username}:{}", password.reveal()));
        Ok(Self { header: Some(header(&format!("Basic {text}"))?) })
    }
}

impl fmt::Debug for StaticCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.header.is_some() {
            "StaticCredentials([secret])"
        } else {
            "StaticCredentials(none)"
        })
    }
}

impl Credentials for StaticCredentials {
    fn authorization(&self) -> AuthFuture<'_, Credential> {
        Box::pin(std::future::ready(Ok(Credential { header: self.header.clone(), generation: 0 })))
    }
}

/// Returns the header `Bearer <token>`.
pub(crate) fn bearer(token: &Secret) -> Result<HeaderValue, AuthError> {
    header(&format!("Bearer {}", token.reveal()))
}

fn header(text: &str) -> Result<HeaderValue, AuthError> {
    let invalid = |_| AuthError::new("credentials contain characters not allowed in a header");
    let mut value = HeaderValue::from_str(text).map_err(invalid)?;
    value.set_sensitive(true);
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn static_credentials_are_sent_but_never_printed() {
        let token = StaticCredentials::token(&"hunter2".into()).unwrap();
        assert_eq!(token.authorization().await.unwrap().header.unwrap(), "Bearer hunter2");
        assert!(!format!("{token:?} {:?}", token.header).contains("hunter2"));
        let basic = StaticCredentials::basic("me", &"pass".into()).unwrap();
        assert_eq!(basic.authorization().await.unwrap().header.unwrap(), "Basic bWU6cGFzcw==");
        let error = StaticCredentials::token(&"a\nb".into()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "failed to get credentials: credentials contain characters not allowed in a header"
        );
    }
}
