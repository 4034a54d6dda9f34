//! Version order: kube-apiserver's version priority.

use std::cmp::Ordering;

/// The maturity of a version. Later variants come first in a list.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Alpha,
    Beta,
    Stable,
}

/// Orders versions as clients prefer them: `v2`, `v1`, `v1beta2`, `v1alpha1`, then any other name.
pub(super) fn by_preference(a: &str, b: &str) -> Ordering {
    match (parse(a), parse(b)) {
        (Some(a), Some(b)) => b.cmp(&a),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => a.cmp(b),
    }
}

fn parse(version: &str) -> Option<(Stage, u64, u64)> {
    let rest = version.strip_prefix('v')?;
    let digits = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
    let (major, rest) = rest.split_at(digits);
    let major = number(major)?;
    if rest.is_empty() {
        return Some((Stage::Stable, major, 0));
    }
    let (stage, minor) = match rest.strip_prefix("alpha") {
        Some(minor) => (Stage::Alpha, minor),
        None => (Stage::Beta, rest.strip_prefix("beta")?),
    };
    Some((stage, major, number(minor)?))
}

fn number(digits: &str) -> Option<u64> {
    let is_number = digits.bytes().all(|digit| digit.is_ascii_digit());
    digits.parse().ok().filter(|_| is_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stable_versions_come_first_and_newer_ones_before_older() {
        let mut versions =
            ["foo1", "v1alpha1", "v2", "v11beta2", "v10", "foo10", "v1", "v12alpha1", "v3beta1", "v0"];
        versions.sort_by(|a, b| by_preference(a, b));
        let expected =
            ["v10", "v2", "v1", "v0", "v11beta2", "v3beta1", "v12alpha1", "v1alpha1", "foo1", "foo10"];
        assert_eq!(versions, expected);
    }
}
