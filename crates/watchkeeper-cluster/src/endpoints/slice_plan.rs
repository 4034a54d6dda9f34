//! Plan: the slices to write so that every endpoint is in one, changing as few as possible.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};

use super::member::Member;
use super::view::{Port, TargetRef};
use crate::view::Meta;

/// Maximum number of endpoints per slice.
pub(super) const MAX_ENDPOINTS: usize = 100;

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Slice {
    pub(super) metadata: Meta,
    pub(super) address_type: String,
    #[serde(deserialize_with = "some")]
    pub(super) ports: Vec<Port>,
    #[serde(deserialize_with = "some")]
    pub(super) endpoints: Vec<Endpoint>,
}

/// Deserializes a list that may be null.
fn some<'de, T: Deserialize<'de>, D: serde::Deserializer<'de>>(from: D) -> Result<Vec<T>, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or_default())
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Endpoint {
    pub(super) addresses: Vec<String>,
    pub(super) conditions: Conditions,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) hostname: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) node_name: Option<String>,
    pub(super) target_ref: TargetRef,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Conditions {
    pub(super) ready: bool,
    pub(super) serving: bool,
    pub(super) terminating: bool,
}

/// The writes to make.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub(super) create: Vec<(Vec<Port>, Vec<Endpoint>)>,
    pub(super) update: Vec<(Slice, Vec<Endpoint>)>,
    pub(super) delete: Vec<Slice>,
}

impl Endpoint {
    pub(super) fn of(member: &Member, publishes_all: bool) -> Self {
        Self {
            addresses: vec![member.address.clone()],
            conditions: Conditions {
                ready: publishes_all || (member.is_serving && !member.is_terminating),
                serving: member.is_serving,
                terminating: member.is_terminating,
            },
            hostname: member.hostname.clone(),
            node_name: member.node.clone(),
            target_ref: member.target.clone(),
        }
    }
}

/// Plans the way from the existing slices to these endpoints. An endpoint stays in its slice; new ones go to
/// the fullest slice with room. Without endpoints there is one empty slice.
pub(super) fn plan(present: &[Slice], members: &[Member], publishes_all: bool) -> Plan {
    let mut wanted: BTreeMap<Vec<Port>, Vec<Endpoint>> = BTreeMap::new();
    for member in members {
        let endpoint = Endpoint::of(member, publishes_all);
        wanted.entry(member.ports.clone().unwrap_or_default()).or_default().push(endpoint);
    }
    if wanted.is_empty() {
        wanted.insert(Vec::new(), Vec::new());
    }
    let mut plan = Plan::default();
    let mut slices: BTreeMap<Vec<Port>, Vec<Slice>> = BTreeMap::new();
    for slice in present {
        if wanted.contains_key(&slice.ports) {
            slices.entry(slice.ports.clone()).or_default().push(slice.clone());
        } else {
            plan.delete.push(slice.clone());
        }
    }
    for (ports, endpoints) in wanted {
        let slices = slices.remove(&ports).unwrap_or_default();
        distribute(&mut plan, ports, endpoints, slices);
    }
    plan
}

