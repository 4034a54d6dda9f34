//! OIDC: an identity token, and a new one when it has run out.
//!
//! From: the settings of an `auth-provider` named `oidc`: `idp-issuer-url`, `client-id`, `client-secret`,
//!       `idp-certificate-authority`, `idp-certificate-authority-data`, `id-token`, `refresh-token`.
//! To:   the `Authorization` header; and the kubeconfig, where the next program finds the new tokens.
//!
//! - O1: a token is used until ten seconds before it expires. What else it says is the server's to judge.
//! - O2: new tokens are in the kubeconfig before they are used: a provider may take back the old ones. So
//!   none are asked for that could not be kept, and a refresh that has begun goes on even if nobody waits
//!   for it any more.
//! - O3: if another program has renewed the tokens in the kubeconfig meanwhile, those are used.
//! - O4: secrets go to the provider over TLS only, unless the config allows otherwise.
//!
//! A refusal by the API server is no reason to ask for another token, as in client-go.

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

use super::instances::Instances;
use super::kept::Kept;
use super::{AuthError, Awaited, Credentials, Given, bearer};
use crate::config::{Authorities, Oidc, Proxy};
use crate::{Config, Secret};

/// How long before its end a token is no longer used (O1).
pub const EXPIRY_LEEWAY: Duration = Duration::from_secs(10);

/// How long an identity provider may take to answer.
pub const PROVIDER_TIMEOUT: Duration = Duration::from_secs(30);

static PROVIDERS: Instances<Provider> = Instances::new();

/// The tokens of one user at one provider, for one server.
#[derive(Debug)]
pub(super) struct Provider {
    server: String,
    client: Arc<Client>,
    kept: Kept<Tokens>,
}

/// A client of an identity provider.
#[derive(Debug)]
struct Client {
    issuer: String,
    id: String,
    secret: Secret,
    authorities: Authorities,
    proxy: Proxy,
    /// O4.
    may_be_plain: bool,
    /// The tokens of the config.
    first: Option<Tokens>,
    refresh_token: Secret,
    /// O2: the file, and the user in it.
    kept_in: Option<(PathBuf, String)>,
    /// Those that came of the last refresh. It is locked while there is another.
    newest: tokio::sync::Mutex<Option<Tokens>>,
}

#[derive(Debug, Clone, PartialEq)]
struct Tokens {
    header: HeaderValue,
    refresh_token: Secret,
    /// In seconds since 1970.
    expires: i64,
}

impl Tokens {
    fn new(id_token: &Secret, refresh_token: Secret) -> Result<Self, AuthError> {
        let expires =
            jwt::expiry(id_token.reveal()).ok_or_else(|| AuthError::new("the id-token is no JWT"))?;
        Ok(Self { header: bearer(id_token)?, refresh_token, expires })
    }

    fn hold(&self) -> bool {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let soon = (now + EXPIRY_LEEWAY).as_secs();
        i64::try_from(soon).is_ok_and(|soon| soon < self.expires)
    }
}

impl Provider {
    /// The one of this process for this server, issuer, client and user. (client-go does not look at the
    /// user: two of them are one there.)
    pub(super) fn shared(oidc: &Oidc, config: &Config) -> Result<Arc<Self>, AuthError> {
        let server = config.server.to_string();
        let said = |name: &str| said(&oidc.settings, name);
        let (issuer, id) = (said("idp-issuer-url"), said("client-id"));
        for (name, value) in [("idp-issuer-url", &issuer), ("client-id", &id)] {
            if value.is_empty() {
                return Err(AuthError::new(format!("auth-provider oidc: {name} is not given")));
            }
        }
        let (issuer, id) = (issuer.reveal().to_owned(), id.reveal().to_owned());
        let (first, refresh_token) = (tokens(&oidc.settings)?, said("refresh-token"));
        let is_meant = |provider: &Self| {
            let client = &provider.client;
            let is_same_user = match &oidc.kept_in {
                Some(_) => client.kept_in == oidc.kept_in,
                None => {
                    client.kept_in.is_none() && client.first == first && client.refresh_token == refresh_token
                }
            };
            provider.server == server && client.issuer == issuer && client.id == id && is_same_user
        };
        PROVIDERS.get(is_meant, || {
            let client = Client {
                issuer: issuer.clone(),
                id: id.clone(),
                secret: said("client-secret"),
                authorities: authorities(&oidc.settings)?,
                proxy: match config.proxy {
                    Proxy::Direct => Proxy::Direct,
                    _ => Proxy::Environment, // a proxy of the cluster leads to the cluster
                },
                may_be_plain: config.plain_credentials,
                first: first.clone(),
                refresh_token: refresh_token.clone(),
                kept_in: oidc.kept_in.clone(),
                newest: tokio::sync::Mutex::default(),
            };
            Ok(Self { server: server.clone(), client: Arc::new(client), kept: Kept::default() })
        })
    }
}

