//! Refresh: asking an identity provider for new tokens.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::uri::Scheme;
use http::{HeaderValue, Request, StatusCode, Uri};
use serde::Deserialize;
use std::sync::Arc;

use super::super::{AuthError, Fixed};
use super::{Client, PROVIDER_TIMEOUT};
use crate::transport::Body;
use crate::{Config, Secret, Transport};

/// How much a provider may answer.
const ANSWER_LIMIT: usize = 1 << 20;

/// New tokens.
#[derive(Debug)]
pub(super) struct New {
    pub(super) id_token: Secret,
    /// `None` where the old one is still good.
    pub(super) refresh_token: Option<Secret>,
}

/// How a client says to its provider who it is.
#[derive(Clone, Copy, PartialEq)]
enum Style {
    Header,
    Form,
}

impl Client {
    /// Asks where tokens are given, and then for tokens.
    pub(super) async fn ask(&self, refresh_token: &Secret) -> Result<New, AuthError> {
        match tokio::time::timeout(PROVIDER_TIMEOUT, self.ask_in_turn(refresh_token)).await {
            Ok(new) => new,
            Err(_) => Err(AuthError::new(format!(
                "{} has not answered within {} s",
                self.issuer,
                PROVIDER_TIMEOUT.as_secs()
            ))),
        }
    }

    async fn ask_in_turn(&self, refresh_token: &Secret) -> Result<New, AuthError> {
        let endpoint = self.token_endpoint().await?;
        // As Go does it: most providers want a header; one that does not says so, and nothing is lost.
        let styles: &[Style] =
            if self.secret.is_empty() { &[Style::Form] } else { &[Style::Header, Style::Form] };
        let mut refusal = None;
        for style in styles {
            let (status, body) = self.send(&endpoint, self.grant(refresh_token, *style)).await?;
            if status.is_success() {
                return read(&body);
            }
            refusal.get_or_insert(refused(status, &body));
        }
        Err(refusal.unwrap_or_else(|| AuthError::new("nothing was asked")))
    }

    /// Where the discovery document says that tokens are given.
    async fn token_endpoint(&self) -> Result<Uri, AuthError> {
        let address = format!("{}/.well-known/openid-configuration", self.issuer.trim_end_matches('/'));
        let address = self.address("idp-issuer-url", &address)?;
        let request = Request::get("/").header(ACCEPT, "application/json");
        let request = request.body(Body::empty()).map_err(|error| AuthError::because("it is none", error))?;
        let (status, body) = self.send(&address, request).await?;
        if status != StatusCode::OK {
            return Err(AuthError::new(format!("{address} has answered {status}")));
        }
        #[derive(Deserialize)]
        struct Discovery {
            token_endpoint: String,
        }
        let discovery: Discovery = serde_json::from_slice(&body)
            .map_err(|_| AuthError::new(format!("{address} has answered without a token_endpoint")))?;
        self.address("token_endpoint", &discovery.token_endpoint)
    }

    fn address(&self, what: &str, text: &str) -> Result<Uri, AuthError> {
        let uri = text.parse::<Uri>().ok().filter(|uri| uri.authority().is_some());
        let uri = uri.ok_or_else(|| AuthError::new(format!("{what} {text:?} is no URL")))?;
        match uri.scheme() {
            Some(scheme) if *scheme == Scheme::HTTPS => Ok(uri),
            Some(scheme) if *scheme == Scheme::HTTP && self.may_be_plain => Ok(uri),
            _ => Err(AuthError::new(format!("{what} {text:?} does not begin with https://"))),
        }
    }

