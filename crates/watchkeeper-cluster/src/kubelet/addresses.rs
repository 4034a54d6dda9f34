//! Pod IP addresses (`kubelet.K3`).

use std::collections::{HashMap, HashSet};
use std::net::Ipv4Addr;

use parking_lot::Mutex;

use crate::nodes::Machine;

/// The allocated addresses.
#[derive(Default)]
pub(super) struct Addresses {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    by_uid: HashMap<String, Ipv4Addr>,
    taken: HashSet<Ipv4Addr>,
    /// Per machine, the number after the last one allocated, so that addresses are not reused at once.
    next: HashMap<String, u32>,
}

impl Addresses {
    /// Returns the address of a pod: its current one if no other pod has it, or the next free one. Returns
    /// `None` if all are taken.
    pub(super) fn take(&self, machine: &Machine, uid: &str, has: Option<&str>) -> Option<Ipv4Addr> {
        let mut state = self.state.lock();
        if let Some(address) = state.by_uid.get(uid) {
            return Some(*address);
        }
        let has = has.and_then(|text| text.parse::<Ipv4Addr>().ok());
        let has =
            has.filter(|address| machine.pod_number(*address).is_some() && !state.taken.contains(address));
        let address = has.or_else(|| state.free(machine))?;
        state.taken.insert(address);
        state.by_uid.insert(uid.to_owned(), address);
        Some(address)
    }

    pub(super) fn release(&self, uid: &str) {
        let mut state = self.state.lock();
        if let Some(address) = state.by_uid.remove(uid) {
            state.taken.remove(&address);
        }
    }
}

impl State {
    fn free(&mut self, machine: &Machine) -> Option<Ipv4Addr> {
        let first = self.next.get(&machine.name).copied().unwrap_or(0);
        let mut numbers = (first..machine.room()).chain(0..first);
        let number = numbers.find(|number| !self.taken.contains(&machine.pod_address(*number)))?;
        self.next.insert(machine.name.clone(), (number + 1) % machine.room());
        Some(machine.pod_address(number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_belongs_to_one_pod_until_released() {
        let machine = &Machine::new(0, 2); // two addresses
        let addresses = Addresses::default();
        let take = |uid: &str, has: Option<&str>| addresses.take(machine, uid, has).map(|it| it.to_string());
        assert_eq!(take("a", None).as_deref(), Some("10.128.0.1"));
        assert_eq!(take("a", None).as_deref(), Some("10.128.0.1"));
        assert_eq!(take("b", Some("10.128.0.1")).as_deref(), Some("10.128.0.2"));
        assert_eq!(take("c", None), None);
        addresses.release("a");
        assert_eq!(take("c", Some("10.128.0.1")).as_deref(), Some("10.128.0.1"));
        addresses.release("b");
        assert_eq!(take("d", Some("192.168.0.1")).as_deref(), Some("10.128.0.2"));
    }
}
