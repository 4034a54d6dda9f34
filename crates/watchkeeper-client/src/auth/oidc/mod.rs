//! OIDC: an ID token, refreshed when it expires.
//!
//! Input: the settings of an `auth-provider` named `oidc`: `idp-issuer-url`, `client-id`, `client-secret`,
//!       `idp-certificate-authority`, `idp-certificate-authority-data`, `id-token`, `refresh-token`.
//! Output: the `Authorization` header, and the kubeconfig, where the next process finds the new tokens.
//!
//! Invariants:
//! - `oidc.O1`: a token is used until ten seconds before it expires. Other claims are left to the server.
//! - `oidc.O2`: new tokens are written to the kubeconfig before they are used, because a provider may revoke
//!   the old ones. No refresh starts if the result could not be saved, and a started refresh completes even if
//!   every waiter is dropped.
//! - `oidc.O3`: tokens that another process has refreshed in the kubeconfig are used.
//! - `oidc.O4`: secrets are sent to the provider over TLS only, unless the config allows plain HTTP.
//!
//! A 401 from the API server does not trigger a refresh, as in client-go.

mod jwt;
mod keep;
mod refresh;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderValue;

use super::cached::CachedCredential;
use super::instances::Instances;
use super::{AuthError, AuthFuture, Credential, Credentials, bearer};
use crate::config::{Authorities, Oidc, Proxy};
use crate::{Config, Secret};

/// A token is refreshed this long before it expires (`oidc.O1`).
pub const EXPIRY_LEEWAY: Duration = Duration::from_secs(10);

/// Time limit for a request to an identity provider.
pub const PROVIDER_TIMEOUT: Duration = Duration::from_secs(30);

static PROVIDERS: Instances<Provider> = Instances::new();

/// The tokens of one user at one provider, for one server.
#[derive(Debug)]
pub(super) struct Provider {
    server: String,
    client: Arc<Client>,
    cached: CachedCredential<Tokens>,
}

/// A client of an identity provider.
#[derive(Debug)]
struct Client {
    issuer: String,
    id: String,
    secret: Secret,
    authorities: Authorities,
    proxy: Proxy,
    /// Whether tokens may be sent over plain HTTP (`oidc.O4`).
    may_be_plain: bool,
    /// The tokens in the config.
    first: Option<Tokens>,
    refresh_token: Secret,
    /// The kubeconfig and the user in it that hold the tokens (`oidc.O2`).
    saved_in: Option<(PathBuf, String)>,
    /// The result of the last refresh. Locked during a refresh.
    newest: tokio::sync::Mutex<Option<Tokens>>,
}

#[derive(Debug, Clone, PartialEq)]
struct Tokens {
    header: HeaderValue,
    refresh_token: Secret,
    /// Seconds since 1970.
    expires: i64,
}

impl Tokens {
    fn new(id_token: &Secret, refresh_token: Secret) -> Result<Self, AuthError> {
        let expires =
            jwt::expiry(id_token.reveal()).ok_or_else(|| AuthError::new("id-token is not a valid JWT"))?;
        Ok(Self { header: bearer(id_token)?, refresh_token, expires })
    }

    fn is_valid(&self) -> bool {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let soon = (now + EXPIRY_LEEWAY).as_secs();
        i64::try_from(soon).is_ok_and(|soon| soon < self.expires)
    }
}

impl Provider {
    /// Returns the instance for this server, issuer, client and user. (client-go ignores the user and shares
    /// one provider between users.)
    pub(super) fn shared(oidc: &Oidc, config: &Config) -> Result<Arc<Self>, AuthError> {
        let server = config.server.to_string();
        let setting = |name: &str| setting(&oidc.settings, name);
        let (issuer, id) = (setting("idp-issuer-url"), setting("client-id"));
        for (name, value) in [("idp-issuer-url", &issuer), ("client-id", &id)] {
            if value.is_empty() {
                return Err(AuthError::new(format!("auth-provider oidc: {name} is required")));
            }
        }
        let (issuer, id) = (issuer.reveal().to_owned(), id.reveal().to_owned());
        let (first, refresh_token) = (tokens(&oidc.settings)?, setting("refresh-token"));
        let matches = |provider: &Self| {
            let client = &provider.client;
            let is_same_user = match &oidc.saved_in {
                Some(_) => client.saved_in == oidc.saved_in,
                None => {
                    client.saved_in.is_none()
                        && client.first == first
                        && client.refresh_token == refresh_token
                }
            };
            provider.server == server && client.issuer == issuer && client.id == id && is_same_user
        };
        PROVIDERS.get(matches, || {
            let client = Client {
                issuer: issuer.clone(),
                id: id.clone(),
                secret: setting("client-secret"),
                authorities: authorities(&oidc.settings)?,
                proxy: match config.proxy {
                    Proxy::Direct => Proxy::Direct,
                    _ => Proxy::Environment, // the cluster's own proxy is for the cluster only
                },
                may_be_plain: config.plain_credentials,
                first: first.clone(),
                refresh_token: refresh_token.clone(),
                saved_in: oidc.saved_in.clone(),
                newest: tokio::sync::Mutex::default(),
            };
            Ok(Self { server: server.clone(), client: Arc::new(client), cached: CachedCredential::default() })
        })
    }
}

