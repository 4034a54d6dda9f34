//! Fleet: the machines that are simulated.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use parking_lot::Mutex;
use tokio::sync::Notify;

/// The addresses of all pods: 10.128.0.0/9.
const PODS: u32 = u32::from_be_bytes([10, 128, 0, 0]);
const PODS_BITS: u32 = 23;
/// The addresses of all machines: 172.18.0.0/16, of which the first is that of whoever hosts them.
const MACHINES: u32 = u32::from_be_bytes([172, 18, 0, 2]);
/// No machine has more addresses for pods than 2^14.
const MOST_BITS: u32 = 14;

/// All machines, and which of them are lost.
pub(crate) struct Fleet {
    machines: Vec<Machine>,
    lost: Mutex<BTreeSet<String>>,
    /// Told whenever a machine is back.
    pub(crate) returned: Notify,
}

/// A machine: the node of its name is its word on itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Machine {
    pub(crate) name: String,
    pub(crate) address: Ipv4Addr,
    /// The first of the addresses of its pods.
    network: u32,
    /// How many bits those are told apart by.
    bits: u32,
}

impl Fleet {
    /// `node-1` and so on.
    pub(crate) fn new(count: u32) -> Self {
        let bits =
            PODS_BITS.saturating_sub(u32::BITS - count.saturating_sub(1).leading_zeros()).min(MOST_BITS);
        let machines = (0..count).map(|number| Machine::new(number, bits)).collect();
        Self { machines, lost: Mutex::default(), returned: Notify::new() }
    }

    pub(crate) fn machines(&self) -> &[Machine] {
        &self.machines
    }

    pub(crate) fn machine(&self, name: &str) -> Option<&Machine> {
        self.machines.iter().find(|machine| machine.name == name)
    }

    pub(crate) fn is_lost(&self, name: &str) -> bool {
        self.lost.lock().contains(name)
    }

    /// Whether there is such a machine. It does and says nothing from now on.
    pub(crate) fn lose(&self, name: &str) -> bool {
        let is_known = self.machine(name).is_some();
        if is_known {
            self.lost.lock().insert(name.to_owned());
        }
        is_known
    }

    /// Whether there is such a machine. It goes on where it was.
    pub(crate) fn restore(&self, name: &str) -> bool {
        let is_known = self.machine(name).is_some();
        if self.lost.lock().remove(name) {
            self.returned.notify_one();
        }
        is_known
    }
}

impl Machine {
    /// The one of a number, where all have so many bits for their pods.
    pub(crate) fn new(number: u32, bits: u32) -> Self {
        Self {
            name: format!("node-{}", number + 1),
            address: MACHINES.wrapping_add(number).into(),
            network: PODS.wrapping_add(number << bits),
            bits,
        }
    }

    /// How many pods have an address of their own here: not the network's, nor the one for all.
    pub(crate) fn room(&self) -> u32 {
        (1 << self.bits) - 2
    }

    /// The address of a number below [`room`](Self::room).
    pub(crate) fn pod_address(&self, number: u32) -> Ipv4Addr {
        (self.network + 1 + number).into()
    }

    /// The number of an address, if it is one of these.
    pub(crate) fn pod_number(&self, address: Ipv4Addr) -> Option<u32> {
        u32::from(address).checked_sub(self.network + 1).filter(|number| *number < self.room())
    }

    /// `10.128.64.0/18`.
    pub(crate) fn pod_network(&self) -> String {
        format!("{}/{}", Ipv4Addr::from(self.network), u32::BITS - self.bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_of_machines_lie_side_by_side() {
        let fleet = Fleet::new(3);
        let said: Vec<String> = fleet
            .machines()
            .iter()
            .map(|it| format!("{} {} {}", it.name, it.address, it.pod_network()))
            .collect();
        assert_eq!(
            said,
            [
                "node-1 172.18.0.2 10.128.0.0/18",
                "node-2 172.18.0.3 10.128.64.0/18",
                "node-3 172.18.0.4 10.128.128.0/18"
            ]
        );
        let second = fleet.machine("node-2").unwrap();
        assert_eq!(second.pod_address(0).to_string(), "10.128.64.1");
        assert_eq!(second.pod_number("10.128.64.1".parse().unwrap()), Some(0));
        assert_eq!(second.pod_number("10.128.63.255".parse().unwrap()), None);
        assert_eq!(second.pod_number("10.128.127.255".parse().unwrap()), None);
    }

    #[test]
    fn very_many_machines_have_less_room_each() {
        let fleet = Fleet::new(5_000);
        let last = fleet.machines().last().unwrap();
        assert_eq!(last.pod_network(), "10.206.28.0/22");
        assert_eq!((last.room(), last.address.to_string().as_str()), (1_022, "172.18.19.137"));
        assert_eq!(Fleet::new(0).machines(), []);
    }
}
