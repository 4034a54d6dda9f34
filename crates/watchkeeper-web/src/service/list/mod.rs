//! Lists of a resource: filtered, sorted and paged, from the cache.
//!
//! Invariants:
//! - `web_list.L1`: bodies are the cached bytes; they are parsed only for a field selector or an order.
//! - `web_list.L2`: a page shows the current objects. The next page continues after the last object of this one in the
//!   order of that time, so that an unchanged object is neither repeated nor skipped.

mod body;
mod order;
mod page;

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use http::{StatusCode, Uri};
use watchkeeper_cache::Snapshot;
use watchkeeper_client::discovery::Mapping;
use watchkeeper_core::{LabelSelector, Object};
use watchkeeper_wire::Kind;

use super::Service;
use super::request::{PathParams, QueryParams, group};
use crate::access::{Identity, ResourceAttributes};
use crate::envelope::{Failure, json};
use crate::fields::Fields;
use order::Order;
use page::{Continue, Page};

/// Allowed query parameters.
const NAMES: [&str; 6] = ["namespace", "labelSelector", "fieldSelector", "limit", "continue", "sort"];
/// Lists longer than this are built on a blocking thread, not on the async executor.
const BLOCKING_THRESHOLD: usize = 1_000;

/// A parsed list request.
#[derive(Debug)]
struct ListQuery {
    namespace: Option<String>,
    labels: LabelSelector,
    fields: Fields,
    order: Order,
    limit: Option<usize>,
    after: Option<Continue>,
    /// Hash of all parameters except the page.
    list: u64,
}

/// `GET /pod/list`
pub(super) async fn pods(service: State<Service>, identity: Identity, uri: Uri) -> Result<Response, Failure> {
    let named = |name: &str| name.to_owned();
    list(service, identity, PathParams((named("pods"), named("core"), named("v1"))), uri).await
}

/// `GET /{resource}/{group}/{version}`
pub(super) async fn list(
    State(service): State<Service>,
    identity: Identity,
    PathParams((resource, group_name, version)): PathParams<(String, String, String)>,
    uri: Uri,
) -> Result<Response, Failure> {
    let mapping = service.catalog.find(group(&group_name), &version, &resource).await?;
    let wanted = ListQuery::read(&QueryParams::read(&uri, &NAMES)?, &mapping)?;
    let of = &mapping.resource;
    let namespace = wanted.namespace.as_deref().unwrap_or_default();
    let attributes =
        ResourceAttributes { verb: "list", group: &of.group, resource: &of.resource, namespace, name: "" };
    service.access.authorize(&identity, attributes).await?;

    let watched = service.catalog.watch(&mapping).await?;
    let kind = watched.informer.kind().clone();
    let snapshot = watched.informer.store().snapshot();
    if let Some(after) = &wanted.after {
        after.check(snapshot.version(), wanted.list)?;
    }
    let chosen = wanted.chosen(&snapshot);
    let is_small = chosen.len() < BLOCKING_THRESHOLD;
    let is_secret = crate::secret::is_secret(&mapping);
    let answer = move || body::write(&wanted.page(chosen, &snapshot, &kind), &kind, is_secret);
    let body = if is_small {
        answer()?
    } else {
        tokio::task::spawn_blocking(answer).await.map_err(Failure::internal)??
    };
    Ok(json(StatusCode::OK, body.into()))
}

impl ListQuery {
    fn read(query: &QueryParams, mapping: &Mapping) -> Result<Self, Failure> {
        let wrong = |name: &str, why: &dyn std::fmt::Display| Failure::bad_request(format!("{name}: {why}"));
        let namespace = query.text("namespace");
        if namespace.is_some() && !mapping.namespaced {
            return Err(wrong(
                "namespace",
                &format_args!("{} are not namespaced", mapping.resource.resource),
            ));
        }
        let labels = query.text("labelSelector").unwrap_or_default();
        let after = query.text("continue").map(str::parse).transpose();
        Ok(Self {
            namespace: namespace.map(str::to_owned),
            labels: LabelSelector::parse(labels).map_err(|why| wrong("labelSelector", &why))?,
            fields: Fields::read(query.text("fieldSelector").unwrap_or_default(), &mapping.kind)?,
            order: Order::read(query.text("sort").unwrap_or_default(), &mapping.kind)?,
            limit: query.count("limit")?,
            after: after.map_err(|why: page::InvalidToken| wrong("continue", &why))?,
            list: page::list_hash(
                mapping,
                ["namespace", "labelSelector", "fieldSelector", "sort"].map(|name| query.text(name)),
            ),
        })
    }

    /// Returns the objects selected by labels and namespace, ordered by namespace and name.
    fn chosen(&self, snapshot: &Snapshot) -> Vec<Arc<Object>> {
        let namespace = self.namespace.as_deref();
        match (self.labels.is_everything(), namespace) {
            (false, _) => snapshot.select(&self.labels, namespace),
            (true, Some(namespace)) => snapshot.in_namespace(namespace).cloned().collect(),
            (true, None) => snapshot.iter().cloned().collect(),
        }
    }

    /// Applies the field selector, the order, and the page.
    fn page(&self, mut chosen: Vec<Arc<Object>>, snapshot: &Snapshot, kind: &Kind) -> Page {
        chosen.retain(|object| self.fields.match_object(object, kind));
        let mut sorted = self.order.sort(chosen, kind);
        if let Some(after) = &self.after {
            let first = sorted.partition_point(|entry| !self.order.is_after(entry, after.entry()));
            sorted.drain(..first);
        }
        let limit = self.limit.unwrap_or(usize::MAX);
        let rest = sorted.split_off(sorted.len().min(limit));
        let last = sorted.last().filter(|_| !rest.is_empty());
        let next = last.map(|last| (Continue::of(last, snapshot.version(), self.list), rest.len()));
        Page { objects: sorted.into_iter().map(|entry| entry.object).collect(), next }
    }
}
