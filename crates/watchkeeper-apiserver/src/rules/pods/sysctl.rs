//! Sysctls: unique names of kernel parameters.

use std::borrow::Cow;
use std::collections::HashSet;

use crate::validate::faults::Faults;
use crate::validate::field::Field;

/// The maximum length of a name.
const NAME_LENGTH: usize = 253;

const PATTERN: &str = r"^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$";

/// The parameters of the IPC namespace, besides all below `fs.mqueue`.
const IPC: [&str; 10] = [
    "kernel.sem",
    "kernel.shmall",
    "kernel.shmmax",
    "kernel.shmmni",
    "kernel.shm_rmid_forced",
    "kernel.shm",
    "kernel.msgmax",
    "kernel.msgmnb",
    "kernel.msgmni",
    "kernel.msg",
];

/// Checks the sysctls of a pod.
pub(super) fn sysctls(spec: &Field<'_>, field: &Field<'_>, faults: &mut Faults) {
    let mut seen = HashSet::new();
    for sysctl in field.items() {
        let name = sysctl.child("name");
        if name.is_empty() {
            faults.required(&name, "");
        } else if !is_name(name.text()) {
            let why = format!("must have at most {NAME_LENGTH} characters and match regex {PATTERN}");
            faults.invalid(&name, &why);
        } else if seen.contains(name.text()) {
            faults.duplicate(&name);
        }
        let dotted = dotted(name.text());
        if spec.child("hostNetwork").is_true() && dotted.starts_with("net.") {
            faults.invalid(&name, "may not be specified when 'hostNetwork' is true");
        } else if spec.child("hostIPC").is_true()
            && (dotted.starts_with("fs.mqueue.") || IPC.contains(&&*dotted))
        {
            faults.invalid(&name, "may not be specified when 'hostIPC' is true");
        }
        seen.insert(name.text());
    }
}

/// Returns whether a string matches [`PATTERN`] and is not too long.
fn is_name(text: &str) -> bool {
    let is_end = |byte: Option<&u8>| byte.is_some_and(|it| it.is_ascii_lowercase() || it.is_ascii_digit());
    let is_segment = |segment: &str| {
        let bytes = segment.as_bytes();
        let is_inner = |it: &u8| is_end(Some(it)) || matches!(it, b'-' | b'_');
        is_end(bytes.first()) && is_end(bytes.last()) && bytes.iter().all(is_inner)
    };
    text.len() <= NAME_LENGTH && text.split(['.', '/']).all(is_segment)
}

/// Returns a name with dots as separators. If its first separator is a slash, dots and slashes are swapped.
fn dotted(name: &str) -> Cow<'_, str> {
    match name.find(['.', '/']) {
        Some(first) if name.as_bytes()[first] == b'/' => {
            let swapped = name.chars().map(|c| match c {
                '.' => '/',
                '/' => '.',
                c => c,
            });
            Cow::Owned(swapped.collect())
        }
        _ => Cow::Borrowed(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_match_the_pattern_of_kernel_parameters() {
        for name in ["kernel.shm_rmid_forced", "net/ipv4/conf.eth0-1/x", "a", "net.ipv4.ip_local_port_range"]
        {
            assert!(is_name(name), "{name}");
        }
        let long = "a".repeat(NAME_LENGTH + 1);
        for name in ["", "Kernel.sem", "a..b", ".a", "a.", "a_", "-a", "a b", "net.*", "ä", &long] {
            assert!(!is_name(name), "{name}");
        }
    }

    #[test]
    fn slashes_and_dots_are_swapped() {
        assert_eq!(dotted("net/ipv4/conf/eth0.1/x"), "net.ipv4.conf.eth0/1.x");
        assert_eq!(dotted("net.ipv4.a/b"), "net.ipv4.a/b");
        assert_eq!(dotted("net"), "net");
    }
}