impl Credentials for Provider {
    fn authorization(&self) -> AuthFuture<'_, Credential> {
        Box::pin(async move {
            let client = self.client.clone();
            let renew = |old: Option<Tokens>| client.renew(old.is_none());
            let (tokens, generation) = self.cached.get(Tokens::is_valid, renew).await?;
            Ok(Credential { header: Some(tokens.header), generation })
        })
    }
}

impl Client {
    async fn renew(self: Arc<Self>, is_first: bool) -> Result<Tokens, AuthError> {
        if let Some(first) = self.first.clone().filter(|tokens| is_first && tokens.is_valid()) {
            return Ok(first);
        }
        // oidc.O2: a started refresh completes even if the caller is dropped.
        let renewing = tokio::spawn(async move {
            let mut newest = self.newest.lock().await;
            if newest.as_ref().is_none_or(|tokens| !tokens.is_valid()) {
                let last = newest.as_ref().map_or(&self.refresh_token, |tokens| &tokens.refresh_token);
                *newest = Some(self.find_or_refresh(last).await?);
            }
            newest.clone().ok_or_else(|| AuthError::new("no tokens"))
        });
        let renewed =
            renewing.await.unwrap_or_else(|error| Err(AuthError::with_source("refresh task failed", error)));
        renewed
            .map_err(|error| AuthError { message: format!("auth-provider oidc: {}", error.message), ..error })
    }

    /// Uses the tokens in the kubeconfig if they are valid, and refreshes them otherwise. `last` is the refresh
    /// token to use if the kubeconfig has none.
    async fn find_or_refresh(&self, last: &Secret) -> Result<Tokens, AuthError> {
        let Some((file, user)) = self.saved_in.clone() else { return self.refresh(last).await };
        let settings = blocking(move || keep::read(&file, &user)).await?;
        match tokens(&settings).ok().flatten().filter(Tokens::is_valid) {
            Some(saved) => Ok(saved), // oidc.O3
            None => match setting(&settings, "refresh-token") {
                newer if newer.is_empty() => self.refresh(last).await,
                newer => self.refresh(&newer).await,
            },
        }
    }

    async fn refresh(&self, refresh_token: &Secret) -> Result<Tokens, AuthError> {
        if refresh_token.is_empty() {
            return Err(AuthError::new("id-token has expired and there is no refresh-token: log in again"));
        }
        let new = self.request_tokens(refresh_token).await?;
        let next = new.refresh_token.filter(|it| !it.is_empty()).unwrap_or_else(|| refresh_token.clone());
        let tokens = Tokens::new(&new.id_token, next.clone())?;
        if let Some((file, user)) = self.saved_in.clone() {
            let settings = [("id-token", new.id_token), ("refresh-token", next)];
            blocking(move || keep::write(&file, &user, &settings)).await?;
        }
        Ok(tokens)
    }
}

/// Runs `work` on a blocking thread (`auth.A1`).
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, AuthError> {
    let done = tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| Err(error.to_string()));
    done.map_err(|why| AuthError::new(format!("failed to save tokens: {why}")))
}

fn setting(settings: &BTreeMap<String, Secret>, name: &str) -> Secret {
    settings.get(name).cloned().unwrap_or_default()
}

/// Returns the configured tokens, or `None` without an `id-token`.
fn tokens(settings: &BTreeMap<String, Secret>) -> Result<Option<Tokens>, AuthError> {
    let id_token = setting(settings, "id-token");
    if id_token.is_empty() {
        return Ok(None);
    }
    Tokens::new(&id_token, setting(settings, "refresh-token")).map(Some)
}

fn authorities(settings: &BTreeMap<String, Secret>) -> Result<Authorities, AuthError> {
    let (file, data) =
        (setting(settings, "idp-certificate-authority"), setting(settings, "idp-certificate-authority-data"));
    if !data.is_empty() {
        let text = STANDARD.decode(data.reveal()).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        let invalid = "auth-provider oidc: invalid idp-certificate-authority-data: not text in base64";
        return text.map(Authorities::Pem).ok_or_else(|| AuthError::new(invalid));
    }
    Ok(if file.is_empty() { Authorities::System } else { Authorities::File(file.reveal().into()) })
}
