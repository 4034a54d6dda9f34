//! Sends requests, with retries.

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, IF_NONE_MATCH};
use http::{HeaderMap, HeaderValue, StatusCode};
use http_body::Body as _;
use tracing::Instrument as _;
use watchkeeper_core::{Encoding, Status};

use super::call::Call;
use super::content::encode;
use super::request::{Payload, Request};
use super::response::{Response, status_for};
use super::retry::{Attempt, MAX_RETRY_AFTER, Use, retry_after, retry_delay};
use super::{InvalidRequest, RequestError, observe, warning};
use crate::transport::{Body, BodyBuffer, TransportError, Upgrade, Upgraded};

/// Maximum number of bytes read from an error response; a Status is never longer.
const MAX_STATUS_BYTES: usize = 1 << 20;

/// A consumer of the body of a response as it arrives.
pub(crate) trait Receive {
    /// The result.
    type Output;

    /// Takes the next chunk. The body of `response` is empty.
    ///
    /// # Errors
    /// If the chunk cannot be decoded.
    fn push(&mut self, response: &Response, chunk: Bytes) -> Result<(), String>;

    /// Returns the result, at the end of the body.
    ///
    /// # Errors
    /// If the body is incomplete.
    fn finish(self, response: Response) -> Result<Self::Output, RequestError>;
}

impl Receive for BodyBuffer {
    type Output = Response;

    fn push(&mut self, _: &Response, chunk: Bytes) -> Result<(), String> {
        BodyBuffer::push(self, chunk);
        Ok(())
    }

    fn finish(self, mut response: Response) -> Result<Response, RequestError> {
        response.body = BodyBuffer::finish(self);
        Ok(response)
    }
}

impl Request {
    /// Sends the request and reads the response. Dropping the future cancels the request (`rest.R5`).
    ///
    /// With `If-None-Match`, a 304 is a successful response.
    ///
    /// # Errors
    /// If there is no response, the server returned an error, or the response is too large (`rest.R6`).
    pub async fn send(self) -> Result<Response, RequestError> {
        let is_write = self.method() != http::Method::GET && !self.is_dry_run();
        let resource = if is_write { self.group_resource() } else { None };
        let response = self.receive(BodyBuffer::default()).await?;
        observe::notify(resource, &response);
        Ok(response)
    }

