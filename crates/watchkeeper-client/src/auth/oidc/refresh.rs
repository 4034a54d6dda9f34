//! Refresh requests to an identity provider.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::uri::Scheme;
use http::{HeaderValue, Request, StatusCode, Uri};
use serde::Deserialize;
use std::sync::Arc;

use super::super::{AuthError, StaticCredentials};
use super::{Client, PROVIDER_TIMEOUT};
use crate::transport::Body;
use crate::{Config, Secret, Transport};

/// Maximum size of a provider's response, in bytes.
const RESPONSE_LIMIT: usize = 1 << 20;

/// The tokens in a response.
#[derive(Debug)]
pub(super) struct NewTokens {
    pub(super) id_token: Secret,
    /// `None` if the old one remains valid.
    pub(super) refresh_token: Option<Secret>,
}

/// Client authentication method (Go's `oauth2.AuthStyle`).
#[derive(Clone, Copy, PartialEq)]
enum AuthStyle {
    Header,
    Form,
}

impl Client {
    /// Discovers the token endpoint and requests new tokens from it.
    pub(super) async fn request_tokens(&self, refresh_token: &Secret) -> Result<NewTokens, AuthError> {
        match tokio::time::timeout(PROVIDER_TIMEOUT, self.discover_and_request(refresh_token)).await {
            Ok(new) => new,
            Err(_) => Err(AuthError::new(format!(
                "{} timed out after {}s",
                self.issuer,
                PROVIDER_TIMEOUT.as_secs()
            ))),
        }
    }

    async fn discover_and_request(&self, refresh_token: &Secret) -> Result<NewTokens, AuthError> {
        let endpoint = self.token_endpoint().await?;
        // As Go's oauth2: try the header first; a provider that wants the form rejects it without side effects.
        let styles: &[AuthStyle] =
            if self.secret.is_empty() { &[AuthStyle::Form] } else { &[AuthStyle::Header, AuthStyle::Form] };
        let mut rejection = None;
        for style in styles {
            let (status, body) = self.send(&endpoint, self.grant(refresh_token, *style)).await?;
            if status.is_success() {
                return read(&body);
            }
            rejection.get_or_insert(rejection_for(status, &body));
        }
        Err(rejection.unwrap_or_else(|| AuthError::new("no request was sent")))
    }

    /// Reads the token endpoint from the discovery document.
    async fn token_endpoint(&self) -> Result<Uri, AuthError> {
        let address = format!("{}/.well-known/openid-configuration", self.issuer.trim_end_matches('/'));
        let address = self.parse_url("idp-issuer-url", &address)?;
        let request = Request::get("/").header(ACCEPT, "application/json");
        let request =
            request.body(Body::empty()).map_err(|error| AuthError::with_source("invalid URL", error))?;
        let (status, body) = self.send(&address, request).await?;
        if status != StatusCode::OK {
            return Err(AuthError::new(format!("{address} responded with {status}")));
        }
        #[derive(Deserialize)]
        struct Discovery {
            token_endpoint: String,
        }
        let discovery: Discovery = serde_json::from_slice(&body)
            .map_err(|_| AuthError::new(format!("{address}: discovery document has no token_endpoint")))?;
        self.parse_url("token_endpoint", &discovery.token_endpoint)
    }

    fn parse_url(&self, name: &str, text: &str) -> Result<Uri, AuthError> {
        let uri = text.parse::<Uri>().ok().filter(|uri| uri.authority().is_some());
        let uri = uri.ok_or_else(|| AuthError::new(format!("invalid {name} {text:?}: not a URL")))?;
        match uri.scheme() {
            Some(scheme) if *scheme == Scheme::HTTPS => Ok(uri),
            Some(scheme) if *scheme == Scheme::HTTP && self.may_be_plain => Ok(uri),
            _ => Err(AuthError::new(format!("invalid {name} {text:?}: must begin with https://"))),
        }
    }

