//! Events, newest first.

use axum::extract::State;
use axum::response::Response;
use http::Uri;
use watchkeeper_cache::Snapshot;
use watchkeeper_core::{Object, Timestamp};
use watchkeeper_wire::{Kind, decode};

use super::Service;
use super::request::Said;
use crate::access::{Who, Wish};
use crate::envelope::{Failure, success};
use crate::event::{Event, Told};
use crate::workload::ABOUT;

/// Default limit of events.
const DEFAULT_LIMIT: usize = 500;

/// `GET /v1/events`
pub(super) async fn events(State(service): State<Service>, who: Who, uri: Uri) -> Result<Response, Failure> {
    let said = Said::read(&uri, &["namespace", "uid", "limit"])?;
    let (namespace, uid) = (said.text("namespace"), said.text("uid").map(str::to_owned));
    let limit = said.count("limit")?.unwrap_or(DEFAULT_LIMIT);
    let wish = Wish {
        verb: "list",
        group: "",
        resource: "events",
        namespace: namespace.unwrap_or_default(),
        name: "",
    };
    service.access.check(&who, wish).await?;

    let watched = service.catalog.watched("", "v1", "events").await?;
    let (snapshot, kind) = (watched.informer.store().snapshot(), watched.informer.kind().clone());
    let namespace = namespace.map(str::to_owned);
    let newest = move || newest(&snapshot, &kind, namespace.as_deref(), uid.as_deref(), limit);
    // All events may have to be decoded to find the newest.
    Ok(success(tokio::task::spawn_blocking(newest).await.map_err(Failure::broken)?))
}

/// Returns the newest events. Events that cannot be decoded are skipped.
fn newest(
    snapshot: &Snapshot,
    kind: &Kind,
    namespace: Option<&str>,
    uid: Option<&str>,
    limit: usize,
) -> Vec<Told> {
    let read = |object: &Object| -> Option<(Option<Timestamp>, Event)> {
        let event: Event = decode(&object.encoded, kind).ok()?;
        Some((event.seen(), event))
    };
    let is_there =
        |object: &Object| namespace.is_none_or(|wanted| object.head.key().namespace() == Some(wanted));
    let mut events: Vec<_> = match (uid, namespace) {
        (Some(uid), _) => {
            let about = snapshot.by_index(ABOUT, uid).into_iter().flatten();
            about.filter(|object| is_there(object)).filter_map(|object| read(object)).collect()
        }
        (None, Some(namespace)) => {
            snapshot.in_namespace(namespace).filter_map(|object| read(object)).collect()
        }
        (None, None) => snapshot.iter().filter_map(|object| read(object)).collect(),
    };
    // The sort is stable: events with the same time stay sorted by namespace and name.
    events.sort_by(|(one, _), (other, _)| other.cmp(one));
    events.into_iter().take(limit).map(|(_, event)| event.told()).collect()
}
