//! Response envelope of the HTTP API.
//!
//! `{"code":20000,"message":"success","data":...}`, or `{"code":40000,"message":...}` with an HTTP status for the
//! kind of failure.

use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, StatusCode};
use serde::Serialize;
use watchkeeper_client::rest::RequestError;
use watchkeeper_core::ErrorChain;

use crate::access::AccessError;
use crate::catalog::CatalogError;

const SUCCESS: u32 = 20000;
const FAILURE: u32 = 40000;
/// Start of a success response, up to its data.
pub(crate) const SUCCESS_PREFIX: &[u8] = br#"{"code":20000,"message":"success","data":"#;

#[derive(Serialize)]
struct Envelope<'a, T> {
    code: u32,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<T>,
}

/// Creates a success response with data.
pub(crate) fn success(data: impl Serialize) -> Response {
    match serde_json::to_vec(&Envelope { code: SUCCESS, message: "success", data: Some(data) }) {
        Ok(body) => json(StatusCode::OK, body.into()),
        Err(error) => Failure::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

/// Creates a response from a JSON body.
pub(crate) fn json(status: StatusCode, body: Bytes) -> Response {
    (status, [(CONTENT_TYPE, HeaderValue::from_static("application/json"))], body).into_response()
}

/// An error response.
#[derive(Debug)]
pub(crate) struct Failure {
    status: StatusCode,
    message: String,
    retry_after: Option<u32>,
}

impl Failure {
    pub(crate) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), retry_after: None }
    }

    /// Sets the `Retry-After` header.
    pub(crate) fn retry_after(mut self, seconds: u32) -> Self {
        self.retry_after = Some(seconds);
        self
    }

    pub(crate) fn status(&self) -> StatusCode {
        self.status
    }

    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// Creates a response for an invalid request.
    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    /// Creates a response for something that does not exist.
    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, message)
    }

    /// Creates a response for an internal error.
    #[allow(clippy::needless_pass_by_value, reason = "signature for `map_err`")]
    pub(crate) fn internal(why: impl ToString) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, why.to_string())
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let envelope = Envelope::<()> { code: FAILURE, message: &self.message, data: None };
        let body = serde_json::to_vec(&envelope).unwrap_or_default();
        let mut response = json(self.status, body.into());
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(RETRY_AFTER, seconds.into());
        }
        response
    }
}

/// Maps an error of the API server to a status of this service.
impl From<RequestError> for Failure {
    fn from(error: RequestError) -> Self {
        let status = match &error {
            RequestError::Api { status, .. } | RequestError::RetryAfter { status, .. } => {
                u16::try_from(status.code).ok().and_then(|code| StatusCode::from_u16(code).ok())
            }
            RequestError::TimedOut { .. } => Some(StatusCode::GATEWAY_TIMEOUT),
            _ => None,
        };
        // 401 is about this service's credentials, not the caller's.
        let status = status.filter(|status| status.is_client_error() && *status != StatusCode::UNAUTHORIZED);
        Self::new(status.unwrap_or(StatusCode::BAD_GATEWAY), ErrorChain(&error).to_string())
    }
}

impl From<CatalogError> for Failure {
    fn from(error: CatalogError) -> Self {
        let (status, retry_after) = match &error {
            CatalogError::Unknown { .. } | CatalogError::Unlistable { .. } => (StatusCode::NOT_FOUND, None),
            CatalogError::Withheld { .. } => (StatusCode::FORBIDDEN, None),
            CatalogError::NotReady { .. } => (StatusCode::SERVICE_UNAVAILABLE, Some(1)),
            CatalogError::Full => (StatusCode::SERVICE_UNAVAILABLE, Some(60)),
            CatalogError::Discovery(_) => (StatusCode::BAD_GATEWAY, Some(5)),
        };
        Self { status, message: error.to_string(), retry_after }
    }
}

impl From<AccessError> for Failure {
    fn from(refused: AccessError) -> Self {
        let (status, retry_after) = match &refused {
            AccessError::Unauthenticated(_) => (StatusCode::UNAUTHORIZED, None),
            AccessError::Forbidden(_) => (StatusCode::FORBIDDEN, None),
            AccessError::ReviewFailed(_) => (StatusCode::SERVICE_UNAVAILABLE, Some(5)),
        };
        Self { status, message: refused.to_string(), retry_after }
    }
}
