//! Sending a request, as often as is proper.

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, IF_NONE_MATCH};
use http::{HeaderMap, HeaderValue, StatusCode};
use http_body::Body as _;
use tracing::Instrument as _;
use watchkeeper_core::Status;

use super::answer::{Answer, refusal};
use super::call::Call;
use super::content::{MediaType, encoded};
use super::request::{Payload, Request};
use super::retry::{Attempt, MAX_RETRY_AFTER, Use, again, retry_after};
use super::{InvalidRequest, RequestError, warning};
use crate::transport::{Body, Gather, TransportError, Upgrade, Upgraded};

/// How much of a refusal's body is read.
const REFUSAL_BYTES: usize = 1 << 20;

/// What becomes of the body of an answer while it comes.
pub(crate) trait Receive {
    /// What it becomes.
    type Received;

    /// Takes the next piece. The answer has no body yet.
    ///
    /// # Errors
    /// Why this cannot be read.
    fn push(&mut self, answer: &Answer, chunk: Bytes) -> Result<(), String>;

    /// There are no more pieces.
    ///
    /// # Errors
    /// If that cannot be all.
    fn finish(self, answer: Answer) -> Result<Self::Received, RequestError>;
}

impl Receive for Gather {
    type Received = Answer;

    fn push(&mut self, _: &Answer, chunk: Bytes) -> Result<(), String> {
        Gather::push(self, chunk);
        Ok(())
    }

    fn finish(self, mut answer: Answer) -> Result<Answer, RequestError> {
        answer.body = Gather::finish(self);
        Ok(answer)
    }
}

impl Request {
    /// Sends the request and reads the answer. Dropped half-way, it is cancelled (R5).
    ///
    /// To a request with `If-None-Match` 304 is an answer, and not a refusal.
    ///
    /// # Errors
    /// If it was not sent, or not answered, or refused, or the answer is too large (R6).
    pub async fn send(self) -> Result<Answer, RequestError> {
        self.receive(Gather::default()).await
    }

