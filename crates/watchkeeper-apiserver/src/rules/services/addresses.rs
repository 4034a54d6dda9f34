//! Allocation of cluster IPs and node ports; none is assigned twice.
//!
//! Invariants:
//! - `addresses.A1`: what is free is read from the stored services while the lock is held.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use tokio::sync::{Mutex, OwnedMutexGuard};
use watchkeeper_core::{CauseType, Status, StatusCause};

use super::spec;
use crate::admission::stored_objects;
use crate::registry::Resource;
use crate::store::Store;
use crate::write::{Draft, check, fault, invalid_value};

/// The range of cluster IPs: 10.0.0.0/24; the first address is that of the server.
const NETWORK: [u8; 3] = [10, 0, 0];
/// Addresses that are allocated first; the others are left for explicit requests.
const PREFERRED: std::ops::RangeInclusive<u8> = 17..=254;
const NODE_PORTS: std::ops::RangeInclusive<i64> = 30_000..=32_767;

/// Addresses and ports in use.
#[derive(Debug, Default)]
struct Taken {
    addresses: BTreeSet<Ipv4Addr>,
    /// Node ports.
    ports: BTreeSet<i64>,
}

/// Gives services their addresses. Clones share one lock.
#[derive(Clone)]
pub(crate) struct AddressAllocator {
    store: Arc<dyn Store>,
    /// Held from the choice of addresses until they are stored, so that none is assigned twice.
    lock: Arc<Mutex<()>>,
}

impl AddressAllocator {
    pub(crate) fn new(store: Arc<dyn Store>) -> Self {
        Self { store, lock: Arc::default() }
    }

    /// Waits until no other request allocates addresses (`addresses.A1`).
    pub(crate) async fn lock(&self) -> OwnedMutexGuard<()> {
        self.lock.clone().lock_owned().await
    }

    /// Gives a service the addresses that it needs and does not have: 422 if it asks for one that is not available.
    /// It keeps what it had before.
    pub(crate) async fn allocate(
        &self,
        resource: &Resource,
        old: Option<&Draft>,
        new: &mut Draft,
    ) -> Result<(), Status> {
        let (name, namespace) = (new.text("name").to_owned(), new.text("namespace").to_owned());
        let mut taken = Taken::default();
        for stored in stored_objects(&*self.store, "services").await? {
            let other = Draft::of(&stored)?;
            let is_self = other.text("name") == name && other.text("namespace") == namespace;
            if let Some(Value::Object(spec)) = other.part("spec").filter(|_| !is_self) {
                taken.add(spec);
            }
        }
        let mut own = Taken::default();
        if let Some(Value::Object(spec)) = old.and_then(|old| old.part("spec")) {
            own.add(spec);
        }
        let spec = new.part_mut("spec");
        check(resource, &name, family_faults(spec))?;
        let faults = match taken.give_address(&own, spec) {
            faults if faults.is_empty() => taken.give_ports(&own, spec)?,
            faults => faults,
        };
        check(resource, &name, faults)
    }
}

/// Returns what a single-stack IPv4 cluster does not support.
fn family_faults(spec: &Map<String, Value>) -> Vec<StatusCause> {
    let selects = spec.get("selector").and_then(Value::as_object).is_some_and(|it| !it.is_empty());
    if !spec::needs_address(spec) || (spec::is_headless(spec) && !selects) {
        return Vec::new();
    }
    let mut faults = Vec::new();
    let mut add = |field: &str, value: &str, why: &str| faults.push(invalid_value(field, value, why));
    let families = spec.get("ipFamilies").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    match spec::text(spec, "ipFamilyPolicy") {
        policy @ "SingleStack" if families.len() == 2 => {
            let why =
                "must be 'RequireDualStack' or 'PreferDualStack' when multiple IP families are specified";
            add("spec.ipFamilyPolicy", policy, why);
            return faults;
        }
        policy @ "RequireDualStack" => {
            add("spec.ipFamilyPolicy", policy, "this cluster is not configured for dual-stack services");
        }
        _ => {}
    }
    for (at, family) in families.iter().filter_map(Value::as_str).enumerate() {
        if family != "IPv4" {
            add(&format!("spec.ipFamilies[{at}]"), family, "not configured on this cluster");
        }
    }
    faults
}

impl Taken {
    fn add(&mut self, spec: &Map<String, Value>) {
        let addresses = spec.get("clusterIPs").and_then(Value::as_array).into_iter().flatten();
        self.addresses.extend(addresses.filter_map(|text| text.as_str()?.parse::<Ipv4Addr>().ok()));
        self.ports.extend(spec::ports(spec).map(|port| spec::number(port, "nodePort")));
        self.ports.insert(spec::number(spec, "healthCheckNodePort"));
        self.ports.remove(&0);
    }