impl Credentials for Provider {
    fn authorization(&self) -> Awaited<'_, Given> {
        Box::pin(async move {
            let client = self.client.clone();
            let (tokens, generation) = self.kept.get(Tokens::hold, |old| client.renew(old.is_none())).await?;
            Ok(Given { header: Some(tokens.header), generation })
        })
    }
}

impl Client {
    async fn renew(self: Arc<Self>, is_first: bool) -> Result<Tokens, AuthError> {
        if let Some(first) = self.first.clone().filter(|tokens| is_first && tokens.hold()) {
            return Ok(first);
        }
        // O2: once it has begun, it is not dropped half-way.
        let renewing = tokio::spawn(async move {
            let mut newest = self.newest.lock().await;
            if newest.as_ref().is_none_or(|tokens| !tokens.hold()) {
                let last = newest.as_ref().map_or(&self.refresh_token, |tokens| &tokens.refresh_token);
                *newest = Some(self.find_or_refresh(last).await?);
            }
            newest.clone().ok_or_else(|| AuthError::new("there are no tokens"))
        });
        let renewed = renewing.await.unwrap_or_else(|error| Err(AuthError::because("it is gone", error)));
        renewed.map_err(|error| AuthError { what: format!("auth-provider oidc: {}", error.what), ..error })
    }

    /// `last` is the refresh token where the kubeconfig has none.
    async fn find_or_refresh(&self, last: &Secret) -> Result<Tokens, AuthError> {
        let Some((file, user)) = self.kept_in.clone() else { return self.refresh(last).await };
        let settings = blocking(move || keep::read(&file, &user)).await?;
        match tokens(&settings).ok().flatten().filter(Tokens::hold) {
            Some(kept) => Ok(kept), // O3
            None => match said(&settings, "refresh-token") {
                newer if newer.is_empty() => self.refresh(last).await,
                newer => self.refresh(&newer).await,
            },
        }
    }

    async fn refresh(&self, refresh_token: &Secret) -> Result<Tokens, AuthError> {
        if refresh_token.is_empty() {
            return Err(AuthError::new(
                "the id-token has expired and there is no refresh-token: log in again",
            ));
        }
        let new = self.ask(refresh_token).await?;
        let next = new.refresh_token.filter(|it| !it.is_empty()).unwrap_or_else(|| refresh_token.clone());
        let tokens = Tokens::new(&new.id_token, next.clone())?;
        if let Some((file, user)) = self.kept_in.clone() {
            let settings = [("id-token", new.id_token), ("refresh-token", next)];
            blocking(move || keep::write(&file, &user, &settings)).await?;
        }
        Ok(tokens)
    }
}

/// Does what blocks where it may (A1).
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, AuthError> {
    let done = tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| Err(error.to_string()));
    done.map_err(|why| AuthError::new(format!("new tokens cannot be kept: {why}")))
}

fn said(settings: &BTreeMap<String, Secret>, name: &str) -> Secret {
    settings.get(name).cloned().unwrap_or_default()
}

/// Those that are there; one without an id-token has none yet.
fn tokens(settings: &BTreeMap<String, Secret>) -> Result<Option<Tokens>, AuthError> {
    let id_token = said(settings, "id-token");
    match id_token.is_empty() {
        true => Ok(None),
        false => Tokens::new(&id_token, said(settings, "refresh-token")).map(Some),
    }
}

fn authorities(settings: &BTreeMap<String, Secret>) -> Result<Authorities, AuthError> {
    let (file, data) =
        (said(settings, "idp-certificate-authority"), said(settings, "idp-certificate-authority-data"));
    if !data.is_empty() {
        let text = STANDARD.decode(data.reveal()).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        let unfit = "auth-provider oidc: idp-certificate-authority-data is not a text in base64";
        return text.map(Authorities::Pem).ok_or_else(|| AuthError::new(unfit));
    }
    Ok(match file.is_empty() {
        true => Authorities::System,
        false => Authorities::File(file.reveal().into()),
    })
}
