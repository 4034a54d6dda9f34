//! Responses, and the Status of failed requests.

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, StatusCode};
use serde::de::DeserializeOwned;
use watchkeeper_core::{Encoding, GroupVersion, Status, UnexpectedResponse};
use watchkeeper_wire::protobuf::Envelope;
use watchkeeper_wire::{Kind, decode_bytes, json};

use super::RequestError;
use super::content::encoding_of;
use super::request::Request;
use super::retry::retry_after;

/// A successful response.
#[derive(Debug, Clone)]
pub struct Response {
    /// The status code, usually 200 or 201.
    pub code: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body, decompressed.
    pub body: Bytes,
    request: String,
}

impl Response {
    /// Returns whether an object was created.
    pub fn was_created(&self) -> bool {
        self.code == StatusCode::CREATED
    }

    /// Decodes the object, from JSON or protobuf.
    ///
    /// # Errors
    /// If the body is empty, of another type, or has too many values (`rest.R6`). A failure Status is returned as
    /// that failure.
    pub fn into<T: DeserializeOwned>(self) -> Result<T, RequestError> {
        if self.body.is_empty() {
            return Err(self.undecodable("empty body"));
        }
        if let Some(status) = self.failure_status() {
            return Err(self.api_error(status));
        }
        let read = match self.encoding() {
            Some(Encoding::Json) => json::check_values(&self.body)
                .map_err(|error| error.to_string())
                .and_then(|()| serde_json::from_slice(&self.body).map_err(|error| error.to_string())),
            Some(Encoding::Protobuf) => open_envelope(&self.body).and_then(|(message, kind)| {
                decode_bytes(Encoding::Protobuf, message, &kind).map_err(|error| error.to_string())
            }),
            None => Err(format!("unsupported media type {:?}", self.headers.get(CONTENT_TYPE))),
        };
        read.map_err(|why| self.undecodable(why))
    }

    /// Returns the encoding of the body; `None` if it is not an object.
    pub fn encoding(&self) -> Option<Encoding> {
        encoding_of(self.headers.get(CONTENT_TYPE))
    }

    /// Returns the `apiVersion` and `kind` of the object, if present.
    pub fn object_type(&self) -> Option<(String, String)> {
        match self.encoding()? {
            Encoding::Json => json::read_type(&self.body).ok(),
            Encoding::Protobuf => {
                let envelope = Envelope::open(&self.body).ok()?;
                Some((envelope.api_version.to_owned(), envelope.kind.to_owned()))
            }
        }
    }

    /// Returns the body as a Status, if it is one that reports failure.
    pub(crate) fn failure_status(&self) -> Option<Status> {
        // Most bodies are long and not a Status: only one that starts like a Status is parsed.
        let beginning = &self.body[..self.body.len().min(64)];
        let may_be_status = beginning.windows(6).any(|text| text == b"Status");
        may_be_status.then(|| failure(&self.headers, &self.body))?
    }

    pub(crate) fn api_error(&self, status: Status) -> RequestError {
        RequestError::Api { request: self.request.clone(), status: Box::new(status) }
    }

    pub(crate) fn undecodable(&self, why: impl Into<String>) -> RequestError {
        RequestError::Decode { request: self.request.clone(), why: why.into() }
    }

    pub(crate) fn new(code: StatusCode, headers: HeaderMap, body: Bytes, request: String) -> Self {
        Self { code, headers, body, request }
    }
}

/// Splits a protobuf body into its message and kind.
fn open_envelope(body: &[u8]) -> Result<(&[u8], Kind), String> {
    let envelope = Envelope::open(body).map_err(|error| error.to_string())?;
    let version: GroupVersion =
        envelope.api_version.parse().map_err(|_| format!("invalid apiVersion {:?}", envelope.api_version))?;
    let kind = Kind::new(&version.group, &version.version, envelope.kind);
    Ok((envelope.message, kind))
}

/// Returns the body as a Status, if it is one that reports failure.
fn failure(headers: &HeaderMap, body: &[u8]) -> Option<Status> {
    let status: Status = match encoding_of(headers.get(CONTENT_TYPE))? {
        Encoding::Json => {
            #[derive(serde::Deserialize)]
            struct Typed<'a> {
                kind: Option<std::borrow::Cow<'a, str>>,
            }
            let typed: Typed<'_> = serde_json::from_slice(body).ok()?;
            if typed.kind.as_deref() != Some("Status") {
                return None;
            }
            serde_json::from_slice(body).ok()?
        }
        Encoding::Protobuf => {
            let (message, kind) = open_envelope(body).ok()?;
            if kind.kind() != "Status" {
                return None;
            }
            decode_bytes(Encoding::Protobuf, message, &kind).ok()?
        }
    };
    status.is_failure().then_some(status)
}

/// Returns the Status of a failed request: the body's, or one for the status code.
pub(super) fn status_for(request: &Request, code: StatusCode, headers: &HeaderMap, body: &[u8]) -> Status {
    if let Some(status) = failure(headers, body) {
        return status;
    }
    let is_text = match headers.get(CONTENT_TYPE) {
        None => true,
        Some(media_type) => media_type.as_bytes().starts_with(b"text/"),
    };
    let resource = request.group_resource();
    Status::from(UnexpectedResponse {
        code: code.as_u16(),
        method: request.method().as_str(),
        resource: resource.as_ref(),
        name: request.name_or_empty(),
        text: is_text.then_some(body),
        retry_after: retry_after(headers),
    })
}
