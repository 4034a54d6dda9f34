//! Pair: a real kube-apiserver and ours, asked the same.

use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::BodyExt as _;
use serde_json::json;
use watchkeeper_apiserver::server::ApiServer;
use watchkeeper_oracle::{Client, Cluster};

use super::Outcome;
use super::answer::{self, Answer, Watch};

/// How long a server may take to say what it has to say.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// Which of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Real,
    Ours,
}

pub(crate) struct Pair {
    real: Cluster,
    ours: Client,
    server: ApiServer,
}

impl Pair {
    pub(crate) async fn start() -> Outcome<Self> {
        let real = Cluster::start().await?;
        let server = ApiServer::builder().plain_http().start().await?;
        let ours = Client::new(server.url(), None, server.token())?;
        Ok(Self { real, ours, server })
    }

    pub(crate) async fn stop(self) {
        self.server.stop().await;
    }

    pub(crate) fn client(&self, side: Side) -> &Client {
        match side {
            Side::Real => self.real.client(),
            Side::Ours => &self.ours,
        }
    }

    /// Sends a request and reads the answer; a watch is left after so many events.
    pub(crate) async fn ask(
        &self,
        side: Side,
        request: Request<Bytes>,
        events: Option<usize>,
    ) -> Outcome<Answer> {
        let what = format!("{side:?} {} {}", request.method(), request.uri());
        match tokio::time::timeout(PATIENCE, self.read(side, request, events)).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => {
                eprintln!("{what}: {error}: {:?}", error.source());
                Ok(Answer(json!({"broken": error.to_string()})))
            }
            Err(_) => Ok(Answer(json!({"broken": "no end of it"}))),
        }
    }

    async fn read(&self, side: Side, request: Request<Bytes>, events: Option<usize>) -> Outcome<Answer> {
        let watch = match is_watch(&request) {
            true => Watch::Events(events.unwrap_or(usize::MAX)),
            false => Watch::No,
        };
        let (head, mut body) = self.client(side).open(request).await?.into_parts();
        let mut bytes = Vec::new();
        while let Some(frame) = body.frame().await {
            bytes.extend_from_slice(frame?.data_ref().map_or(&[], |data| data));
            if events.is_some_and(|events| answer::events_in(&head.headers, &bytes) >= events) {
                break;
            }
        }
        Answer::read(head.status, &head.headers, &bytes, watch)
    }

    /// Waits until the real server's cache of a collection is as new as a version: what it lists at any version
    /// is then no older.
    pub(crate) async fn catch_up(&self, path: &str, version: u64) -> Outcome {
        let path = path.split('?').next().unwrap_or_default().replace("/v1/watch/", "/v1/");
        let uri = format!("{path}?resourceVersion={version}&resourceVersionMatch=NotOlderThan&limit=1");
        self.real.client().send(Request::get(uri).body(Bytes::new())?).await?;
        Ok(())
    }
}

fn is_watch(request: &Request<Bytes>) -> bool {
    let query = request.uri().query().unwrap_or_default();
    let asks = |pair: &str| {
        pair.starts_with("watch=") && !matches!(pair, "watch=0" | "watch=false") || pair == "watch"
    };
    *request.method() == http::Method::GET
        && (request.uri().path().contains("/v1/watch/") || query.split('&').any(asks))
}
