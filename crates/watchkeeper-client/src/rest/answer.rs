//! Answer: what the server sent back, and what it is.

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, StatusCode};
use serde::de::DeserializeOwned;
use watchkeeper_core::{Encoding, GroupVersion, Status, UnexpectedAnswer};
use watchkeeper_wire::protobuf::Envelope;
use watchkeeper_wire::{Kind, decode_bytes, json};

use super::RequestError;
use super::content::MediaType;
use super::request::Request;
use super::retry::retry_after;

/// An answer that is no failure.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The code: 200 or 201, mostly.
    pub code: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body as it came, decompressed.
    pub body: Bytes,
    request: String,
}

impl Answer {
    /// Whether the object is new.
    pub fn was_created(&self) -> bool {
        self.code == StatusCode::CREATED
    }

    /// The object, from JSON or from protobuf.
    ///
    /// # Errors
    /// If the body is empty, or is something else, or has too many values (R6). A Status that says failure is that failure.
    pub fn into<T: DeserializeOwned>(self) -> Result<T, RequestError> {
        if self.body.is_empty() {
            return Err(self.undecodable("it is empty"));
        }
        if let Some(status) = self.refusal() {
            return Err(self.refused(status));
        }
        let read = match self.media_type() {
            Some(MediaType::Json) => json::check_values(&self.body)
                .map_err(|error| error.to_string())
                .and_then(|()| serde_json::from_slice(&self.body).map_err(|error| error.to_string())),
            Some(MediaType::Protobuf) => opened(&self.body).and_then(|(message, kind)| {
                decode_bytes(Encoding::Protobuf, message, &kind).map_err(|error| error.to_string())
            }),
            None => Err(format!("its media type is {:?}", self.headers.get(CONTENT_TYPE))),
        };
        read.map_err(|why| self.undecodable(why))
    }

    /// The encoding of the body; `None` if it is no object.
    pub fn media_type(&self) -> Option<MediaType> {
        MediaType::of(self.headers.get(CONTENT_TYPE))
    }

    /// `apiVersion` and `kind` of the object, where it says so.
    pub fn object_type(&self) -> Option<(String, String)> {
        match self.media_type()? {
            MediaType::Json => json::read_type(&self.body).ok(),
            MediaType::Protobuf => {
                let envelope = Envelope::open(&self.body).ok()?;
                Some((envelope.api_version.to_owned(), envelope.kind.to_owned()))
            }
        }
    }

    /// The Status that the body is, if it says failure.
    pub(crate) fn refusal(&self) -> Option<Status> {
        // Most answers are none, and long: only one that begins like a Status is read for one.
        let beginning = &self.body[..self.body.len().min(64)];
        match beginning.windows(6).any(|text| text == b"Status") {
            true => failure(&self.headers, &self.body),
            false => None,
        }
    }

    pub(crate) fn refused(&self, status: Status) -> RequestError {
        RequestError::Refused { request: self.request.clone(), status: Box::new(status) }
    }

    pub(crate) fn undecodable(&self, why: impl Into<String>) -> RequestError {
        RequestError::Decode { request: self.request.clone(), why: why.into() }
    }

    pub(crate) fn new(code: StatusCode, headers: HeaderMap, body: Bytes, request: String) -> Self {
        Self { code, headers, body, request }
    }
}

/// A message without its envelope, and its kind.
fn opened(body: &[u8]) -> Result<(&[u8], Kind), String> {
    let envelope = Envelope::open(body).map_err(|error| error.to_string())?;
    let version: GroupVersion =
        envelope.api_version.parse().map_err(|_| format!("its version is {:?}", envelope.api_version))?;
    let kind = Kind::new(&version.group, &version.version, envelope.kind);
    Ok((envelope.message, kind))
}

/// The status in a body, if it is one that says failure.
fn failure(headers: &HeaderMap, body: &[u8]) -> Option<Status> {
    let status: Status = match MediaType::of(headers.get(CONTENT_TYPE))? {
        MediaType::Json => {
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
        MediaType::Protobuf => {
            let (message, kind) = opened(body).ok()?;
            if kind.kind() != "Status" {
                return None;
            }
            decode_bytes(Encoding::Protobuf, message, &kind).ok()?
        }
    };
    status.is_failure().then_some(status)
}

/// What a refusal says, or what its code means where it says nothing.
pub(super) fn refusal(request: &Request, code: StatusCode, headers: &HeaderMap, body: &[u8]) -> Status {
    if let Some(status) = failure(headers, body) {
        return status;
    }
    let is_text = match headers.get(CONTENT_TYPE) {
        None => true,
        Some(media_type) => media_type.as_bytes().starts_with(b"text/"),
    };
    let resource = request.group_resource();
    Status::from(UnexpectedAnswer {
        code: code.as_u16(),
        method: request.method().as_str(),
        resource: resource.as_ref(),
        name: request.name_or_empty(),
        text: is_text.then_some(body),
        retry_after: retry_after(headers),
    })
}