    /// Sends the request and has the answer received as it comes.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub(crate) async fn receive<R: Receive>(mut self, receiver: R) -> Result<R::Received, RequestError> {
        self.check()?;
        let call = Call::new(&self);
        let _timed = call.time();
        self.exchange(&call, receiver).instrument(call.span.clone()).await
    }

    /// Sends the request and returns the body of the answer, whatever it is.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub async fn raw(self) -> Result<Bytes, RequestError> {
        Ok(self.send().await?.body)
    }

    /// Sends the request and returns the body of the answer as it comes: for logs and long lists.
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

    /// Sends a request for a watch. It is tried again where the connection was lost before it was answered.
    /// The limiter is only asked before it is tried again.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub async fn open_watch(mut self) -> Result<http::Response<Body>, RequestError> {
        self.check_parts()?;
        let call = Call::new(&self);
        self.attempt(Use::Watch, &call).instrument(call.span.clone()).await
    }

    /// Sends a request that asks for another protocol; its `Upgrade` and the headers of that protocol are
    /// the caller's to say. It is sent once.
    ///
    /// # Errors
    /// As [`send`](Self::send); also if the server answers and does not switch.
    pub async fn upgrade(mut self) -> Result<http::Response<Upgraded>, RequestError> {
        self.check()?;
        let call = Call::new(&self);
        self.switch(&call).instrument(call.span.clone()).await
    }

    async fn switch(&mut self, call: &Call) -> Result<http::Response<Upgraded>, RequestError> {
        call.wait().await;
        let request = self.build(MediaType::Json)?;
        let mut attempt = call.attempt(0);
        let sent = self.client.transport.upgrade(request).await;
        attempt.code = sent.as_ref().ok().map(Upgrade::status);
        drop(attempt);
        let answer = match sent {
            Err(source) => return Err(RequestError::Transport { request: self.description(), source }),
            Ok(Upgrade::Switched(answer)) => {
                self.hear_warnings(answer.headers());
                return Ok(answer);
            }
            Ok(Upgrade::Refused(answer)) => answer,
        };
        self.hear_warnings(answer.headers());
        match answer.status() {
            code if code.is_success() => {
                let why = format!("{code} came where the protocol was to be switched");
                Err(RequestError::Decode { request: self.description(), why })
            }
            _ => {
                let status = self.refusal(answer, Use::Stream, call).await;
                Err(RequestError::Refused { request: self.description(), status })
            }
        }
    }

    fn hear_warnings(&self, headers: &HeaderMap) {
        for warning in warning::of(headers) {
            self.client.warnings.warn(&warning);
        }
    }

    async fn exchange<R: Receive>(
        &mut self,
        call: &Call,
        mut receiver: R,
    ) -> Result<R::Received, RequestError> {
        call.wait().await; // who is held back must not be late before anything is sent
        let timeout = self.timeout;
        let exchange = async {
            let (head, body) = self.attempt(Use::Exchange, call).await?.into_parts();
            let mut body = body.limit(self.max_response_bytes);
            let answer = Answer::new(head.status, head.headers, Bytes::new(), self.description());
            let mut length = 0;
            loop {
                let chunk = body.chunk().await;
                let chunk =
                    chunk.map_err(|source| RequestError::Body { request: self.description(), source })?;
                let Some(chunk) = chunk else { break };
                length += chunk.len();
                receiver.push(&answer, chunk).map_err(|why| answer.undecodable(why))?;
            }
            call.received(length);
            receiver.finish(answer)
        };
        let Some(after) = timeout else { return exchange.await };
        let outcome = tokio::time::timeout(after, exchange).await;
        outcome.unwrap_or_else(|_| Err(RequestError::TimedOut { request: self.description(), after }))
    }

    /// Sends the request until it is answered, as often as is proper (R2).
    async fn attempt(&mut self, used_for: Use, call: &Call) -> Result<http::Response<Body>, RequestError> {
        let (mut attempts, mut retries) = (0, 0);
        loop {
            if attempts > 0 {
                call.wait().await;
            }
            let media_type = self.client.content.current();
            let request = self.build(media_type)?;
            let size = request.body().size_hint().exact().filter(|_| used_for == Use::Exchange);
            let mut attempt = call.attempt(attempts);
            let sent = self.client.transport.send(request).await;
            call.sent(size);
            attempt.code = sent.as_ref().ok().map(http::Response::status);
            drop(attempt);
            attempts += 1;
            let wait = match &sent {
                _ if matches!(self.body, Payload::Stream(_)) => None,
                Ok(answer) => {
                    let attempt = Attempt::Answered(answer.status(), answer.headers());
                    again(&attempt, retries, &self.retries, &self.method, used_for)
                }
                Err(error) => again(&Attempt::Failed(error), retries, &self.retries, &self.method, used_for),
            };
            let asked = sent.as_ref().ok().and_then(|answer| retry_after(answer.headers()));
            let sent = match (asked, sent) {
                (Some(retry_after), Ok(answer)) if wait.is_some() && retry_after > MAX_RETRY_AFTER => {
                    let status = self.refusal(answer, used_for, call).await;
                    let request = self.description();
                    return Err(RequestError::RetryAfter { request, status, retry_after });
                }
                (_, sent) => sent,
            };
            if let Some(wait) = wait {
                retries += 1;
                tracing::debug!(request = %self.description(), retries, ?wait, "a request is tried again");
                drop(sent);
                tokio::time::sleep(wait).await;
                continue;
            }
            let answer = sent.map_err(|source: TransportError| RequestError::Transport {
                request: self.description(),
                source,
            })?;
            self.hear_warnings(answer.headers());
            let code = answer.status();
            let is_known = code == StatusCode::NOT_MODIFIED && self.headers.contains_key(IF_NONE_MATCH);
            if code.is_success() || is_known {
                return Ok(answer);
            }
            let is_foreign = matches!(code, StatusCode::NOT_ACCEPTABLE | StatusCode::UNSUPPORTED_MEDIA_TYPE);
            if is_foreign
                && media_type != MediaType::Json
                && self.speaks_own_encoding()
                && self.client.content.refuse()
            {
                continue; // in JSON, from now on
            }
            let status = self.refusal(answer, used_for, call).await;
            return Err(RequestError::Refused { request: self.description(), status });
        }
    }

    /// Whether the encoding is the client's choice, and not the caller's.
    fn speaks_own_encoding(&self) -> bool {
        !self.headers.contains_key(ACCEPT) && !matches!(self.body, Payload::Stream(_))
    }

    /// What the server says of a request that it refuses.
    async fn refusal(&mut self, answer: http::Response<Body>, used_for: Use, call: &Call) -> Box<Status> {
        let (head, mut body) = answer.into_parts();
        let mut text = Vec::new();
        while let Ok(Some(chunk)) = body.chunk().await {
            text.extend_from_slice(&chunk);
            if text.len() > REFUSAL_BYTES {
                break; // what is so long is no Status
            }
        }
        if used_for == Use::Exchange && !text.is_empty() {
            call.received(text.len());
        }
        Box::new(refusal(self, head.status, &head.headers, &text))
    }

    fn build(&mut self, media_type: MediaType) -> Result<http::Request<Body>, RequestError> {
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
                let (bytes, media_type) = encoded(json, media_type);
                headers.entry(CONTENT_TYPE).or_insert(HeaderValue::from_static(media_type.as_str()));
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
