//! The simulated machines.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use parking_lot::Mutex;
use tokio::sync::Notify;

/// Pod network: 10.128.0.0/9.
const PODS: u32 = u32::from_be_bytes([10, 128, 0, 0]);
const PODS_BITS: u32 = 23;
/// First machine in 172.18.0.0/16; the address before it is the host's.
const MACHINES: u32 = u32::from_be_bytes([172, 18, 0, 2]);
/// A machine has at most 2^14 pod addresses.
const MAX_BITS: u32 = 14;

/// All machines, and which of them have failed.
pub(crate) struct SimulatedNodes {
    machines: Vec<Machine>,
    lost: Mutex<BTreeSet<String>>,
    /// Notified when a machine recovers.
    pub(crate) returned: Notify,
}

/// A simulated machine, which registers the node of the same name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Machine {
    pub(crate) name: String,
    pub(crate) address: Ipv4Addr,
    /// First address of its pod network.
    network: u32,
    /// Size of its pod network, in bits.
    bits: u32,
}

impl SimulatedNodes {
    /// Creates machines `node-1` and so on.
    pub(crate) fn new(count: u32) -> Self {
        let bits =
            PODS_BITS.saturating_sub(u32::BITS - count.saturating_sub(1).leading_zeros()).min(MAX_BITS);
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

    /// Makes a machine fail, and returns whether it exists.
    pub(crate) fn lose(&self, name: &str) -> bool {
        let is_known = self.machine(name).is_some();
        if is_known {
            self.lost.lock().insert(name.to_owned());
        }
        is_known
    }

    /// Recovers a machine, and returns whether it exists.
    pub(crate) fn restore(&self, name: &str) -> bool {
        let is_known = self.machine(name).is_some();
        if self.lost.lock().remove(name) {
            self.returned.notify_one();
        }
        is_known
    }
}

impl Machine {
    /// Creates the machine with this number, with `bits` bits of pod addresses.
    pub(crate) fn new(number: u32, bits: u32) -> Self {
        Self {
            name: format!("node-{}", number + 1),
            address: MACHINES.wrapping_add(number).into(),
            network: PODS.wrapping_add(number << bits),
            bits,
        }
    }

    /// Returns the number of pod addresses, without network and broadcast address.
    pub(crate) fn room(&self) -> u32 {
        (1 << self.bits) - 2
    }

    /// Returns the address with a number below [`room`](Self::room).
    pub(crate) fn pod_address(&self, number: u32) -> Ipv4Addr {
        (self.network + 1 + number).into()
    }

    /// Returns the number of an address in its pod network.
    pub(crate) fn pod_number(&self, address: Ipv4Addr) -> Option<u32> {
        u32::from(address).checked_sub(self.network + 1).filter(|number| *number < self.room())
    }

    /// Returns the pod network in CIDR notation, such as `10.128.64.0/18`.
    pub(crate) fn pod_network(&self) -> String {
        format!("{}/{}", Ipv4Addr::from(self.network), u32::BITS - self.bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pod_networks_are_adjacent() {
        let simulated = SimulatedNodes::new(3);
        let networks: Vec<String> = simulated
            .machines()
            .iter()
            .map(|it| format!("{} {} {}", it.name, it.address, it.pod_network()))
            .collect();
        assert_eq!(
            networks,
            [
                "node-1 172.18.0.2 10.128.0.0/18",
                "node-2 172.18.0.3 10.128.64.0/18",
                "node-3 172.18.0.4 10.128.128.0/18"
            ]
        );
        let second = simulated.machine("node-2").unwrap();
        assert_eq!(second.pod_address(0).to_string(), "10.128.64.1");
        assert_eq!(second.pod_number("10.128.64.1".parse().unwrap()), Some(0));
        assert_eq!(second.pod_number("10.128.63.255".parse().unwrap()), None);
        assert_eq!(second.pod_number("10.128.127.255".parse().unwrap()), None);
    }

    #[test]
    fn more_machines_have_smaller_pod_networks() {
        let simulated = SimulatedNodes::new(5_000);
        let last = simulated.machines().last().unwrap();
        assert_eq!(last.pod_network(), "10.206.28.0/22");
        assert_eq!((last.room(), last.address.to_string().as_str()), (1_022, "172.18.19.137"));
        assert_eq!(SimulatedNodes::new(0).machines(), []);
    }
}
