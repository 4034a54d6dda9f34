//! Authenticator: authenticates requests before they are routed.

use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use bytes::Bytes;
use http::header::{CONTENT_TYPE, SET_COOKIE, WWW_AUTHENTICATE};
use http::request::Parts;
use http::{HeaderValue, StatusCode};
use serde::{Deserialize, Serialize};
use watchkeeper_client::Secret;

use super::token::{set_cookie, token};
use super::{Access, AccessError, Identity, User};
use crate::envelope::{Failure, success};

/// Paths that need no token: the page, which contains no cluster data, login, and health checks.
const OPEN: [&str; 7] = ["/", "/favicon.ico", "/healthz", "/livez", "/readyz", "/v1/login", "/v1/logout"];
/// Prefixes of further paths that need no token.
const OPEN_BELOW: [&str; 4] = ["/assets/", "/healthz/", "/livez/", "/readyz/"];

/// The check that admits only authenticated requests.
#[derive(Debug, Clone)]
pub(crate) struct Authenticator {
    access: Access,
    /// Whether a token is required; if not, every request is [`Identity::Local`].
    tokens: bool,
}

impl Authenticator {
    pub(crate) fn new(access: Access, tokens: bool) -> Self {
        Self { access, tokens }
    }

    /// Authenticates a request, and stores the identity in its extensions.
    pub(crate) async fn admit(&self, head: &mut Parts) -> Result<(), AccessError> {
        let path = head.uri.path();
        let identity = if !self.tokens {
            Identity::Local
        } else if is_open(path) {
            return Ok(());
        } else if let Some(token) = token(&head.headers) {
            Identity::User(self.access.authenticate(&token).await?)
        } else {
            let message = "a token is required: set Authorization: Bearer ..., or POST /v1/login";
            return Err(AccessError::Unauthenticated(message.to_owned()));
        };
        if path == "/metrics" {
            self.access.authorize_path(&identity, path).await?;
        }
        head.extensions.insert(identity);
        Ok(())
    }

    /// Returns the routes `POST /v1/login`, `POST /v1/logout` and `GET /v1/user`.
    pub(crate) fn router(&self) -> Router {
        let router = Router::new().route("/v1/login", post(log_in)).route("/v1/logout", post(log_out));
        router.route("/v1/user", get(user)).with_state(self.clone())
    }
}

fn is_open(path: &str) -> bool {
    OPEN.contains(&path) || OPEN_BELOW.iter().any(|prefix| path.starts_with(prefix))
}

#[derive(Deserialize)]
struct Login {
    token: Secret,
}

#[derive(Serialize)]
struct LoggedIn {
    /// `None` on a server that requires no token.
    user: Option<String>,
    groups: Vec<String>,
}

impl From<&User> for LoggedIn {
    fn from(user: &User) -> Self {
        Self { user: Some(user.name.clone()), groups: user.groups.clone() }
    }
}

async fn log_in(State(authenticator): State<Authenticator>, body: Bytes) -> Response {
    let Ok(Login { token }) = serde_json::from_slice(&body) else {
        return Failure::new(StatusCode::BAD_REQUEST, r#"expected a JSON body {"token":"..."}"#)
            .into_response();
    };
    let token = Secret::from(token.reveal().trim());
    let Some(cookie) = set_cookie(Some(&token)).and_then(|cookie| HeaderValue::try_from(cookie).ok()) else {
        return Failure::new(StatusCode::BAD_REQUEST, "invalid token").into_response();
    };
    match authenticator.access.authenticate(&token).await {
        Ok(user) => {
            let mut response = success(LoggedIn::from(&*user));
            response.headers_mut().insert(SET_COOKIE, sensitive(cookie));
            response
        }
        Err(refused) => refused.into_response(),
    }
}

async fn user(identity: Identity) -> Response {
    success(match identity {
        Identity::Local => LoggedIn { user: None, groups: Vec::new() },
        Identity::User(user) => LoggedIn::from(&*user),
    })
}

async fn log_out() -> Response {
    let mut response = success(());
    if let Some(Ok(cookie)) = set_cookie(None).map(HeaderValue::try_from) {
        response.headers_mut().insert(SET_COOKIE, cookie);
    }
    response
}

fn sensitive(mut value: HeaderValue) -> HeaderValue {
    value.set_sensitive(true);
    value
}

impl IntoResponse for AccessError {
    fn into_response(self) -> Response {
        let unknown = matches!(self, Self::Unauthenticated(_));
        with_challenge(Failure::from(self).into_response(), unknown)
    }
}

impl AccessError {
    /// Converts the error to a `Status`, for clients of the API server.
    pub(crate) fn into_status(self) -> Response {
        let unknown = matches!(self, Self::Unauthenticated(_));
        let status = match &self {
            Self::Unauthenticated(message) => watchkeeper_core::Status {
                message: message.clone(),
                ..watchkeeper_core::Status::unauthorized("")
            },
            Self::Forbidden(message) => watchkeeper_core::Status {
                message: message.clone(),
                ..watchkeeper_core::Status::forbidden(None, "", "")
            },
            Self::ReviewFailed(_) => watchkeeper_core::Status::service_unavailable(self.to_string()),
        };
        with_challenge(status_response(&status), unknown)
    }
}

/// Creates a response from a status.
pub(crate) fn status_response(status: &watchkeeper_core::Status) -> Response {
    let code = u16::try_from(status.code).ok().and_then(|code| StatusCode::from_u16(code).ok());
    let body = Bytes::from(serde_json::to_vec(status).unwrap_or_default());
    let json = [(CONTENT_TYPE, HeaderValue::from_static("application/json"))];
    (code.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR), json, body).into_response()
}

fn with_challenge(mut response: Response, unknown: bool) -> Response {
    if unknown {
        response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}
