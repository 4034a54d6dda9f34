//! An authorizer in front of the embedded server, which allows everything.

use std::sync::Arc;

use http::{HeaderMap, Request, Response};
use http_body_util::BodyExt as _;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use watchkeeper_client::config::{Authorization, Proxy};
use watchkeeper_client::transport::Body;
use watchkeeper_client::{Client, Config};
use watchkeeper_listen::{Listener, Security, Service, ServiceRequest, ServiceResponse};

/// Denied resources, by suffix of the user name.
type Withdrawn = Arc<Mutex<Vec<(&'static str, &'static str)>>>;

pub(crate) struct Judge {
    withdrawn: Withdrawn,
    stop: CancellationToken,
    running: JoinHandle<()>,
}

impl Judge {
    /// Starts a proxy that answers access reviews itself; returns it with a client that uses it.
    pub(crate) async fn before(server: &Client, token: &str) -> (Self, Client) {
        let listener = Listener::bind(([127, 0, 0, 1], 0).into(), Security::Plain).await.unwrap();
        let mut config = Config::new(listener.url().parse().unwrap());
        config.authorization = Authorization::Token(token.into());
        config.plain_credentials = true;
        config.proxy = Proxy::Direct;
        let (withdrawn, stop) = (Withdrawn::default(), CancellationToken::new());
        let bench = Bench { withdrawn: withdrawn.clone(), server: server.clone() };
        let running = tokio::spawn(listener.run(bench, stop.clone()));
        (Self { withdrawn, stop, running }, Client::new(&config).unwrap())
    }

    /// Denies a user a resource from now on.
    pub(crate) fn withdraw(&self, user: &'static str, resource: &'static str) {
        self.withdrawn.lock().push((user, resource));
    }

    pub(crate) async fn stop(self) {
        self.stop.cancel();
        self.running.await.unwrap();
    }
}

struct Bench {
    withdrawn: Withdrawn,
    server: Client,
}

impl Bench {
    fn is_allowed(&self, spec: &Value) -> bool {
        let (user, resource) = (spec["user"].as_str().unwrap(), &spec["resourceAttributes"]["resource"]);
        !self.withdrawn.lock().iter().any(|(end, withdrawn)| user.ends_with(end) && resource == withdrawn)
    }
}

impl Service for Bench {
    type Peer = ();
    type Body = Body;

    fn peer(&self, _: &[u8]) -> Option<()> {
        None
    }

    async fn call(&self, arrival: ServiceRequest<()>) -> ServiceResponse<Body> {
        let (mut head, body) = arrival.request.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        let response = match head.uri.path() {
            "/apis/authorization.k8s.io/v1/subjectaccessreviews" => {
                let asked: Value = serde_json::from_slice(&body).unwrap();
                let answer = json!({"status": {"allowed": self.is_allowed(&asked["spec"])}});
                Response::builder()
                    .status(201)
                    .header("content-type", "application/json")
                    .body(answer.to_string().into())
                    .unwrap()
            }
            _ => {
                head.headers = sent_on(head.headers);
                self.server.transport().forward(Request::from_parts(head, body.into())).await.unwrap()
            }
        };
        ServiceResponse { response, hang_up: false, charge: None }
    }
}

/// Removes hop-by-hop headers.
fn sent_on(mut headers: HeaderMap) -> HeaderMap {
    for name in ["host", "connection", "content-length", "transfer-encoding"] {
        headers.remove(name);
    }
    headers
}