    fn grant(&self, refresh_token: &Secret, style: AuthStyle) -> Request<Body> {
        let mut form =
            format!("grant_type=refresh_token&refresh_token={}", form_escape(refresh_token.reveal()));
        let mut authorization = None;
        match style {
            AuthStyle::Header => {
                let pair = format!("{}:{}", form_escape(&self.id), form_escape(self.secret.reveal()));
                authorization = HeaderValue::from_str(&format!("Basic {}", STANDARD.encode(pair))).ok();
            }
            AuthStyle::Form => {
                form.push_str(&format!("&client_id={}", form_escape(&self.id)));
                if !self.secret.is_empty() {
                    form.push_str(&format!("&client_secret={}", form_escape(self.secret.reveal())));
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

    /// Sends over a new connection, since refreshes are about an hour apart. Redirects are not followed.
    async fn send(&self, to: &Uri, mut request: Request<Body>) -> Result<(StatusCode, Bytes), AuthError> {
        let failed = |error: crate::transport::TransportError| {
            AuthError::with_source(format!("request to {to} failed"), error)
        };
        let mut parts = to.clone().into_parts();
        let path = parts.path_and_query.replace(http::uri::PathAndQuery::from_static("/"));
        let origin = Uri::from_parts(parts).map_err(|error| AuthError::with_source("invalid URL", error))?;
        *request.uri_mut() = path.map(Uri::from).unwrap_or_default();
        let mut config = Config::new(origin);
        config.authorities = self.authorities.clone();
        config.proxy = self.proxy.clone();
        let transport = Transport::new(&config, Arc::new(StaticCredentials::none()))
            .map_err(|error| AuthError::with_source(format!("invalid transport for {to}"), error))?;
        let response = transport.send(request).await.map_err(failed)?;
        let status = response.status();
        let (mut body, mut read) = (response.into_body(), Vec::new());
        while let Some(chunk) = body
            .chunk()
            .await
            .map_err(|error| AuthError::with_source(format!("failed to read the response of {to}"), error))?
        {
            read.extend_from_slice(&chunk);
            if read.len() > RESPONSE_LIMIT {
                return Err(AuthError::new(format!("response of {to} exceeds {RESPONSE_LIMIT} bytes")));
            }
        }
        Ok((status, read.into()))
    }
}

fn read(body: &[u8]) -> Result<NewTokens, AuthError> {
    #[derive(Deserialize)]
    struct Response {
        id_token: Option<Secret>,
        refresh_token: Option<Secret>,
    }
    // serde's error may quote the response, so it is dropped.
    let response: Response = serde_json::from_slice(body)
        .map_err(|_| AuthError::new("invalid token response from the provider"))?;
    let id_token = response.id_token.filter(|token| !token.is_empty()).ok_or_else(|| {
        AuthError::new(
            "token response has no id_token: the login lacked the openid scope, or the provider returns none on refresh",
        )
    })?;
    Ok(NewTokens { id_token, refresh_token: response.refresh_token })
}

/// Builds the error for a rejected refresh. Only an error code in the form of RFC 6749 is shown; other text may be secret.
fn rejection_for(status: StatusCode, body: &[u8]) -> AuthError {
    #[derive(Deserialize)]
    struct Response {
        error: String,
    }
    let code = serde_json::from_slice::<Response>(body).ok().map(|response| response.error);
    let is_code =
        |code: &String| code.len() < 64 && code.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    match code.filter(is_code) {
        Some(code) => AuthError::new(format!("provider rejected the refresh-token: {status}: {code}")),
        None => AuthError::new(format!("provider rejected the refresh-token: {status}")),
    }
}

/// Percent-encodes for `application/x-www-form-urlencoded`.
fn form_escape(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._*".contains(&byte);
    let escape = |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    text.bytes().map(escape).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn provider_errors_are_shown_only_as_rfc_6749_codes() {
        let rejection = |body: &str| rejection_for(StatusCode::BAD_REQUEST, body.as_bytes()).message;
        let plainly = "provider rejected the refresh-token: 400 Bad Request";
        assert_eq!(rejection(r#"{"error":"invalid_grant"}"#), format!("{plainly}: invalid_grant"));
        assert_eq!(rejection(r#"{"error":"Bad token hunter2"}"#), plainly);
        assert_eq!(rejection("<html>"), plainly);
        for body in [r#"{"id_token": ["hunter2"]}"#, r#"{"access_token": "hunter2"}"#, "hunter2"] {
            assert!(!format!("{:?}", read(body.as_bytes()).unwrap_err()).contains("hunter2"));
        }
    }

    #[test]
    fn form_values_are_percent_encoded() {
        assert_eq!(form_escape("a-b_c.~ :+&é"), "a-b_c.%7E%20%3A%2B%26%C3%A9");
    }
}
