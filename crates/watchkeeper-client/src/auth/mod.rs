//! Auth: how a client says who it is.
//!
//! From: a [`Config`], by [`from_config`].
//! To:   the [transport](crate::transport), which asks before every connection and every request.
//!
//! - A1: nothing here blocks the runtime: files and programs are waited for.
//! - A2: credentials do not show in debug output or in errors.
//! - A3: however many requests need new credentials, they are fetched once, and all get what came of it.

mod exec;
mod instances;
mod kept;
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

pub use exec::{HINTS_AN_HOUR, OUTPUT_LIMIT, PLUGIN_TIMEOUT, PluginPolicy};
pub use oidc::{EXPIRY_LEEWAY, PROVIDER_TIMEOUT};
pub use token_file::READ_AGAIN_AFTER;

/// What is awaited.
pub type Awaited<'a, T> = Pin<Box<dyn Future<Output = Result<T, AuthError>> + Send + 'a>>;

/// Gives credentials. Requests on all connections share one.
pub trait Credentials: fmt::Debug + Send + Sync {
    /// What the next request is to be sent with.
    fn authorization(&self) -> Awaited<'_, Given>;

    /// The certificate for the next connection, if there is any. Connections that were made with another
    /// are not used for requests of a new [generation](Given::generation).
    fn certificate(&self) -> Awaited<'_, Option<PemIdentity>> {
        Box::pin(std::future::ready(Ok(None)))
    }

    /// The server has answered 401 to a request with credentials of this generation: they are not to be
    /// given again if there can be others.
    fn refused(&self, generation: u64) {
        let _ = generation;
    }
}

/// What a request is sent with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Given {
    /// The `Authorization` header, if there is any.
    pub header: Option<HeaderValue>,
    /// How many times credentials have been fetched so far: another number, another certificate.
    pub generation: u64,
}

/// The credentials that a config says. Nothing is read, run or asked for before the first request; the same
/// plugin, or identity provider, of several configs is one for all of them.
///
/// # Errors
/// If they make no sense.
pub fn from_config(config: &Config) -> Result<Arc<dyn Credentials>, AuthError> {
    Ok(match &config.authorization {
        Authorization::None => Arc::new(Fixed::none()),
        Authorization::Token(token) => Arc::new(Fixed::token(token)?),
        Authorization::Basic { username, password } => Arc::new(Fixed::basic(username, password)?),
        Authorization::TokenFile(file) => Arc::new(token_file::TokenFile::new(file.clone())),
        Authorization::Exec(exec) => Arc::new(exec::Asked::new(exec, config)?),
        Authorization::Oidc(oidc) => oidc::Provider::shared(oidc, config)?,
    })
}

/// A certificate and its key, in PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PemIdentity {
    /// The certificate, and those between it and its authority.
    pub certificate: String,
    /// Its key.
    pub key: Secret,
}

/// Why there are no credentials: nothing was sent.
#[derive(Debug, Clone, thiserror::Error)]
#[error("no credentials: {what}")]
pub struct AuthError {
    /// What went wrong, without secrets.
    pub what: String,
    /// Why.
    pub source: Option<Arc<dyn std::error::Error + Send + Sync>>,
}

impl AuthError {
    /// What went wrong.
    pub fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), source: None }
    }

    /// What went wrong, and why.
    pub fn because(
        what: impl Into<String>,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        Self { what: what.into(), source: Some(Arc::from(source.into())) }
    }
}

/// Credentials that never change.
#[derive(Clone, Default)]
pub struct Fixed {
    header: Option<HeaderValue>,
}

impl Fixed {
    /// None at all.
    pub fn none() -> Self {
        Self::default()
    }

    /// A bearer token.
    ///
    /// # Errors
    /// If the token has characters that no header can have.
    pub fn token(token: &Secret) -> Result<Self, AuthError> {
        Ok(Self { header: Some(bearer(token)?) })
    }

    /// Name and password.
    ///
    /// # Errors
    /// Never: what is sent is in base64.
    pub fn basic(username: &str, password: &Secret) -> Result<Self, AuthError> {
        let text = STANDARD.encode(format!("{username}:{}", password.reveal()));
        Ok(Self { header: Some(header(&format!("Basic {text}"))?) })
    }
}

impl fmt::Debug for Fixed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.header.is_some() { "Fixed([secret])" } else { "Fixed(none)" })
    }
}

impl Credentials for Fixed {
    fn authorization(&self) -> Awaited<'_, Given> {
        Box::pin(std::future::ready(Ok(Given { header: self.header.clone(), generation: 0 })))
    }
}

/// `Bearer <token>`.
pub(crate) fn bearer(token: &Secret) -> Result<HeaderValue, AuthError> {
    header(&format!("Bearer {}", token.reveal()))
}

fn header(text: &str) -> Result<HeaderValue, AuthError> {
    let refused = |_| AuthError::new("they have characters that no header can have");
    let mut value = HeaderValue::from_str(text).map_err(refused)?;
    value.set_sensitive(true);
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn fixed_credentials_are_given_and_not_shown() {
        let token = Fixed::token(&"hunter2".into()).unwrap();
        assert_eq!(token.authorization().await.unwrap().header.unwrap(), "Bearer hunter2");
        assert!(!format!("{token:?} {:?}", token.header).contains("hunter2"));
        let basic = Fixed::basic("me", &"pass".into()).unwrap();
        assert_eq!(basic.authorization().await.unwrap().header.unwrap(), "Basic bWU6cGFzcw==");
        let error = Fixed::token(&"a\nb".into()).unwrap_err();
        assert_eq!(error.to_string(), "no credentials: they have characters that no header can have");
    }
}
