//! Pair: a real kube-apiserver and ours, which receive the same requests.

use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::BodyExt as _;
use serde_json::json;
use watchkeeper_apiserver::server::ApiServer;
use watchkeeper_oracle::{Client, Cluster};

use super::Outcome;
use super::response::{self, ApiResponse, Watch};

/// Timeout of one request, including its response body.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// One of the two servers.
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

    /// Sends a request and reads the response; closes a watch after `events` events. A failed request becomes a
    /// response with the key `broken`.
    pub(crate) async fn request(
        &self,
        side: Side,
        request: Request<Bytes>,
        events: Option<usize>,
    ) -> Outcome<ApiResponse> {
        let label = format!("{side:?} {} {}", request.method(), request.uri());
        match tokio::time::timeout(PATIENCE, self.read(side, request, events)).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) => {
                eprintln!("{label}: {error}: {:?}", error.source());
                Ok(ApiResponse(json!({"broken": error.to_string()})))
            }
            Err(_) => Ok(ApiResponse(json!({"broken": "timed out"}))),
        }
    }

    async fn read(&self, side: Side, request: Request<Bytes>, events: Option<usize>) -> Outcome<ApiResponse> {
        let watch = match is_watch(&request) {
            true => Watch::Events(events.unwrap_or(usize::MAX)),
            false => Watch::No,
        };
        let (head, mut body) = self.client(side).open(request).await?.into_parts();
        let mut bytes = Vec::new();
        while let Some(frame) = body.frame().await {
            bytes.extend_from_slice(frame?.data_ref().map_or(&[], |data| data));
            if events.is_some_and(|events| response::count_events(&head.headers, &bytes) >= events) {
                break;
            }
        }
        ApiResponse::read(head.status, &head.headers, &bytes, watch)
    }

    /// Waits until the real server's watch cache of a collection has reached a version, so that it serves no older
    /// state to requests that accept any version.
    pub(crate) async fn catch_up(&self, path: &str, version: u64) -> Outcome {
        let path = path.split('?').next().unwrap_or_default().replace("/v1/watch/", "/v1/");
        let uri = format!("{path}?resourceVersion={version}&resourceVersionMatch=NotOlderThan&limit=1");
        self.real.client().send(Request::get(uri).body(Bytes::new())?).await?;
        Ok(())
    }
}

fn is_watch(request: &Request<Bytes>) -> bool {
    let query = request.uri().query().unwrap_or_default();
    let is_set = |pair: &str| {
        pair.starts_with("watch=") && !matches!(pair, "watch=0" | "watch=false") || pair == "watch"
    };
    *request.method() == http::Method::GET
        && (request.uri().path().contains("/v1/watch/") || query.split('&').any(is_set))
}
