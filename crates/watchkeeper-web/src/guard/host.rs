//! Hosts in `Host` and `Origin` headers.

use std::collections::HashSet;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Maximum length of a DNS name, in bytes.
const NAME_BYTES: usize = 253;

/// A DNS name or IP address.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Host {
    /// A name in lower case, without a trailing dot.
    Name(String),
    /// An IP address.
    Address(IpAddr),
}

/// A host with an optional port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Authority {
    /// Host.
    pub host: Host,
    /// Port.
    pub port: Option<u16>,
}

impl Authority {
    /// Parses `name`, `name:80`, `1.2.3.4:80` or `[::1]:80`.
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

/// Parses a port; only digits are allowed.
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

    /// Returns whether it is this machine. Excludes subdomains of `localhost`, which some systems resolve through DNS.
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

/// The hosts that a server answers to: this machine and the allowed ones.
#[derive(Debug, Clone, Default)]
pub struct Hosts {
    allowed: HashSet<Host>,
}

impl Hosts {
    /// Allows a host.
    pub fn allow(&mut self, host: Host) {
        self.allowed.insert(host);
    }

    /// Returns whether the server answers to this host.
    pub fn contains(&self, host: &Host) -> bool {
        host.is_loopback() || self.allowed.contains(host)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        match Authority::parse(text) {
            None => "none".to_owned(),
            Some(Authority { host, port: None }) => host.to_string(),
            Some(Authority { host, port: Some(port) }) => format!("{host} {port}"),
        }
    }

    #[test]
    fn hosts_and_ports_are_parsed() {
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
    fn invalid_hosts_are_rejected() {
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
    fn only_loopback_and_allowed_hosts_match() {
        let mut hosts = Hosts::default();
        hosts.allow(Authority::parse("keep.example").unwrap().host);
        let has = |text: &str| hosts.contains(&Authority::parse(text).unwrap().host);
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
