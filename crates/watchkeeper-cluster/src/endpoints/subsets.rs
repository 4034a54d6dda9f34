//! Endpoints objects of services: the older API, with all addresses in one object.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::json;
use watchkeeper_cache::Reader;
use watchkeeper_client::dynamic::{DeleteOptions, DynamicApi, DynamicObject, WriteOptions};
use watchkeeper_client::rest::PatchKind;
use watchkeeper_controller::{Action, Controller, Error, Request};
use watchkeeper_core::Object;

use super::member::Member;
use super::view::{Port, TargetRef};
use super::{Members, TRIGGER_TIME, label_patch, labels, trigger_time};
use crate::context::{ControllerContext, Reconcile};
use crate::resource::{ENDPOINTS, PODS, SERVICES};
use crate::view::Meta;

const MANAGED_BY: &str = "endpoints.kubernetes.io/managed-by";
const MANAGER: &str = "endpoint-controller";
const OVER_CAPACITY: &str = "endpoints.kubernetes.io/over-capacity";
/// Maximum number of addresses; the rest is dropped.
const MAX_ADDRESSES: usize = 1_000;

pub(super) fn start(context: &mut ControllerContext, members: Members) {
    let selecting = {
        let members = members.clone();
        move |pod: &Object| members.selecting(pod)
    };
    // Other clients may create Endpoints without a service.
    let ours = |object: &Object| {
        let is_ours = object.metadata.label(MANAGED_BY) == Some(MANAGER);
        is_ours.then(|| object.metadata.key().clone()).into_iter().collect()
    };
    let controller = Controller::new("endpoint", &context.informer(SERVICES))
        .watches(&context.informer(PODS), selecting)
        .watches(&context.informer(ENDPOINTS), ours)
        .concurrency(4);
    let keeper = Keeper { members, endpoints: context.reader(ENDPOINTS), api: context.api(ENDPOINTS) };
    context.run(controller, keeper);
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Endpoints {
    metadata: Meta,
    subsets: Vec<Subset>,
}

/// Addresses with the same ports.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Subset {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    addresses: Vec<Address>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    not_ready_addresses: Vec<Address>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    ports: Vec<Port>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Address {
    ip: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    hostname: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    node_name: Option<String>,
    target_ref: TargetRef,
}

struct Keeper {
    members: Members,
    endpoints: Reader<Endpoints>,
    api: DynamicApi,
}

