//! Host: a name or an address, as it stands in `Host` and in `Origin`.

use std::collections::HashSet;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The longest name that there can be.
const NAME_BYTES: usize = 253;

/// A name or an address.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Host {
    /// A name, in lower case and without the last dot.
    Name(String),
    /// An address.
    Address(IpAddr),
}

/// A host, and a port if there is one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The host.
    pub host: Host,
    /// The port.
    pub port: Option<u16>,
}

impl Place {
    /// Reads `name`, `name:80`, `1.2.3.4:80`, `[::1]:80`; `None` of anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let (host, port) = match text.strip_prefix('[') {
            Some(rest) => {
                let (address, after) = rest.split_once(']')?;
                (Host::Address(address.parse::<Ipv6Addr>().ok()?.to_canonical()), after)
            }
            None => {
                let (name, after) = text.split_at(text.find(':').unwrap_or(text.len()));
                (Host::named(name)?, after)
            }
        };
        let port = match port {
            "" | ":" => None,
            port => Some(number(port.strip_prefix(':')?)?),
        };
        Some(Self { host, port })
    }
}

/// A port, of digits alone.
fn number(digits: &str) -> Option<u16> {
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok()).flatten()
}

impl Host {
    fn named(text: &str) -> Option<Self> {
        if text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
            return Some(Self::Address(text.parse::<Ipv4Addr>().ok()?.into()));
        }
        let text = text.strip_suffix('.').unwrap_or(text);
        let legal = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        let labels = text.split('.').all(|label| !label.is_empty() && label.bytes().all(legal));
        (labels && text.len() <= NAME_BYTES).then(|| Self::Name(text.to_ascii_lowercase()))
    }

    /// Whether it is this machine, whoever asks. Other names below `localhost` are asked of resolvers by some systems.
    pub fn is_loopback(&self) -> bool {
        match self {
            Self::Name(name) => name == "localhost",
            Self::Address(address) => address.is_loopback(),
        }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
            Self::Address(address) => write!(f, "{address}"),
        }
    }
}

/// The hosts that a server goes by: this machine, and those that were allowed besides.
#[derive(Debug, Clone, Default)]
pub struct Hosts {
    allowed: HashSet<Host>,
}

impl Hosts {
    /// Allows another.
    pub fn allow(&mut self, host: Host) {
        self.allowed.insert(host);
    }

    /// Whether the server goes by this one.
    pub fn has(&self, host: &Host) -> bool {
        host.is_loopback() || self.allowed.contains(host)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        match Place::parse(text) {
            None => "none".to_owned(),
            Some(Place { host, port: None }) => host.to_string(),
            Some(Place { host, port: Some(port) }) => format!("{host} {port}"),
        }
    }

    #[test]
    fn hosts_are_read_with_their_ports() {
        for (text, expected) in [
            ("localhost", "localhost"),
            ("LocalHost.:8888", "localhost 8888"),
            ("127.0.0.1:80", "127.0.0.1 80"),
            ("[::1]:80", "[::1] 80"),
            ("[::ffff:127.0.0.1]", "127.0.0.1"),
            ("example.com:", "example.com"),
            ("a_b.example-1.com", "a_b.example-1.com"),
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_host_is_none() {
        for text in [
            "",
            ".",
            "..",
            "a..b",
            "127.0.0",
            "127.1:80",
            "1.2.3.4.5",
            "::1",
            "[::1",
            "[::1]80",
            "[::1%lo]",
            "a:b",
            "a:80:90",
            "a:+80",
            "a:65536",
            "user@localhost",
            "localhost/x",
            "local host",
            "lócalhost",
            "[]",
            "%6c",
        ] {
            assert_eq!(shown(text), "none", "{text}");
        }
        assert_eq!(shown(&"a.".repeat(200)), "none");
    }

    #[test]
    fn only_this_machine_and_what_was_allowed_is_known() {
        let mut hosts = Hosts::default();
        hosts.allow(Place::parse("keep.example").unwrap().host);
        let has = |text: &str| hosts.has(&Place::parse(text).unwrap().host);
        for text in ["localhost", "127.8.9.1", "[::1]", "[::ffff:127.0.0.1]", "KEEP.example.:1"] {
            assert!(has(text), "{text}");
        }
        for text in [
            "evil.example",
            "keep.example.evil",
            "evil.localhost",
            "10.0.0.1",
            "0.0.0.0",
            "[::]",
            "2130706433a",
        ] {
            assert!(!has(text), "{text}");
        }
    }
}