    fn give_address(&mut self, own: &Self, spec: &mut Map<String, Value>) -> Vec<StatusCause> {
        if !spec::needs_address(spec) || spec::is_headless(spec) {
            return Vec::new();
        }
        let asked_for = spec::text(spec, "clusterIP");
        if asked_for.is_empty() {
            let host = PREFERRED.chain(2..*PREFERRED.start());
            let free = host.map(address).find(|address| !self.addresses.contains(address));
            let Some(free) = free.map(|free| free.to_string()) else {
                let message = "Invalid value: null: failed to allocate IP: range is full";
                return vec![fault(CauseType::FieldValueInvalid, "spec.clusterIPs", message)];
            };
            spec.insert("clusterIPs".to_owned(), json!([free]));
            spec.insert("clusterIP".to_owned(), free.into());
            return Vec::new();
        }
        let Ok(wanted) = asked_for.parse::<Ipv4Addr>() else { return Vec::new() }; // left to validation
        let why = match wanted.octets() {
            _ if own.addresses.contains(&wanted) => return Vec::new(),
            [a, b, c, 1..=254] if [a, b, c] == NETWORK => {
                if self.addresses.contains(&wanted) {
                    "provided IP is already allocated"
                } else {
                    return Vec::new();
                }
            }
            _ => "the provided network does not match the current range",
        };
        let value = json!([asked_for]);
        let message = format!("Invalid value: {value}: failed to allocate IP {asked_for}: {why}");
        vec![fault(CauseType::FieldValueInvalid, "spec.clusterIPs", message)]
    }

    fn give_ports(&mut self, own: &Self, spec: &mut Map<String, Value>) -> Result<Vec<StatusCause>, Status> {
        let mut given: Vec<(i64, i64)> = Vec::new(); // service port, node port
        let mut reserved = self.reserved(own, spec);
        let gives = spec::needs_node_ports(spec);
        let asked: Vec<(i64, i64)> = spec::ports(spec)
            .map(|port| (spec::number(port, "port"), spec::number(port, "nodePort")))
            .collect();
        let takes = gives || spec::text(spec, "type") == "LoadBalancer";
        for (at, port) in spec::ports_mut(spec).enumerate().filter(|_| takes) {
            let (number, asked_for) = (spec::number(port, "port"), spec::number(port, "nodePort"));
            if asked_for == 0 && !gives {
                continue;
            }
            // The same port with two protocols shares a node port.
            let shared = given.iter().find(|(other, _)| *other == number).map(|(_, node)| *node);
            let node = match (asked_for, shared) {
                (0, Some(shared)) => shared,
                (asked_for, Some(shared)) if asked_for == shared => shared,
                (0, None) => match asked.iter().find(|(other, node)| *other == number && *node != 0) {
                    Some((_, node)) => *node,
                    None => free_port(&mut reserved)?,
                },
                (asked_for, _) => asked_for,
            };
            if shared != Some(node) && !own.ports.contains(&node) {
                if let Some(why) = self.refusal(node) {
                    let message = format!("Invalid value: {node}: {why}");
                    let field = format!("spec.ports[{at}].nodePort");
                    return Ok(vec![fault(CauseType::FieldValueInvalid, &field, message)]);
                }
                self.ports.insert(node);
            }
            given.push((number, node));
            port.insert("nodePort".to_owned(), node.into());
        }
        if spec::needs_health_port(spec) {
            let asked_for = spec::number(spec, "healthCheckNodePort");
            if asked_for == 0 {
                let free = free_port(&mut reserved)?;
                spec.insert("healthCheckNodePort".to_owned(), free.into());
            } else if let Some(why) = self.refusal(asked_for).filter(|_| !own.ports.contains(&asked_for)) {
                let message = format!("failed to allocate requested HealthCheck NodePort {asked_for}: {why}");
                return Err(Status::internal_error(message));
            }
        }
        Ok(Vec::new())
    }

    fn refusal(&self, port: i64) -> Option<&'static str> {
        if !NODE_PORTS.contains(&port) {
            return Some("provided port is not in the valid range. The range of valid ports is 30000-32767");
        }
        self.ports.contains(&port).then_some("provided port is already allocated")
    }

    /// Returns the node ports that are not free: those of other services, those that the service has had, and those that
    /// it asks for.
    fn reserved(&self, own: &Self, spec: &Map<String, Value>) -> BTreeSet<i64> {
        let mut all = Self { ports: &self.ports | &own.ports, ..Self::default() };
        all.add(spec);
        all.ports
    }
}

/// Takes the first node port that is not reserved.
fn free_port(reserved: &mut BTreeSet<i64>) -> Result<i64, Status> {
    let free = NODE_PORTS.clone().find(|port| !reserved.contains(port));
    let free = free.ok_or_else(|| Status::internal_error("failed to allocate a nodePort: range is full"))?;
    reserved.insert(free);
    Ok(free)
}

fn address(host: u8) -> Ipv4Addr {
    let [a, b, c] = NETWORK;
    Ipv4Addr::new(a, b, c, host)
}
