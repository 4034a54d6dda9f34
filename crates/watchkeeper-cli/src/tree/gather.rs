//! Gathers the objects of a tree.

use std::collections::{BTreeMap, HashMap};
use std::num::NonZeroU32;
use std::pin::pin;
use std::sync::Arc;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use serde_json::Value;
use watchkeeper_client::discovery::Mapping;
use watchkeeper_client::rest::{Content, NoWarnings};
use watchkeeper_client::source::RestSource;
use watchkeeper_core::{
    ErrorChain, GroupVersionResource, ListAt, ListError, ListPart, ListRequest, ListWatch as _, Object,
    ObjectMetaBuilder, Paging,
};
use watchkeeper_web::tree::Member;
use watchkeeper_wire::{Kind, ReadOptions, decode, json};

use super::member;
use crate::connect::Connection;
use crate::failure::Failure;
use crate::progress::Progress;

/// Concurrent requests.
const AT_ONCE: usize = 8;
/// Items per page of a list.
const PAGE: NonZeroU32 = NonZeroU32::new(500).expect("500 is not zero");
/// If a tree has more objects of a resource than this, they are listed instead of read one by one.
const ONE_BY_ONE: usize = 16;
/// Skipped: there are many events, and they neither own objects nor have owners.
const EVENTS: [(&str, &str); 2] = [("", "events"), ("events.k8s.io", "events")];
/// Resources without a health status (`cli_tree.T2`).
const SILENT: [(&str, &str); 12] = [
    ("", "secrets"),
    ("", "configmaps"),
    ("", "serviceaccounts"),
    ("", "endpoints"),
    ("", "podtemplates"),
    ("", "limitranges"),
    ("apps", "controllerrevisions"),
    ("coordination.k8s.io", "leases"),
    ("discovery.k8s.io", "endpointslices"),
    ("networking.k8s.io", "networkpolicies"),
    ("rbac.authorization.k8s.io", "rolebindings"),
    ("rbac.authorization.k8s.io", "roles"),
];

/// Returns whether objects of a resource have no health status (`cli_tree.T2`).
pub(crate) fn is_silent(resource: &GroupVersionResource) -> bool {
    is_among(&SILENT, resource)
}

/// Reads one object.
///
/// # Errors
/// If it does not exist or cannot be read.
pub(super) async fn read(
    connection: &Connection,
    mapping: &Mapping,
    namespace: &str,
    name: &str,
) -> Result<Member, Failure> {
    let request =
        connection.rest(&mapping.resource.group_version()).get().resource(&mapping.resource.resource);
    let request = if namespace.is_empty() { request } else { request.namespace(namespace) };
    let body = request.name(name).raw().await?;
    let object = json::read_object(&body, &ReadOptions::default(), &mut ObjectMetaBuilder::default());
    let object = object.map_err(|error| Failure::of(&error))?;
    Ok(member(&Arc::new(mapping.clone()), object))
}

/// Lists the metadata of all objects of a namespace, or of all namespaces if it is empty. Resources that cannot be
/// listed are skipped (`cli_tree.T1`).
///
/// # Errors
/// If discovery fails.
pub(super) async fn all(connection: &Connection, namespace: &str) -> Result<Vec<Member>, Failure> {
    let found = connection.discovery.discover().await?;
    let is_wanted = |mapping: &Mapping| {
        (namespace.is_empty() || mapping.namespaced) && !is_among(&EVENTS, &mapping.resource)
    };
    let listable = found.preferred_resources().into_iter().filter(|(_, resource)| resource.can("list"));
    let mappings: Vec<Arc<Mapping>> = listable
        .map(|(of, resource)| Mapping {
            resource: GroupVersionResource::new(of.group, of.version, &*resource.name),
            kind: resource.kind.clone(),
            singular: resource.singular.clone(),
            namespaced: resource.namespaced,
        })
        .filter(is_wanted)
        .map(Arc::new)
        .collect();
    let count = mappings.len() as u64;
    let mut bar = Progress::of("resources");
    let mut lists = Vec::with_capacity(mappings.len());
    let listing = stream::iter(mappings).map(|mapping| async move {
        let listed = list(connection, &mapping, namespace, true).await;
        (mapping, listed)
    });
    let mut listing = pin!(listing.buffered(AT_ONCE));
    while let Some(listed) = listing.next().await {
        lists.push(listed);
        bar.update(lists.len(), Some(count.saturating_sub(lists.len() as u64)));
    }
    drop(bar);
    let mut members = Vec::new();
    let mut left_out: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (mapping, listed) in lists {
        match listed {
            Ok(objects) => members.extend(objects.into_iter().map(|object| member(&mapping, object))),
            Err(error) => {
                let why = error
                    .status()
                    .map_or_else(|| ErrorChain(&error).to_string(), |status| status.reason.to_string());
                left_out.entry(why).or_default().push(mapping.resource.group_resource().to_string());
            }
        }
    }
    for (why, resources) in left_out {
        eprintln!("watchkeeper: skipped resources that cannot be listed ({why}): {}", resources.join(", "));
    }
    Ok(members)
}

