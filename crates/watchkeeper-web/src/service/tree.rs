//! Owner tree of an object, from the cache.
//!
//! Input: snapshots of all cached resources, with their owner references.
//! Output: a tree by [`OwnerGraph`], with health by [`assess`].

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use http::Uri;
use serde_json::Value;
use watchkeeper_cache::Snapshot;
use watchkeeper_client::discovery::Mapping;
use watchkeeper_core::{GroupVersionResource, Object, ObjectKey, ObjectMeta, OwnerReference};
use watchkeeper_wire::{Kind, decode};

use super::Service;
use super::request::{PathParams, QueryParams, get_attributes, group, key};
use crate::access::{AccessError, Identity, ResourceAttributes};
use crate::envelope::{Failure, success};
use crate::tree::{Condition, MAX_DEPTH, Member, OwnerGraph, assess};
use crate::undecodable::Undecodable;

/// `GET /v1/tree/{group}/{version}/{resource}/{namespace}/{name}`
pub(super) async fn tree(
    State(service): State<Service>,
    identity: Identity,
    PathParams((group_name, version, resource, namespace, name)): PathParams<(
        String,
        String,
        String,
        String,
        String,
    )>,
    uri: Uri,
) -> Result<Response, Failure> {
    let mapping = service.catalog.find(group(&group_name), &version, &resource).await?;
    let up = QueryParams::read(&uri, &["up"])?.flag("up")?;
    let key = key(&mapping, &namespace, &name)?;
    service.access.authorize(&identity, get_attributes(&mapping, &key)).await?;
    let namespace = key.namespace().unwrap_or_default();

    let watched = service.catalog.watch(&mapping).await?;
    let absent = || Failure::not_found(format!("{} {key} not found", mapping.singular));
    let object = watched.informer.store().snapshot().get(&key).cloned().ok_or_else(absent)?;
    let asked = Member { mapping: mapping.clone(), object };
    let cached = CachedObjects(service.catalog.snapshots());
    let top = if up { cached.topmost(&asked) } else { asked.clone() };
    let members = filter_permitted(&service, &identity, namespace, &asked, cached.below(&top)).await?;
    // If the topmost owner may not be seen, the tree starts below it.
    let graph = OwnerGraph::new(members);
    let index = graph.find(asked.object.metadata.uid()).ok_or_else(absent)?;
    let index = if up { graph.top(index) } else { index };
    Ok(success(graph.tree(index, &mut |member| condition(member, &service.undecodable))))
}

/// Returns the requested object and the members whose resource the user may list: in the namespace of the requested
/// object, or at cluster scope for members that are not in that namespace.
async fn filter_permitted(
    service: &Service,
    identity: &Identity,
    namespace: &str,
    asked: &Member,
    all: Vec<Member>,
) -> Result<Vec<Member>, Failure> {
    let mut may: HashMap<(GroupVersionResource, &str), bool> = HashMap::new();
    let mut seen = Vec::with_capacity(all.len());
    for member in all {
        let of = &member.mapping.resource;
        let is_asked = member.object.metadata.uid() == asked.object.metadata.uid();
        // An owner at cluster scope can have objects in other namespaces below it.
        let is_here = member.object.metadata.key().namespace().unwrap_or_default() == namespace;
        let scope = if is_here { namespace } else { "" };
        let known = may.get(&(of.clone(), scope)).copied();
        let may_see = match known {
            Some(known) => known,
            None => {
                let attributes = ResourceAttributes {
                    verb: "list",
                    group: &of.group,
                    resource: &of.resource,
                    namespace: scope,
                    name: "",
                };
                let answer = match service.access.authorize(identity, attributes).await {
                    Ok(()) => true,
                    Err(AccessError::Forbidden(_)) => false,
                    Err(failed) => return Err(failed.into()),
                };
                may.insert((of.clone(), scope), answer);
                answer
            }
        };
        if may_see || is_asked {
            seen.push(member);
        }
    }
    Ok(seen)
}

/// Assesses a member; one that cannot be decoded is reported, and has unknown health.
fn condition(member: &Member, undecodable: &Undecodable) -> Condition {
    let kind = &member.mapping.kind;
    match decode::<Value>(&member.object.encoded, &Kind::from(kind.clone())) {
        Ok(object) => assess(&kind.group, &kind.kind, &object),
        Err(error) => {
            undecodable.report(kind, &member.object, &error);
            Condition::UNKNOWN
        }
    }
}

/// Snapshots of all cached resources.
struct CachedObjects(Vec<(Arc<Mapping>, Snapshot)>);

impl CachedObjects {
    /// Returns an object and everything below it.
    fn below(&self, top: &Member) -> Vec<Member> {
        let mut seen = HashSet::from([top.object.metadata.uid().to_owned()]);
        let mut found = vec![top.clone()];
        let mut at = 0;
        while let Some(owner) = found.get(at).map(|member| member.object.clone()) {
            for (mapping, snapshot) in &self.0 {
                for object in snapshot.owned_by(owner.metadata.uid()) {
                    if seen.insert(object.metadata.uid().to_owned()) {
                        found.push(Member { mapping: mapping.clone(), object: object.clone() });
                    }
                }
            }
            at += 1;
        }
        found
    }

    /// Follows owners up as far as they are cached.
    fn topmost(&self, asked: &Member) -> Member {
        let mut at = asked.clone();
        let mut seen = HashSet::from([at.object.metadata.uid().to_owned()]);
        while let Some(owner) = self.owner(&at.object.metadata) {
            if seen.len() >= MAX_DEPTH || !seen.insert(owner.object.metadata.uid().to_owned()) {
                break;
            }
            at = owner;
        }
        at
    }

    /// Returns the controller, or else the first existing owner.
    fn owner(&self, head: &ObjectMeta) -> Option<Member> {
        let owners = head.controller().into_iter().chain(head.owner_references());
        owners.into_iter().find_map(|owner| self.find(&owner, head.key().namespace()))
    }

    fn find(&self, owner: &OwnerReference<'_>, namespace: Option<&str>) -> Option<Member> {
        let group = owner.api_version.split_once('/').map_or("", |(group, _)| group);
        self.0.iter().filter(|(of, _)| of.kind.kind == owner.kind && of.kind.group == group).find_map(
            |(mapping, snapshot)| {
                let key = if mapping.namespaced {
                    ObjectKey::namespaced(namespace?, owner.name)
                } else {
                    ObjectKey::cluster(owner.name)
                };
                let is_it = |object: &&Arc<Object>| object.metadata.uid() == owner.uid;
                let object = snapshot.get(&key).filter(is_it)?.clone();
                Some(Member { mapping: mapping.clone(), object })
            },
        )
    }
}