/// Plans the slices of endpoints with the same ports.
fn distribute(plan: &mut Plan, ports: Vec<Port>, endpoints: Vec<Endpoint>, slices: Vec<Slice>) {
    let order: Vec<String> = endpoints.iter().map(|it| it.target_ref.uid.clone()).collect();
    let mut left: HashMap<String, Endpoint> =
        endpoints.into_iter().map(|it| (it.target_ref.uid.clone(), it)).collect();
    let mut kept: Vec<(Slice, Vec<Endpoint>)> = slices
        .into_iter()
        .map(|slice| {
            let stay = slice.endpoints.iter().filter_map(|it| left.remove(&it.target_ref.uid)).collect();
            (slice, stay)
        })
        .collect();
    let mut new: Vec<Endpoint> = order.iter().filter_map(|uid| left.remove(uid)).collect();
    kept.sort_by_key(|(_, stay)| std::cmp::Reverse(stay.len()));
    for (_, stay) in &mut kept {
        let room = MAX_ENDPOINTS.saturating_sub(stay.len()).min(new.len());
        stay.extend(new.drain(..room));
    }
    while !new.is_empty() {
        let rest = new.split_off(new.len().min(MAX_ENDPOINTS));
        plan.create.push((ports.clone(), std::mem::replace(&mut new, rest)));
    }
    let is_placeholder_wanted = ports.is_empty() && order.is_empty();
    let mut has_placeholder = false;
    for (slice, stay) in kept {
        if stay.is_empty() && (!is_placeholder_wanted || has_placeholder) {
            plan.delete.push(slice);
            continue;
        }
        has_placeholder |= stay.is_empty();
        plan.update.push((slice, stay));
    }
    if is_placeholder_wanted && !has_placeholder {
        plan.create.push((ports, Vec::new()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(number: usize, port: u16) -> Member {
        let uid = format!("{number:03}");
        Member {
            address: "10.0.0.1".to_owned(),
            hostname: None,
            node: None,
            target: TargetRef { uid, ..TargetRef::default() },
            is_serving: true,
            is_terminating: false,
            ports: Some(ports(port)),
            ready_since: None,
        }
    }

    fn ports(port: u16) -> Vec<Port> {
        vec![Port { port, ..Port::default() }]
    }

    fn slice(name: &str, port: Option<u16>, members: impl Iterator<Item = Member>) -> Slice {
        Slice {
            metadata: Meta { name: name.to_owned(), ..Meta::default() },
            ports: port.map(ports).unwrap_or_default(),
            endpoints: members.map(|member| Endpoint::of(&member, false)).collect(),
            ..Slice::default()
        }
    }

    /// Formats a plan as `+80:2 web-1:100 -web-2`: created, kept with this many endpoints, deleted.
    fn shown(plan: &Plan) -> String {
        let port = |ports: &[Port]| ports.first().map_or(0, |port| port.port);
        let mut texts: Vec<String> =
            plan.create.iter().map(|(ports, new)| format!("+{}:{}", port(ports), new.len())).collect();
        texts.extend(plan.update.iter().map(|(slice, all)| format!("{}:{}", slice.metadata.name, all.len())));
        texts.extend(plan.delete.iter().map(|slice| format!("-{}", slice.metadata.name)));
        texts.join(" ")
    }

    #[test]
    fn endpoints_stay_in_their_slice_and_new_ones_fill_the_fullest() {
        let members = |range: std::ops::Range<usize>| range.map(|number| member(number, 80));
        for (present, wanted, expected) in [
            (vec![], members(0..0), "+0:0"),
            (vec![], members(0..250), "+80:100 +80:100 +80:50"),
            (vec![slice("a", Some(80), members(0..60))], members(0..61), "a:61"),
            (
                vec![slice("a", Some(80), members(0..60)), slice("b", Some(80), members(60..150))],
                members(0..165),
                "b:100 a:65",
            ),
            (
                vec![slice("a", Some(80), members(0..60)), slice("b", Some(80), members(60..70))],
                members(0..60),
                "a:60 -b",
            ),
            (vec![slice("a", Some(80), members(0..2))], members(0..0), "+0:0 -a"),
            (vec![slice("a", None, members(0..0))], members(0..0), "a:0"),
            (vec![slice("a", None, members(0..0))], members(0..1), "+80:1 -a"),
            (vec![slice("a", Some(81), members(0..2))], members(0..2), "+80:2 -a"),
        ] {
            let wanted: Vec<Member> = wanted.collect();
            assert_eq!(
                shown(&plan(&present, &wanted, false)),
                expected,
                "{} of {}",
                wanted.len(),
                present.len()
            );
        }
    }

    #[test]
    fn a_terminating_endpoint_is_serving_but_not_ready() {
        let mut terminating = member(1, 80);
        terminating.is_terminating = true;
        let conditions = |publishes_all| Endpoint::of(&terminating, publishes_all).conditions;
        assert_eq!(conditions(false), Conditions { ready: false, serving: true, terminating: true });
        assert_eq!(conditions(true), Conditions { ready: true, serving: true, terminating: true });
    }
}
