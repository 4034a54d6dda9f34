//! Stream: one connection a browser, over which everything comes that its tabs show, as it changes.
//!
//! From: the informers of the [`Catalog`](crate::Catalog), by subscriptions that coalesce for who is slow.
//! To:   server-sent events: `GET /v1/stream?resource=pods` opens a stream or goes on with one, `PUT /v1/stream/{id}` says
//!       what it is of.
//!
//! - T1: messages are made when the connection can take one. A reader that is slow costs the keys that changed meanwhile,
//!   and hears of the newest state of each.
//! - T2: a stream outlives its connection by [`KEPT`]. Who comes back in time with the id of the last message he has is
//!   sent what was sent after it, and then what changed; nothing is lost, and nothing that he has is repeated.
//! - T3: what a stream keeps for that is [bounded](HELD_BYTES). Who has missed more is told to forget what he had, and
//!   everything comes again.
//! - T4: a stream is of who opened it: to anybody else it is not there. Each subscription is checked for that one,
//!   and again every [`CHECK`].
//! - T5: a row is made once of each state of an object, however many streams show it.

mod connection;
mod feed;
mod held;
mod message;
mod registry;
mod rows;
mod session;
mod slot;
mod start;
mod subscription;
mod table;
mod whole;

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

use crate::access::Who;
use crate::envelope::{Failure, success};
use crate::service::Service;

pub use registry::{Limits, Streams};

use connection::{Connection, Heartbeat};
use subscription::{Set, Subscription};

/// How many streams there may be, by default.
pub const MAX_STREAMS: usize = 20_000;
/// How many subscriptions a stream may have. The tabs of a browser share a stream, and each has up to 20.
pub const MAX_SUBSCRIPTIONS: usize = 1024;
/// How long a stream waits for its reader to come back.
pub const KEPT: Duration = Duration::from_secs(60);
/// How many rows a message has at most.
pub const BATCH: usize = 500;
/// How many messages are held for who comes back.
pub const HELD_MESSAGES: usize = 512;
/// How many bytes they may have together. The last message is held whatever it has.
pub const HELD_BYTES: usize = 1 << 20;
/// How long a stream may be silent before it says that it is still there.
pub const PING: Duration = Duration::from_secs(15);
/// The seconds that a reader may ask for with `heartbeat`: an event at least that often, so that it notices a dead stream.
pub const HEARTBEATS: RangeInclusive<u64> = 1..=60;
/// How often somebody is checked again who has a stream.
pub const CHECK: Duration = Duration::from_secs(60);
/// How long changes are gathered after some were sent.
pub const GATHER: Duration = Duration::from_millis(40);

/// The routes of the stream.
pub(crate) fn routes() -> Router<Service> {
    Router::new().route("/v1/stream", get(open)).route("/v1/stream/{id}", put(replace))
}

async fn open(
    State(service): State<Service>,
    who: Who,
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
    let connection = match last.and_then(|last| service.streams.resume(&who, last)) {
        Some(connection) => connection,
        None => {
            let wanted = ours.iter().filter(|(name, _)| name == "sub");
            let mut wanted: Vec<_> =
                wanted.map(|(_, text)| Subscription::parse(text)).collect::<Result<_, _>>()?;
            wanted.extend(Subscription::of_query(&rest)?);
            service.streams.open(who, Set::new(wanted)?)?
        }
    };
    Ok(respond(connection.heartbeat(heartbeat)))
}

fn heartbeat(seconds: &str) -> Result<Heartbeat, Failure> {
    let known = seconds.parse().ok().filter(|seconds| HEARTBEATS.contains(seconds));
    let (first, last) = (HEARTBEATS.start(), HEARTBEATS.end());
    let invalid =
        || Failure::bad(format!("invalid heartbeat {seconds:?}: must be {first} to {last} seconds"));
    known.map(|seconds| Heartbeat::Event(Duration::from_secs(seconds))).ok_or_else(invalid)
}

async fn replace(
    State(service): State<Service>,
    Path(id): Path<String>,
    who: Who,
    body: Bytes,
) -> Result<Response, Failure> {
    let gone = || Failure::new(StatusCode::NOT_FOUND, "there is no such stream, or no more; open another");
    let session = service.streams.find(&who, &id).ok_or_else(gone)?;
    session.replace(Set::parse(&body)?);
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
