//! Events, newest first.

use axum::extract::State;
use axum::response::Response;
use http::Uri;
use watchkeeper_cache::Snapshot;
use watchkeeper_core::{Object, Timestamp};
use watchkeeper_wire::{Kind, decode};

use super::Service;
use super::request::QueryParams;
use crate::access::{Identity, ResourceAttributes};
use crate::envelope::{Failure, success};
use crate::event::{Event, EventView};
use crate::undecodable::Undecodable;
use crate::workload::BY_INVOLVED_OBJECT;

/// Default limit of events.
const DEFAULT_LIMIT: usize = 500;

/// `GET /v1/events`
pub(super) async fn events(
    State(service): State<Service>,
    identity: Identity,
    uri: Uri,
) -> Result<Response, Failure> {
    let query = QueryParams::read(&uri, &["namespace", "uid", "limit"])?;
    let (namespace, uid) = (query.text("namespace"), query.text("uid").map(str::to_owned));
    let limit = query.count("limit")?.unwrap_or(DEFAULT_LIMIT);
    let attributes = ResourceAttributes {
        verb: "list",
        group: "",
        resource: "events",
        namespace: namespace.unwrap_or_default(),
        name: "",
    };
    service.access.authorize(&identity, attributes).await?;

    let watched = service.catalog.watched("", "v1", "events").await?;
    let (snapshot, kind) = (watched.informer.store().snapshot(), watched.informer.kind().clone());
    let namespace = namespace.map(str::to_owned);
    let undecodable = service.undecodable.clone();
    let newest = move || newest(&snapshot, &kind, namespace.as_deref(), uid.as_deref(), limit, &undecodable);
    // All events may have to be decoded to find the newest.
    Ok(success(tokio::task::spawn_blocking(newest).await.map_err(Failure::internal)?))
}

/// Returns the newest events. Events that cannot be decoded are reported and skipped.
fn newest(
    snapshot: &Snapshot,
    kind: &Kind,
    namespace: Option<&str>,
    uid: Option<&str>,
    limit: usize,
    undecodable: &Undecodable,
) -> Vec<EventView> {
    let read = |object: &Object| -> Option<(Option<Timestamp>, Event)> {
        match decode::<Event>(&object.encoded, kind) {
            Ok(event) => Some((event.last_seen(), event)),
            Err(error) => {
                undecodable.report(kind.name(), object, &error);
                None
            }
        }
    };
    let is_there =
        |object: &Object| namespace.is_none_or(|wanted| object.metadata.key().namespace() == Some(wanted));
    let mut events: Vec<_> = match (uid, namespace) {
        (Some(uid), _) => {
            let about = snapshot.by_index(BY_INVOLVED_OBJECT, uid).into_iter().flatten();
            about.filter(|object| is_there(object)).filter_map(|object| read(object)).collect()
        }
        (None, Some(namespace)) => {
            snapshot.in_namespace(namespace).filter_map(|object| read(object)).collect()
        }
        (None, None) => snapshot.iter().filter_map(|object| read(object)).collect(),
    };
    // The sort is stable: events with the same time stay sorted by namespace and name.
    events.sort_by(|(one, _), (other, _)| other.cmp(one));
    events.into_iter().take(limit).map(|(_, event)| event.into_view()).collect()
}
