//! The host name and addresses of a server that listens on all interfaces.
//!
//! Input: the operating system.
//! Output: the server's certificate, so that clients on other machines can verify it.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};

/// The maximum number of names in a certificate: a machine with many containers can have hundreds of addresses.
const NAMES: usize = 64;

/// Returns the host name and the addresses of this machine, except loopback and link-local ones.
pub(crate) fn names() -> Vec<String> {
    let mut names: Vec<String> = host_name().into_iter().collect();
    let routed = [outgoing(Ipv4Addr::UNSPECIFIED.into()), outgoing(Ipv6Addr::UNSPECIFIED.into())];
    let read = |path| fs::read_to_string(path).unwrap_or_default(); // these files exist only on Linux
    let local = read("/proc/net/fib_trie");
    let local_v6 = read("/proc/net/if_inet6");
    let addresses = routed.into_iter().flatten();
    for address in addresses.chain(parse_v4(&local)).chain(parse_v6(&local_v6)).filter(|it| is_useful(*it)) {
        let name = address.to_string();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.truncate(NAMES);
    names
}

fn is_useful(address: IpAddr) -> bool {
    let is_link_local = match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    };
    !(address.is_loopback() || address.is_unspecified() || address.is_multicast() || is_link_local)
}

/// Returns the host name, if it is a DNS name.
fn host_name() -> Option<String> {
    let read = || fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let name = std::env::var("HOSTNAME").ok().or_else(read)?.trim().to_ascii_lowercase();
    let is_label = |label: &str| {
        !label.is_empty()
            && label.len() <= 63
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    (name.len() <= 253 && name.split('.').all(is_label)).then_some(name)
}

/// Returns the source address of packets to other machines, given the unspecified address of its family. Sends
/// nothing.
pub(crate) fn outgoing(any: IpAddr) -> Option<IpAddr> {
    // Addresses reserved for documentation, which take the default route.
    let elsewhere: IpAddr = match any {
        IpAddr::V4(_) => Ipv4Addr::new(192, 0, 2, 1).into(),
        IpAddr::V6(_) => Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1).into(),
    };
    let socket = UdpSocket::bind((any, 0)).ok()?;
    socket.connect((elsewhere, 9)).ok()?;
    Some(socket.local_addr().ok()?.ip())
}

/// Returns the local addresses in Linux's routing table: a line with the address, followed by one that marks it as
/// local.
fn parse_v4(table: &str) -> impl Iterator<Item = IpAddr> {
    let lines = table.lines().map(str::trim);
    lines.clone().zip(lines.skip(1)).filter_map(|(line, next)| {
        let address = line.strip_prefix("|-- ")?;
        (next == "/32 host LOCAL").then(|| address.parse().ok())?
    })
}

/// Returns the addresses in Linux's interface table: 32 hexadecimal digits at the start of a line.
fn parse_v6(table: &str) -> impl Iterator<Item = IpAddr> {
    table.lines().filter_map(|line| {
        let digits = line.split_whitespace().next().filter(|digits| digits.len() == 32)?;
        Some(Ipv6Addr::from_bits(u128::from_str_radix(digits, 16).ok()?).into())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_from_the_tables_of_linux() {
        let table = "Local:\n  +-- 0.0.0.0/0 3 0 5\n     |-- 10.1.2.3\n        /32 host LOCAL\n     |-- 10.1.2.255\n        \
                     /32 link BROADCAST\n     |-- 127.0.0.1\n        /32 host LOCAL\n";
        let found: Vec<_> = parse_v4(table).filter(|it| is_useful(*it)).map(|it| it.to_string()).collect();
        assert_eq!(found, ["10.1.2.3"]);
        let table = "20010db8000000000000000000000005 02 40 00 80     eth0\n\
                     fe800000000000000000000000000001 02 40 20 80     eth0\n\
                     00000000000000000000000000000001 01 80 10 80       lo\n";
        let found: Vec<_> = parse_v6(table).filter(|it| is_useful(*it)).map(|it| it.to_string()).collect();
        assert_eq!(found, ["2001:db8::5"]);
    }

    #[test]
    fn the_names_of_this_machine_are_valid_in_a_certificate() {
        let names = names();
        assert!(names.len() <= NAMES);
        crate::http::Authority::generate().unwrap().sign_server(&names).unwrap();
    }
}
