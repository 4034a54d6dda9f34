//! Streams: one connection per browser, over which the content of all its tabs is kept up to date.
//!
//! Input: the informers of the [`Catalog`](crate::Catalog), through subscriptions that coalesce for slow clients.
//! Output: server-sent events. `GET /v1/stream?resource=pods` opens or resumes a stream, `PUT /v1/stream/{id}` replaces
//! its subscriptions.
//!
//! Invariants:
//! - `stream.S1`: a message is created when the connection can take it. A slow client costs memory only for the keys
//!   that changed meanwhile, and receives the newest state of each.
//! - `stream.S2`: a stream outlives its connection by [`RETENTION`]. A client that reconnects in time with the id of
//!   its last message receives the messages after it, then later changes; nothing is lost or repeated.
//! - `stream.S3`: the replay buffer is [bounded](REPLAY_BYTES). A client that has missed more receives `reset` and
//!   everything again.
//! - `stream.S4`: a stream belongs to the user that opened it; for others it does not exist. Each subscription is
//!   authorized when it starts, and again every [`REAUTHORIZE_EVERY`].
//! - `stream.S5`: a row is computed once per version of an object, however many streams show it.

mod connection;
mod message;
mod object_encoder;
mod registry;
mod replay_buffer;
mod request;
mod rows;
mod session;
mod start;
mod subscription;
mod table;

use std::ops::RangeInclusive;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Path, Query, State};
use axum::response::Response;
use axum::routing::{get, put};
use futures_util::stream::unfold;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri};

use crate::access::Identity;
use crate::envelope::{Failure, success};
use crate::service::Service;

pub use registry::{Limits, Streams};

use connection::{Connection, Heartbeat};
use request::{SubscriptionRequest, SubscriptionSet};

/// Default maximum number of streams.
pub const MAX_STREAMS: usize = 20_000;
/// Maximum number of subscriptions per stream. The tabs of a browser share a stream, and each has up to 20.
pub const MAX_SUBSCRIPTIONS: usize = 1024;
/// Retention of a stream without a connection.
pub const RETENTION: Duration = Duration::from_secs(60);
/// Maximum number of rows in a message.
pub const BATCH: usize = 500;
/// Maximum number of messages in the replay buffer.
pub const REPLAY_MESSAGES: usize = 512;
/// Maximum size of the replay buffer, in bytes. The last message is always kept.
pub const REPLAY_BYTES: usize = 1 << 20;
/// Time without a message after which a comment is sent, so that proxies keep the connection.
pub const PING: Duration = Duration::from_secs(15);
/// Allowed values of `heartbeat`: the time in seconds without a message after which a ping event is sent, instead of a
/// comment after [`PING`]. A client that receives nothing for longer knows that the connection is dead.
pub const HEARTBEATS: RangeInclusive<u64> = 1..=60;
/// Interval of repeated authorization.
pub const REAUTHORIZE_EVERY: Duration = Duration::from_secs(60);
/// Time for which changes are batched after a message.
pub const BATCH_DELAY: Duration = Duration::from_millis(40);

/// Returns the routes.
pub(crate) fn routes() -> Router<Service> {
    Router::new().route("/v1/stream", get(open)).route("/v1/stream/{id}", put(replace))
}

async fn open(
    State(service): State<Service>,
    identity: Identity,
    headers: HeaderMap,
    uri: Uri,
) -> Result<Response, Failure> {
    let Query(asked) = Query::<Vec<(String, String)>>::try_from_uri(&uri)
        .map_err(|error| Failure::new(StatusCode::BAD_REQUEST, error.body_text()))?;
    let (ours, rest): (Vec<_>, Vec<_>) =
        asked.into_iter().partition(|(name, _)| matches!(name.as_str(), "sub" | "last" | "heartbeat"));
    let last = headers.get(LAST_EVENT_ID).and_then(|last| last.to_str().ok());
    let last = last.or_else(|| ours.iter().find(|(name, _)| name == "last").map(|(_, last)| last.as_str()));
    let heartbeat = ours.iter().find(|(name, _)| name == "heartbeat").map(|(_, text)| heartbeat(text));
    let heartbeat = heartbeat.transpose()?.unwrap_or(Heartbeat::Comment);
    let connection = match last.and_then(|last| service.streams.resume(&identity, last)) {
        Some(connection) => connection,
        None => {
            let wanted = ours.iter().filter(|(name, _)| name == "sub");
            let mut wanted: Vec<_> =
                wanted.map(|(_, text)| SubscriptionRequest::parse(text)).collect::<Result<_, _>>()?;
            wanted.extend(SubscriptionRequest::of_query(&rest)?);
            service.streams.open(identity, SubscriptionSet::new(wanted)?)?
        }
    };
    Ok(respond(connection.heartbeat(heartbeat)))
}

fn heartbeat(seconds: &str) -> Result<Heartbeat, Failure> {
    let known = seconds.parse().ok().filter(|seconds| HEARTBEATS.contains(seconds));
    let (first, last) = (HEARTBEATS.start(), HEARTBEATS.end());
    let invalid =
        || Failure::bad_request(format!("invalid heartbeat {seconds:?}: must be {first} to {last} seconds"));
    known.map(|seconds| Heartbeat::Event(Duration::from_secs(seconds))).ok_or_else(invalid)
}

async fn replace(
    State(service): State<Service>,
    Path(id): Path<String>,
    identity: Identity,
    body: Bytes,
) -> Result<Response, Failure> {
    let gone = || Failure::new(StatusCode::NOT_FOUND, "stream not found or expired; open another");
    let session = service.streams.find(&identity, &id).ok_or_else(gone)?;
    session.replace(SubscriptionSet::parse(&body)?);
    Ok(success("replaced"))
}

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

fn respond(connection: Connection) -> Response {
    let messages = unfold(connection, async |mut connection| {
        let frame = connection.next().await?;
        Some((Ok::<_, std::convert::Infallible>(frame), connection))
    });
    let mut response = Response::new(Body::from_stream(messages));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