    /// Sends the request and passes the response to a receiver.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub(crate) async fn receive<R: Receive>(mut self, receiver: R) -> Result<R::Output, RequestError> {
        self.check()?;
        let call = Call::new(&self);
        let _duration = call.time();
        self.exchange(&call, receiver).instrument(call.span.clone()).await
    }

    /// Sends the request and returns the undecoded body of the response.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub async fn raw(self) -> Result<Bytes, RequestError> {
        Ok(self.send().await?.body)
    }

    /// Sends the request and returns the response with its body as a stream: for logs and long lists.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub async fn stream(mut self) -> Result<http::Response<Body>, RequestError> {
        self.check()?;
        let call = Call::new(&self);
        let stream = async {
            call.wait().await;
            self.attempt(Use::Stream, &call).await
        };
        stream.instrument(call.span.clone()).await
    }

    /// Opens a watch. It is retried if the connection is lost before the response; only retries wait for the rate
    /// limiter.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub async fn open_watch(mut self) -> Result<http::Response<Body>, RequestError> {
        self.check_parts()?;
        let call = Call::new(&self);
        self.attempt(Use::Watch, &call).instrument(call.span.clone()).await
    }

    /// Requests a protocol upgrade; the caller sets `Upgrade` and related headers. The request is sent once.
    ///
    /// # Errors
    /// As [`send`](Self::send), and if the server does not switch protocols.
    pub async fn upgrade(mut self) -> Result<http::Response<Upgraded>, RequestError> {
        self.check()?;
        let call = Call::new(&self);
        self.switch(&call).instrument(call.span.clone()).await
    }

    async fn switch(&mut self, call: &Call) -> Result<http::Response<Upgraded>, RequestError> {
        call.wait().await;
        let request = self.build(Encoding::Json)?;
        let mut attempt = call.attempt(0);
        let sent = self.client.transport.upgrade(request).await;
        attempt.code = sent.as_ref().ok().map(Upgrade::status);
        drop(attempt);
        let response = match sent {
            Err(source) => return Err(RequestError::Transport { request: self.description(), source }),
            Ok(Upgrade::Switched(response)) => {
                self.report_warnings(response.headers());
                return Ok(response);
            }
            Ok(Upgrade::Declined(response)) => response,
        };
        self.report_warnings(response.headers());
        match response.status() {
            code if code.is_success() => {
                let why = format!("expected 101 Switching Protocols, got {code}");
                Err(RequestError::Decode { request: self.description(), why })
            }
            _ => {
                let status = self.read_status(response, Use::Stream, call).await;
                Err(RequestError::Api { request: self.description(), status })
            }
        }
    }

    fn report_warnings(&self, headers: &HeaderMap) {
        for warning in warning::parse_all(headers) {
            self.client.warnings.warn(&warning);
        }
    }

    async fn exchange<R: Receive>(
        &mut self,
        call: &Call,
        mut receiver: R,
    ) -> Result<R::Output, RequestError> {
        call.wait().await; // not part of the timeout
        let timeout = self.timeout;
        let exchange = async {
            let (head, body) = self.attempt(Use::Exchange, call).await?.into_parts();
            let mut body = body.limit(self.max_response_bytes);
            let response = Response::new(head.status, head.headers, Bytes::new(), self.description());
            let mut length = 0;
            loop {
                let chunk = body.chunk().await;
                let chunk =
                    chunk.map_err(|source| RequestError::Body { request: self.description(), source })?;
                let Some(chunk) = chunk else { break };
                length += chunk.len();
                receiver.push(&response, chunk).map_err(|why| response.undecodable(why))?;
            }
            call.received(length);
            receiver.finish(response)
        };
        let Some(after) = timeout else { return exchange.await };
        let outcome = tokio::time::timeout(after, exchange).await;
        outcome.unwrap_or_else(|_| Err(RequestError::TimedOut { request: self.description(), after }))
    }

    /// Sends the request until there is a response or it may not be retried (`rest.R2`).
    async fn attempt(&mut self, used_for: Use, call: &Call) -> Result<http::Response<Body>, RequestError> {
        let (mut attempts, mut retries) = (0, 0);
        loop {
            if attempts > 0 {
                call.wait().await;
            }
            let encoding = self.client.content.current();
            let request = self.build(encoding)?;
            let size = request.body().size_hint().exact().filter(|_| used_for == Use::Exchange);
            let mut attempt = call.attempt(attempts);
            let sent = self.client.transport.send(request).await;
            call.sent(size);
            attempt.code = sent.as_ref().ok().map(http::Response::status);
            drop(attempt);
            attempts += 1;
            let wait = match &sent {
                _ if matches!(self.body, Payload::Stream(_)) => None,
                Ok(response) => {
                    let attempt = Attempt::Responded(response.status(), response.headers());
                    retry_delay(&attempt, retries, &self.retry_policy, &self.method, used_for)
                }
                Err(error) => {
                    retry_delay(&Attempt::Failed(error), retries, &self.retry_policy, &self.method, used_for)
                }
            };
            let requested = sent.as_ref().ok().and_then(|response| retry_after(response.headers()));
            let sent = match (requested, sent) {
                (Some(retry_after), Ok(response)) if wait.is_some() && retry_after > MAX_RETRY_AFTER => {
                    let status = self.read_status(response, used_for, call).await;
                    let request = self.description();
                    return Err(RequestError::RetryAfter { request, status, retry_after });
                }
                (_, sent) => sent,
            };
            if let Some(wait) = wait {
                retries += 1;
                tracing::debug!(request = %self.description(), retries, ?wait, "retrying request");
                drop(sent);
                tokio::time::sleep(wait).await;
                continue;
            }
            let response = sent.map_err(|source: TransportError| RequestError::Transport {
                request: self.description(),
                source,
            })?;
            self.report_warnings(response.headers());
            let code = response.status();
            let is_not_modified =
                code == StatusCode::NOT_MODIFIED && self.headers.contains_key(IF_NONE_MATCH);
            if code.is_success() || is_not_modified {
                return Ok(response);
            }
            let is_unsupported =
                matches!(code, StatusCode::NOT_ACCEPTABLE | StatusCode::UNSUPPORTED_MEDIA_TYPE);
            if is_unsupported
                && encoding != Encoding::Json
                && self.uses_client_encoding()
                && self.client.content.fall_back()
            {
                continue;
            }
            let status = self.read_status(response, used_for, call).await;
            return Err(RequestError::Api { request: self.description(), status });
        }
    }

    /// Returns whether the client, not the caller, chose the encoding.
    fn uses_client_encoding(&self) -> bool {
        !self.headers.contains_key(ACCEPT) && !matches!(self.body, Payload::Stream(_))
    }

    /// Reads the Status of an error response.
    async fn read_status(
        &mut self,
        response: http::Response<Body>,
        used_for: Use,
        call: &Call,
    ) -> Box<Status> {
        let (head, mut body) = response.into_parts();
        let mut text = Vec::new();
        while let Ok(Some(chunk)) = body.chunk().await {
            text.extend_from_slice(&chunk);
            if text.len() > MAX_STATUS_BYTES {
                break;
            }
        }
        if used_for == Use::Exchange && !text.is_empty() {
            call.received(text.len());
        }
        Box::new(status_for(self, head.status, &head.headers, &text))
    }

    fn build(&mut self, encoding: Encoding) -> Result<http::Request<Body>, RequestError> {
        let uri = self.path_and_query();
        let uri: http::Uri = match uri.parse() {
            Ok(uri) => uri,
            Err(_) => return Err(self.invalid(InvalidRequest::Path { path: uri })),
        };
        let mut headers = self.headers.clone();
        headers
            .entry(ACCEPT)
            .or_insert_with(|| HeaderValue::from_static(self.client.content.accept(self.shape)));
        let body = match &mut self.body {
            Payload::None => Body::empty(),
            Payload::Bytes(bytes) => Body::from(bytes.clone()),
            Payload::Object { json } => {
                let (bytes, encoding) = encode(json, encoding);
                headers.entry(CONTENT_TYPE).or_insert(HeaderValue::from_static(encoding.media_type()));
                Body::from(bytes)
            }
            Payload::Stream(body) => body.take().unwrap_or_else(Body::empty),
        };
        let mut request = http::Request::new(body);
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = uri;
        *request.headers_mut() = headers;
        Ok(request)
    }
}
