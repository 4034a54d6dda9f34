//! Owner tree of an object, from the cache.
//!
//! Input: snapshots of all cached resources, with their owner references.
//! Output: a tree by [`Family`], with health by [`assess`].

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use http::Uri;
use serde_json::Value;
use watchkeeper_cache::Snapshot;
use watchkeeper_client::discovery::Mapping;
use watchkeeper_core::{GroupVersionResource, Head, Object, ObjectKey, Owner};
use watchkeeper_wire::{Kind, decode};

use super::Service;
use super::request::{At, Said, group, key};
use crate::access::{Who, Wish};
use crate::envelope::{Failure, success};
use crate::tree::{Condition, Family, MAX_DEPTH, Member, assess};

/// `GET /v1/tree/{group}/{version}/{resource}/{namespace}/{name}`
pub(super) async fn tree(
    State(service): State<Service>,
    who: Who,
    At((said_group, version, resource, namespace, name)): At<(String, String, String, String, String)>,
    uri: Uri,
) -> Result<Response, Failure> {
    let mapping = service.catalog.find(group(&said_group), &version, &resource).await?;
    let up = Said::read(&uri, &["up"])?.is("up")?;
    let key = key(&mapping, &namespace, &name)?;
    let of = &mapping.resource;
    let namespace = key.namespace().unwrap_or_default();
    let wish = Wish { verb: "get", group: &of.group, resource: &of.resource, namespace, name: &name };
    service.access.check(&who, wish).await?;

    let watched = service.catalog.watch(&mapping).await?;
    let absent = || Failure::absent(format!("{} {key} not found", mapping.singular));
    let object = watched.informer.store().snapshot().get(&key).cloned().ok_or_else(absent)?;
    let asked = Member { mapping: mapping.clone(), object };
    let forest = Forest(service.catalog.snapshots());
    let top = if up { forest.topmost(&asked) } else { asked.clone() };
    let members = permitted(&service, &who, namespace, &asked, forest.below(&top)).await;
    // A user who may not see the topmost owner sees the tree below it.
    let family = Family::new(members);
    let place = family.find(asked.object.head.uid()).ok_or_else(absent)?;
    let place = if up { family.top(place) } else { place };
    Ok(success(family.tree(place, &mut condition)))
}

/// Filters the members that a user may see: listing a resource permits seeing the owners of its objects.
async fn permitted(
    service: &Service,
    who: &Who,
    namespace: &str,
    asked: &Member,
    all: Vec<Member>,
) -> Vec<Member> {
    let mut may: HashMap<GroupVersionResource, bool> = HashMap::new();
    let mut seen = Vec::with_capacity(all.len());
    for member in all {
        let of = &member.mapping.resource;
        let is_asked = member.object.head.uid() == asked.object.head.uid();
        let known = may.get(of).copied();
        let may_see = match known {
            Some(known) => known,
            None => {
                let wish =
                    Wish { verb: "list", group: &of.group, resource: &of.resource, namespace, name: "" };
                let answer = service.access.check(who, wish).await.is_ok();
                may.insert(of.clone(), answer);
                answer
            }
        };
        if may_see || is_asked {
            seen.push(member);
        }
    }
    seen
}

/// Assesses a member; one that cannot be decoded has unknown health.
fn condition(member: &Member) -> Condition {
    let kind = &member.mapping.kind;
    let object: Value = decode(&member.object.encoded, &Kind::from(kind.clone())).unwrap_or_default();
    assess(&kind.group, &kind.kind, &object)
}

/// Snapshots of all cached resources.
struct Forest(Vec<(Arc<Mapping>, Snapshot)>);

impl Forest {
    /// Returns an object and everything below it.
    fn below(&self, top: &Member) -> Vec<Member> {
        let mut seen = HashSet::from([top.object.head.uid().to_owned()]);
        let mut found = vec![top.clone()];
        let mut at = 0;
        while let Some(owner) = found.get(at).map(|member| member.object.clone()) {
            for (mapping, snapshot) in &self.0 {
                for object in snapshot.owned_by(owner.head.uid()) {
                    if seen.insert(object.head.uid().to_owned()) {
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
        let mut seen = HashSet::from([at.object.head.uid().to_owned()]);
        while let Some(owner) = self.owner(&at.object.head) {
            if seen.len() >= MAX_DEPTH || !seen.insert(owner.object.head.uid().to_owned()) {
                break;
            }
            at = owner;
        }
        at
    }

    /// Returns the controller, or else the first existing owner.
    fn owner(&self, head: &Head) -> Option<Member> {
        let owners = head.controller().into_iter().chain(head.owners());
        owners.into_iter().find_map(|owner| self.find(&owner, head.key().namespace()))
    }

    fn find(&self, owner: &Owner<'_>, namespace: Option<&str>) -> Option<Member> {
        let group = owner.api_version.split_once('/').map_or("", |(group, _)| group);
        self.0.iter().filter(|(of, _)| of.kind.kind == owner.kind && of.kind.group == group).find_map(
            |(mapping, snapshot)| {
                let key = if mapping.namespaced {
                    ObjectKey::namespaced(namespace?, owner.name)
                } else {
                    ObjectKey::cluster(owner.name)
                };
                let is_it = |object: &&Arc<Object>| object.head.uid() == owner.uid;
                let object = snapshot.get(&key).filter(is_it)?.clone();
                Some(Member { mapping: mapping.clone(), object })
            },
        )
    }
}