    fn grant(&self, refresh_token: &Secret, style: Style) -> Request<Body> {
        let mut form = format!("grant_type=refresh_token&refresh_token={}", escaped(refresh_token.reveal()));
        let mut authorization = None;
        match style {
            Style::Header => {
                let pair = format!("{}:{}", escaped(&self.id), escaped(self.secret.reveal()));
                authorization = HeaderValue::from_str(&format!("Basic {}", STANDARD.encode(pair))).ok();
            }
            Style::Form => {
                form.push_str(&format!("&client_id={}", escaped(&self.id)));
                if !self.secret.is_empty() {
                    form.push_str(&format!("&client_secret={}", escaped(self.secret.reveal())));
                }
            }
        }
        let mut request = Request::new(Body::from(form));
        *request.method_mut() = http::Method::POST;
        let headers = request.headers_mut();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
        if let Some(mut value) = authorization {
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        request
    }

    /// Over a connection of its own: a provider is asked about once an hour. Redirections are not followed.
    async fn send(&self, to: &Uri, mut request: Request<Body>) -> Result<(StatusCode, Bytes), AuthError> {
        let lost =
            |error: crate::transport::TransportError| AuthError::because(format!("{to}: {error}"), error);
        let mut parts = to.clone().into_parts();
        let path = parts.path_and_query.replace(http::uri::PathAndQuery::from_static("/"));
        let origin = Uri::from_parts(parts).map_err(|error| AuthError::because("it is none", error))?;
        *request.uri_mut() = path.map(Uri::from).unwrap_or_default();
        let mut config = Config::new(origin);
        config.authorities = self.authorities.clone();
        config.proxy = self.proxy.clone();
        let transport = Transport::new(&config, Arc::new(Fixed::none()))
            .map_err(|error| AuthError::because(format!("{to} cannot be asked"), error))?;
        let answer = transport.send(request).await.map_err(lost)?;
        let status = answer.status();
        let (mut body, mut read) = (answer.into_body(), Vec::new());
        while let Some(chunk) =
            body.chunk().await.map_err(|error| AuthError::because(format!("{to} has broken off"), error))?
        {
            read.extend_from_slice(&chunk);
            if read.len() > ANSWER_LIMIT {
                return Err(AuthError::new(format!("{to} has answered more than {ANSWER_LIMIT} bytes")));
            }
        }
        Ok((status, read.into()))
    }
}

fn read(body: &[u8]) -> Result<New, AuthError> {
    #[derive(Deserialize)]
    struct Answer {
        id_token: Option<Secret>,
        refresh_token: Option<Secret>,
    }
    // What serde says of an answer may quote it.
    let answer: Answer = serde_json::from_slice(body)
        .map_err(|_| AuthError::new("the provider's answer is not one of the form that is due"))?;
    let id_token = answer.id_token.filter(|token| !token.is_empty()).ok_or_else(|| {
        AuthError::new(
            "the provider has given no id_token: the login was without the scope openid, or it gives none on refresh",
        )
    })?;
    Ok(New { id_token, refresh_token: answer.refresh_token })
}

/// The code of an error is a word of the standard's (RFC 6749); anything else is not shown.
fn refused(status: StatusCode, body: &[u8]) -> AuthError {
    #[derive(Deserialize)]
    struct Answer {
        error: String,
    }
    let code = serde_json::from_slice::<Answer>(body).ok().map(|answer| answer.error);
    let is_word =
        |code: &String| code.len() < 64 && code.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    match code.filter(is_word) {
        Some(code) => AuthError::new(format!("the provider refuses the refresh-token: {status}: {code}")),
        None => AuthError::new(format!("the provider refuses the refresh-token: {status}")),
    }
}

/// As in a form.
fn escaped(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._*".contains(&byte);
    let escape = |byte: u8| match plain(byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    };
    text.bytes().map(escape).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_provider_says_is_shown_only_where_it_is_no_secret() {
        let refusal = |body: &str| refused(StatusCode::BAD_REQUEST, body.as_bytes()).what;
        let plainly = "the provider refuses the refresh-token: 400 Bad Request";
        assert_eq!(refusal(r#"{"error":"invalid_grant"}"#), format!("{plainly}: invalid_grant"));
        assert_eq!(refusal(r#"{"error":"Bad token hunter2"}"#), plainly);
        assert_eq!(refusal("<html>"), plainly);
        for body in [r#"{"id_token": ["hunter2"]}"#, r#"{"access_token": "hunter2"}"#, "hunter2"] {
            assert!(!format!("{:?}", read(body.as_bytes()).unwrap_err()).contains("hunter2"));
        }
    }

    #[test]
    fn forms_are_escaped() {
        assert_eq!(escaped("a-b_c.~ :+&é"), "a-b_c.%7E%20%3A%2B%26%C3%A9");
    }
}
