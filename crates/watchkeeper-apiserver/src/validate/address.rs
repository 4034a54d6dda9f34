//! IP addresses and CIDR ranges.

use std::net::{IpAddr, Ipv4Addr};

use watchkeeper_core::Quoted;

use super::faults::Faults;
use super::field::Field;

/// Parses an address as kube-apiserver does: leading zeros are accepted.
pub(crate) fn address(text: &str) -> Option<IpAddr> {
    text.parse().ok().or_else(|| sloppy(text))
}

fn sloppy(text: &str) -> Option<IpAddr> {
    let parts: Vec<&str> = text.split('.').collect();
    let [a, b, c, d] = parts.as_slice() else { return None };
    let part = |text: &str| match text.len() {
        1..=3 if text.bytes().all(|byte| byte.is_ascii_digit()) => text.parse::<u8>().ok(),
        _ => None,
    };
    Some(Ipv4Addr::new(part(a)?, part(b)?, part(c)?, part(d)?).into())
}

/// Checks an address; those in `before` are accepted. Returns whether it is valid.
pub(crate) fn ip(at: &Field<'_>, before: &[&str], faults: &mut Faults) -> bool {
    let text = at.text();
    if before.contains(&text) {
        return true;
    }
    let Some(_) = address(text) else {
        let why = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
        faults.invalid_value(at, Quoted(text), why);
        return false;
    };
    let count = faults.len();
    match text.parse::<IpAddr>() {
        Err(_) => faults.invalid_value(at, Quoted(text), "must not have leading 0s"),
        Ok(IpAddr::V6(six)) if six.to_ipv4_mapped().is_some() => {
            faults.invalid_value(at, Quoted(text), "must not be an IPv4-mapped IPv6 address");
        }
        Ok(_) => {}
    }
    faults.len() == count
}

/// Checks that traffic can be sent to an address.
pub(crate) fn endpoint(at: &Field<'_>, faults: &mut Faults) {
    let text = at.text();
    let Some(found) = address(text) else {
        faults.invalid_value(at, Quoted(text), "must be a valid IP address");
        return;
    };
    let found = found.to_canonical();
    let mut refuse = |is_refused: bool, why: &str| {
        if is_refused {
            faults.invalid_value(at, Quoted(text), why);
        }
    };
    refuse(found.is_unspecified(), &format!("may not be unspecified ({text})"));
    refuse(found.is_loopback(), "may not be in the loopback range (127.0.0.0/8, ::1/128)");
    let (is_unicast, is_multicast) = match found {
        IpAddr::V4(four) => (four.is_link_local(), four.octets()[..3] == [224, 0, 0]),
        IpAddr::V6(six) => (six.segments()[0] & 0xffc0 == 0xfe80, six.segments()[0] & 0xff0f == 0xff02),
    };
    refuse(is_unicast, "may not be in the link-local range (169.254.0.0/16, fe80::/10)");
    refuse(is_multicast, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)");
}

/// A range: its first address and the length of its prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Range {
    first: IpAddr,
    bits: u32,
}

impl Range {
    /// Parses `10.0.0.0/8`.
    pub(crate) fn of(text: &str) -> Option<Self> {
        let (first, bits) = text.split_once('/')?;
        let first = address(first)?;
        let is_number = !bits.is_empty() && bits.len() < 4 && bits.bytes().all(|byte| byte.is_ascii_digit());
        let bits = bits.parse().ok().filter(|_| is_number)?;
        (bits <= width(first)).then_some(Self { first, bits })
    }

    /// Returns whether another range is a strict subset of this one.
    pub(crate) fn exceeds(self, other: Self) -> bool {
        self.first.is_ipv4() == other.first.is_ipv4()
            && self.bits < other.bits
            && (number(self.first) ^ number(other.first))
                .checked_shr(width(self.first) - self.bits)
                .unwrap_or_default()
                == 0
    }

    fn has_stray_bits(self) -> bool {
        let free = width(self.first) - self.bits;
        free > 0 && number(self.first).trailing_zeros() < free && number(self.first) != 0
    }
}

fn width(address: IpAddr) -> u32 {
    if address.is_ipv4() { 32 } else { 128 }
}

fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(four) => u128::from(four.to_bits()),
        IpAddr::V6(six) => six.to_bits(),
    }
}

/// Checks a range; those in `before` are accepted.
pub(crate) fn range(at: &Field<'_>, text: &str, before: &[&str], faults: &mut Faults) {
    if before.contains(&text) {
        return;
    }
    let Some(found) = Range::of(text) else {
        let why = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";
        faults.invalid_value(at, Quoted(text), why);
        return;
    };
    let (first, bits) = text.split_once('/').unwrap_or_default();
    if first.parse::<IpAddr>().is_err() || (bits.len() > 1 && bits.starts_with('0')) {
        faults.invalid_value(at, Quoted(text), "must not have leading 0s in IP or prefix length");
    } else if matches!(found.first, IpAddr::V6(six) if six.to_ipv4_mapped().is_some()) {
        faults.invalid_value(at, Quoted(text), "must not have an IPv4-mapped IPv6 address");
    } else if found.has_stray_bits() {
        faults.invalid_value(at, Quoted(text), "must not have bits set beyond the prefix length");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_contains_smaller_ones_that_begin_in_it() {
        let range = |text: &str| Range::of(text).unwrap();
        assert!(range("10.0.0.0/8").exceeds(range("10.1.0.0/16")));
        assert!(!range("10.0.0.0/8").exceeds(range("10.0.0.0/8")));
        assert!(!range("10.0.0.0/8").exceeds(range("11.0.0.0/16")));
        assert!(range("0.0.0.0/0").exceeds(range("11.0.0.0/16")));
        assert!(range("::/0").exceeds(range("fe80::/10")));
        assert!(range("10.0.0.1/8").has_stray_bits() && !range("10.0.0.0/8").has_stray_bits());
        assert_eq!(Range::of("10.0.0.0/33"), None);
        assert_eq!(address("010.0.0.1"), address("10.0.0.1"));
    }
}
