//! A scripted API server: token reviews, access reviews, and a record of other requests.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{HeaderMap, Response};
use http_body::Frame;
use http_body_util::BodyExt as _;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use watchkeeper_client::config::{Authorization, Proxy};
use watchkeeper_client::{Client, Config};
use watchkeeper_listen::{Listener, Security, Service, ServiceRequest, ServiceResponse};

/// Responses and recorded requests.
#[derive(Default)]
pub(crate) struct Script {
    /// Users by token.
    pub(crate) users: HashMap<&'static str, Value>,
    /// Namespaces that a user may read; `*` is all.
    pub(crate) rules: Mutex<Vec<(&'static str, &'static str)>>,
    /// Paths of reviews, in order.
    pub(crate) reviews: Mutex<Vec<Value>>,
    /// Headers of other requests.
    pub(crate) requests: Mutex<Vec<HeaderMap>>,
    /// Body of the next other response, chunk by chunk; `{}` by default.
    pub(crate) pieces: Mutex<Option<mpsc::UnboundedReceiver<Bytes>>>,
    /// Cancelled when that body has been dropped.
    pub(crate) dropped: CancellationToken,
}

pub(crate) struct Upstream {
    pub(crate) script: Arc<Script>,
    pub(crate) client: Client,
    stop: CancellationToken,
    running: JoinHandle<()>,
}

impl Upstream {
    /// Starts the server; the service's own token is `ours`.
    pub(crate) async fn start(script: Script) -> Self {
        let listener = Listener::bind(([127, 0, 0, 1], 0).into(), Security::Plain).await.unwrap();
        let mut config = Config::new(listener.url().parse().unwrap());
        config.authorization = Authorization::Token("ours".into());
        config.plain_credentials = true;
        config.proxy = Proxy::Direct;
        let (script, stop) = (Arc::new(script), CancellationToken::new());
        let running = tokio::spawn(listener.run(Scripted(script.clone()), stop.clone()));
        Self { script, client: Client::new(&config).unwrap(), stop, running }
    }

    pub(crate) async fn stop(self) {
        self.stop.cancel();
        self.running.await.unwrap();
    }
}

struct Scripted(Arc<Script>);

impl Service for Scripted {
    type Peer = ();
    type Body = Pieces;

    fn peer(&self, _: &[u8]) -> Option<()> {
        None
    }

    async fn call(&self, arrival: ServiceRequest<()>) -> ServiceResponse<Pieces> {
        let (head, body) = arrival.request.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        let review = match head.uri.path() {
            "/apis/authentication.k8s.io/v1/tokenreviews" => {
                Some(Script::token_review as fn(&Script, &Value) -> Value)
            }
            "/apis/authorization.k8s.io/v1/subjectaccessreviews" => Some(Script::access_review as _),
            _ => None,
        };
        let body = match review {
            Some(review) => {
                assert_eq!(head.headers["authorization"], "Bearer ours");
                let asked: Value = serde_json::from_slice(&body).unwrap();
                let status = review(&self.0, &asked["spec"]);
                self.0.reviews.lock().push(asked["spec"].clone());
                Pieces::whole(json!({"status": status}).to_string())
            }
            None => {
                self.0.requests.lock().push(head.headers);
                match self.0.pieces.lock().take() {
                    Some(pieces) => {
                        Pieces { whole: None, pieces: Some((pieces, self.0.dropped.clone().drop_guard())) }
                    }
                    None => Pieces::whole("{}".to_owned()),
                }
            }
        };
        let response = Response::builder()
            .header("content-type", "application/json")
            .header("set-cookie", "watchkeeper_token=theirs")
            .header("access-control-allow-origin", "*")
            .body(body);
        ServiceResponse { response: response.unwrap(), hang_up: false, charge: None }
    }
}

impl Script {
    fn token_review(&self, spec: &Value) -> Value {
        match self.users.get(spec["token"].as_str().unwrap()) {
            Some(user) => json!({"authenticated": true, "user": user}),
            None => json!({"authenticated": false, "error": "never seen it"}),
        }
    }

    fn access_review(&self, spec: &Value) -> Value {
        let namespace = spec["resourceAttributes"]["namespace"].as_str().unwrap_or_default();
        let mut rules = self.rules.lock().clone().into_iter().filter(|(user, _)| *user == spec["user"]);
        let allowed = rules.any(|(_, readable)| readable == "*" || readable == namespace);
        json!({"allowed": allowed})
    }
}

/// A body that is sent whole, or chunk by chunk.
pub(crate) struct Pieces {
    whole: Option<Bytes>,
    pieces: Option<(mpsc::UnboundedReceiver<Bytes>, tokio_util::sync::DropGuard)>,
}

impl Pieces {
    fn whole(text: String) -> Self {
        Self { whole: Some(text.into()), pieces: None }
    }
}

impl http_body::Body for Pieces {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, std::io::Error>>> {
        match &mut self.pieces {
            Some((pieces, _)) => {
                pieces.poll_recv(context).map(|piece| piece.map(|piece| Ok(Frame::data(piece))))
            }
            None => Poll::Ready(self.whole.take().map(|piece| Ok(Frame::data(piece)))),
        }
    }
}

/// Formats a GET request with these header lines.
pub(crate) fn get(path: &str, lines: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{lines}\r\n")
}