impl Reconcile for Keeper {
    async fn reconcile(&self, request: Request) -> Result<Action, Error> {
        let key = request.key();
        let service = self.members.services.get(key)?;
        let present = self.endpoints.get(key)?;
        let Some(service) = service else {
            if let Some(present) = present.filter(|present| !present.metadata.is_terminating()) {
                self.delete(&present).await?;
            }
            return Ok(Action::await_change());
        };
        let Some(members) = self.members.of(&service) else { return Ok(Action::await_change()) };
        if service.metadata.is_terminating() {
            return Ok(Action::await_change());
        }
        let all = subsets(&members, service.spec.publish_not_ready_addresses);
        let (subsets, is_truncated) = truncate(all);
        let labels = labels(&service, &[(MANAGED_BY, MANAGER)]);
        let annotations = json!({
            TRIGGER_TIME: trigger_time(&service, &members),
            OVER_CAPACITY: is_truncated.then_some("truncated"),
        });
        let api = self.api.clone().namespace(&service.metadata.namespace);
        let name = &service.metadata.name;
        let options = WriteOptions::default();
        let written = match present {
            Some(present) if present.subsets == subsets && present.metadata.labels == labels => {
                return Ok(Action::await_change());
            }
            Some(present) => {
                let patch = json!({
                    "metadata": {
                        "resourceVersion": present.metadata.resource_version,
                        "labels": label_patch(&present.metadata.labels, &labels),
                        "annotations": annotations,
                    },
                    "subsets": subsets,
                });
                api.patch(name, PatchKind::Merge, &patch, &options).await
            }
            None => {
                let mut annotations = annotations;
                if let Some(pairs) = annotations.as_object_mut() {
                    pairs.retain(|_, value| !value.is_null());
                }
                let object = json!({
                    "apiVersion": ENDPOINTS.api_version(),
                    "kind": ENDPOINTS.kind,
                    "metadata": {"name": name, "labels": labels, "annotations": annotations},
                    "subsets": subsets,
                });
                api.create(&DynamicObject::try_from(object)?, &options).await
            }
        };
        match written {
            Ok(_) => {}
            // The namespace is being deleted, or the object is gone.
            Err(error) if error.is_not_found() || super::is_forbidden(&error) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(Action::await_change())
    }
}

impl Keeper {
    async fn delete(&self, present: &Endpoints) -> Result<(), Error> {
        let api = self.api.clone().namespace(&present.metadata.namespace);
        let options = DeleteOptions { uid: Some(present.metadata.uid.clone()), ..DeleteOptions::default() };
        match api.delete(&present.metadata.name, &options).await {
            Err(error) if !error.is_not_found() && !error.is_conflict() => Err(error.into()),
            _ => Ok(()),
        }
    }
}

/// Groups the members by their ports. Terminating ones are left out unless unready addresses are published.
fn subsets(members: &[Member], publishes_all: bool) -> Vec<Subset> {
    let mut by_ports: BTreeMap<Vec<Port>, Subset> = BTreeMap::new();
    for member in members.iter().filter(|member| publishes_all || !member.is_terminating) {
        let Some(ports) = &member.ports else { continue };
        let mut ports = ports.clone();
        for port in &mut ports {
            port.name = port.name.take().filter(|name| !name.is_empty());
        }
        let subset = by_ports.entry(ports.clone()).or_default();
        subset.ports = ports;
        let address = Address {
            ip: member.address.clone(),
            hostname: member.hostname.clone(),
            node_name: member.node.clone(),
            target_ref: member.target.clone(),
        };
        if publishes_all || member.is_serving {
            subset.addresses.push(address);
        } else {
            subset.not_ready_addresses.push(address);
        }
    }
    let mut subsets: Vec<Subset> = by_ports.into_values().collect();
    for subset in &mut subsets {
        for list in [&mut subset.addresses, &mut subset.not_ready_addresses] {
            list.sort_unstable_by(|a, b| (&a.ip, &a.target_ref.uid).cmp(&(&b.ip, &b.target_ref.uid)));
        }
    }
    subsets
}

/// Truncates to the maximum number of addresses, ready ones first, and returns whether any were dropped.
fn truncate(mut subsets: Vec<Subset>) -> (Vec<Subset>, bool) {
    let count = |subsets: &[Subset]| -> usize {
        subsets.iter().map(|it| it.addresses.len() + it.not_ready_addresses.len()).sum()
    };
    let before = count(&subsets);
    let mut room = MAX_ADDRESSES;
    for subset in &mut subsets {
        subset.addresses.truncate(room);
        room -= subset.addresses.len();
    }
    for subset in &mut subsets {
        subset.not_ready_addresses.truncate(room);
        room -= subset.not_ready_addresses.len();
    }
    let is_truncated = count(&subsets) < before;
    subsets.retain(|subset| !subset.addresses.is_empty() || !subset.not_ready_addresses.is_empty());
    (subsets, is_truncated)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(number: usize, port: Option<u16>, is_serving: bool, is_terminating: bool) -> Member {
        let ports = |port| {
            vec![Port { name: Some(String::new()), port, protocol: "TCP".to_owned(), app_protocol: None }]
        };
        Member {
            address: format!("10.0.{}.{}", number / 250, number % 250),
            hostname: None,
            node: None,
            target: TargetRef::default(),
            is_serving,
            is_terminating,
            ports: port.map(ports),
            ready_since: None,
        }
    }

    fn shown(subsets: &[Subset]) -> Vec<String> {
        let ips = |list: &[Address]| list.iter().map(|it| it.ip.clone()).collect::<Vec<_>>().join(" ");
        let one = |it: &Subset| {
            format!("{}: {} / {}", it.ports[0].port, ips(&it.addresses), ips(&it.not_ready_addresses))
        };
        subsets.iter().map(one).collect()
    }

    #[test]
    fn addresses_are_grouped_by_ports_and_readiness() {
        let members = [
            member(3, Some(80), true, false),
            member(1, Some(80), true, false),
            member(2, Some(80), false, false),
            member(4, Some(81), true, false),
            member(5, None, true, false),
            member(6, Some(80), true, true),
        ];
        assert_eq!(shown(&subsets(&members, false)), ["80: 10.0.0.1 10.0.0.3 / 10.0.0.2", "81: 10.0.0.4 / "]);
        assert_eq!(
            shown(&subsets(&members, true)),
            ["80: 10.0.0.1 10.0.0.2 10.0.0.3 10.0.0.6 / ", "81: 10.0.0.4 / "]
        );
        assert_eq!(subsets(&members, false)[0].ports[0].name, None);
    }

    #[test]
    fn at_most_a_thousand_addresses_are_written() {
        let members: Vec<Member> =
            (0..1_500).map(|number| member(number, Some(80), number % 2 == 0, false)).collect();
        let (few, is_truncated) = truncate(subsets(&members, false));
        assert_eq!(
            (few[0].addresses.len(), few[0].not_ready_addresses.len(), is_truncated),
            (750, 250, true)
        );
        assert!(!truncate(subsets(&members[..1_000], false)).1);
    }
}