/// Reads the JSON of these objects, by UID. Omits deleted objects, those without a health status (`cli_tree.T2`), and
/// those that cannot be read, which are reported (`cli_tree.T1`).
pub(super) async fn bodies(connection: &Connection, members: &[&Member]) -> HashMap<String, Value> {
    let mut groups: BTreeMap<(&GroupVersionResource, &str), Vec<&Member>> = BTreeMap::new();
    for member in members.iter().filter(|member| !is_silent(&member.mapping.resource)) {
        let namespace = member.object.metadata.key().namespace().unwrap_or_default();
        groups.entry((&member.mapping.resource, namespace)).or_default().push(member);
    }
    let mut wanted = Vec::new();
    for ((_, namespace), members) in groups {
        match members.len() {
            0..=ONE_BY_ONE => wanted.extend(members.into_iter().map(|member| (member, None))),
            _ => wanted.extend(members.first().map(|member| (*member, Some(namespace)))),
        }
    }
    let read = stream::iter(wanted).map(|(member, listed)| async move {
        let mapping = &member.mapping;
        let key = member.object.metadata.key();
        let objects = match listed {
            Some(namespace) => list(connection, mapping, namespace, false).await.map_err(|error| {
                error.status().map_or_else(|| ErrorChain(&error).to_string(), |status| status.to_string())
            }),
            None => {
                match read(connection, mapping, key.namespace().unwrap_or_default(), key.name()).await {
                    Ok(member) => Ok(vec![Object::clone(&member.object)]),
                    Err(failure) if failure.is_not_found() => Ok(Vec::new()), // deleted in the meantime
                    Err(failure) => Err(failure.to_string()),
                }
            }
        };
        let objects = objects.unwrap_or_else(|why| {
            let resource = mapping.resource.group_resource();
            eprintln!("watchkeeper: health of {resource} not known: {why}");
            Vec::new()
        });
        let kind = Kind::new(&mapping.kind.group, &mapping.kind.version, &mapping.kind.kind);
        let body = |object: Object| match decode(&object.encoded, &kind) {
            Ok(body) => Some((object.metadata.uid().to_owned(), body)),
            Err(error) => {
                eprintln!("watchkeeper: health of {} not known: {error}", object.metadata.key());
                None
            }
        };
        objects.into_iter().filter_map(body).collect::<Vec<(String, Value)>>()
    });
    read.buffered(AT_ONCE).map(stream::iter).flatten().collect().await
}

/// Lists all objects of a resource.
async fn list(
    connection: &Connection,
    mapping: &Mapping,
    namespace: &str,
    metadata_only: bool,
) -> Result<Vec<Object>, ListError> {
    let (resource, kind) = (&mapping.resource, &mapping.kind);
    // Warnings are suppressed: the user did not ask for this resource.
    let rest =
        connection.client.rest(&resource.group_version(), Content::json()).warnings(Arc::new(NoWarnings));
    let kind = Kind::new(&kind.group, &kind.version, &kind.kind);
    let mut source = RestSource::new(rest, &resource.resource, kind);
    if !namespace.is_empty() && mapping.namespaced {
        source = source.namespace(namespace);
    }
    if metadata_only {
        source = source.metadata_only();
    }
    let mut objects = Vec::new();
    let mut at = ListAt::default();
    let mut paging = Paging::default();
    loop {
        let before = objects.len();
        let mut page = source.list(ListRequest { at, limit: Some(PAGE) });
        let mut next = None;
        while let Some(part) = page.try_next().await? {
            match part {
                ListPart::Item(object) => objects.push(object),
                ListPart::End(end) => next = end.continue_token,
            }
        }
        match next {
            Some(token) => {
                let advanced = paging.advance(objects.len() - before, &token);
                advanced.map_err(|error| ListError::Malformed(error.into()))?;
                at = ListAt::Page(token);
            }
            None => return Ok(objects),
        }
    }
}

fn is_among(which: &[(&str, &str)], resource: &GroupVersionResource) -> bool {
    which.contains(&(&*resource.group, &*resource.resource))
}
