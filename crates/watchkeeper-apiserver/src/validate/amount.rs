//! Quantities of resources, and the names of resources.

use std::cmp::Ordering;

use serde_json::Value;
use watchkeeper_core::Quoted;

use super::faults::Faults;
use super::field::Field;
use super::selector::json_text;
use super::syntax::{label, qualified_name};

const NANO: i128 = 1_000_000_000;

/// A quantity, in billionths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Amount(i128);

impl Amount {
    /// Parses a canonical quantity; `None` if it is absent or invalid.
    pub(crate) fn of(value: &Value) -> Option<Self> {
        match value {
            Value::String(text) => Self::read(text),
            Value::Number(number) => Self::read(&number.to_string()),
            _ => None,
        }
    }

    fn read(text: &str) -> Option<Self> {
        let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
        let end = unsigned.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(unsigned.len());
        let (number, suffix) = unsigned.split_at(end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let mut nanos = whole.bytes().fold(0_i128, |sum, digit| {
            sum.saturating_mul(10).saturating_add(i128::from(digit.saturating_sub(b'0')))
        });
        nanos = nanos.saturating_mul(NANO);
        let mut place = NANO;
        for digit in fraction.bytes() {
            place /= 10;
            nanos = nanos.saturating_add(place * i128::from(digit.saturating_sub(b'0')));
        }
        let decimal = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
        let binary = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
        let nanos = if let Some(at) = binary.iter().position(|it| *it == suffix) {
            nanos.saturating_mul(1_i128 << (10 * at))
        } else {
            let exponent = match decimal.iter().position(|it| *it == suffix) {
                Some(at) => i32::try_from(at).ok()? * 3 - 9,
                None => suffix.strip_prefix(['e', 'E'])?.parse::<i32>().ok()?.clamp(-30, 30),
            };
            let factor = 10_i128.pow(exponent.unsigned_abs());
            if exponent < 0 { nanos / factor } else { nanos.saturating_mul(factor) }
        };
        Some(Self(if text.starts_with('-') { -nanos } else { nanos }))
    }

    /// Compares it with zero.
    pub(crate) fn sign(self) -> Ordering {
        self.0.cmp(&0)
    }

    /// Returns whether it is an integer. Go rounds up to thousandths first.
    pub(crate) fn is_whole(self) -> bool {
        const MILLI: i128 = NANO / 1000;
        let millis = self.0.div_euclid(MILLI) + i128::from(self.0.rem_euclid(MILLI) != 0);
        millis % 1000 == 0
    }

    /// Converts it to a float, to compare ratios.
    pub(crate) fn as_number(self) -> f64 {
        self.0 as f64 / NANO as f64
    }

    /// Rounds it up to an integer.
    pub(crate) fn rounded_up(self) -> i128 {
        self.0.div_euclid(NANO) + i128::from(self.0.rem_euclid(NANO) != 0)
    }
}

/// Formats a quantity.
pub(crate) fn written(field: &Field<'_>) -> String {
    match field.value() {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    }
}

/// Checks that a quantity is not negative, and an integer if its resource is indivisible.
pub(crate) fn quantity(resource: &str, field: &Field<'_>, faults: &mut Faults) {
    let Some(amount) = Amount::of(field.value()) else { return };
    if amount.sign() == Ordering::Less {
        faults.invalid_value(field, Quoted(&written(field)), "must be greater than or equal to 0");
    }
    if is_integer(resource) && !amount.is_whole() {
        faults.invalid_value(field, Quoted(&written(field)), "must be an integer");
    }
}

/// Checks that a quantity is positive. Returns whether it is.
pub(crate) fn positive(field: &Field<'_>, faults: &mut Faults) -> bool {
    let is_positive = Amount::of(field.value()).is_none_or(|amount| amount.sign() == Ordering::Greater);
    if !is_positive {
        faults.invalid_value(field, Quoted(&written(field)), "must be greater than zero");
    }
    is_positive
}

/// Checks the requests and limits of a container.
pub(crate) fn requirements(field: &Field<'_>, claims: &[&str], faults: &mut Faults) {
    let (limits, requests) = (field.child("limits"), field.child("requests"));
    let (mut has_basis, mut has_pages) = (false, false);
    let mut seen = |name: &str| {
        has_basis |= matches!(name, "cpu" | "memory");
        has_pages |= name.starts_with("hugepages-");
    };
    for (name, limit) in limits.entries() {
        container_resource(name, &limit, faults);
        quantity(name, &limit, faults);
        pages(name, &limit, faults);
        seen(name);
    }
    for (name, request) in requests.entries() {
        container_resource(name, &request, faults);
        quantity(name, &request, faults);
        let limit = limits.key(name);
        match (Amount::of(request.value()), Amount::of(limit.value())) {
            (Some(asked), Some(most)) if asked != most && !is_overcommitted(name) => {
                let why = format!("must be equal to {name} limit of {}", written(&limit));
                faults.invalid_value(&requests, Quoted(&written(&request)), &why);
            }
            (Some(asked), Some(most)) if asked > most => {
                let why = format!("must be less than or equal to {name} limit of {}", written(&limit));
                faults.invalid_value(&requests, Quoted(&written(&request)), &why);
            }
            (Some(_), None) if !is_overcommitted(name) => {
                faults.required(&limits, "Limit must be set for non overcommitable resources");
            }
            _ => {}
        }
        pages(name, &request, faults);
        seen(name);
    }
    if has_pages && !has_basis {
        faults.forbidden(field, "HugePages require cpu or memory");
    }
    claimed(&field.child("claims"), claims, faults);
}

fn claimed(list: &Field<'_>, claims: &[&str], faults: &mut Faults) {
    let mut seen: Vec<String> = Vec::new();
    for claim in list.items() {
        let (name, request) = (claim.child("name").text(), claim.child("request"));
        if name.is_empty() {
            faults.required(&claim, "");
            continue;
        }
        faults.malformed(&request, if request.is_empty() { Vec::new() } else { label(request.text()) });
        let key = if request.is_empty() { name.to_owned() } else { format!("{name}/{}", request.text()) };
        let part = format!("{name}/");
        if seen.iter().any(|it| it == name)
            || (request.is_empty() && seen.iter().any(|it| it.starts_with(&part)))
        {
            faults.duplicate_value(&claim, Quoted(name), "");
        } else if seen.contains(&key) {
            faults.duplicate_value(&claim, Quoted(&key), "");
        } else {
            seen.push(key);
        }
        if !claims.contains(&name) {
            let mut known = claims.to_vec();
            known.sort_unstable();
            let known = match known.as_slice() {
                [] => " which is empty".to_owned(),
                known => format!(": {}", known.join(", ")),
            };
            let why = format!("must be one of the names in pod.spec.resourceClaims{known}");
            faults.not_found(&claim, name, &why);
        }
    }
}

fn pages(name: &str, field: &Field<'_>, faults: &mut Faults) {
    let Some(size) = name.strip_prefix("hugepages-") else { return };
    let (Some(size), Some(amount)) = (Amount::read(size), Amount::of(field.value())) else { return };
    if size.0 <= 0 || amount.rounded_up() % size.rounded_up() != 0 {
        let amount = written(field);
        let why = format!("{amount} is not positive integer multiple of {name}");
        faults.invalid_value(field, Quoted(&amount), &why);
    }
}

/// Checks the name of a resource that a container may use.
pub(crate) fn container_resource(name: &str, at: &Field<'_>, faults: &mut Faults) {
    resource(name, at, faults);
    if !name.contains('/') {
        if !matches!(name, "cpu" | "memory" | "ephemeral-storage") && !name.starts_with("hugepages-") {
            faults.invalid_value(at, json_text(name), "must be a standard resource for containers");
        }
    } else if !is_native(name) && !is_extended(name) {
        faults.invalid_value(at, json_text(name), "doesn't follow extended resource name standard");
    }
}

/// Checks the name of a resource that a quota may count.
pub(crate) fn quota_resource(name: &str, at: &Field<'_>, faults: &mut Faults) {
    resource(name, at, faults);
    if !name.contains('/') && !is_quota_standard(name) {
        faults.invalid_value(at, json_text(name), "must be a standard resource for quota");
    }
}

/// Checks the name of any resource.
pub(crate) fn resource(name: &str, at: &Field<'_>, faults: &mut Faults) {
    let found = qualified_name(name);
    if found.is_empty() && !name.contains('/') && !is_quota_standard(name) && name != "storage" {
        let why = "must be a standard resource type or fully qualified";
        faults.invalid_value(at, json_text(name), why);
    }
    for why in found {
        faults.invalid_value(at, json_text(name), &why);
    }
}

const COUNTED: [&str; 9] = [
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "services.nodeports",
    "services.loadbalancers",
];

/// Returns whether a quota may count it under this unqualified name.
pub(crate) fn is_quota_standard(name: &str) -> bool {
    let bare = name.strip_prefix("requests.").or_else(|| name.strip_prefix("limits.")).unwrap_or(name);
    COUNTED.contains(&name)
        || matches!(bare, "cpu" | "memory" | "ephemeral-storage")
        || name == "requests.storage"
        || name.starts_with("hugepages-")
        || name.starts_with("requests.hugepages-")
}

fn is_integer(name: &str) -> bool {
    COUNTED.contains(&name) || is_extended(name)
}

/// Returns whether it is a native resource of nodes.
pub(crate) fn is_native(name: &str) -> bool {
    !name.contains('/') || name.contains("kubernetes.io/")
}

fn is_extended(name: &str) -> bool {
    !is_native(name)
        && !name.starts_with("requests.")
        && qualified_name(&format!("requests.{name}")).is_empty()
}

/// Returns whether it may be overcommitted.
pub(crate) fn is_overcommitted(name: &str) -> bool {
    is_native(name) && !name.starts_with("hugepages-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_compared_by_value() {
        let amount = |text: &str| Amount::read(text).unwrap();
        assert_eq!(amount("1000m"), amount("1"));
        assert_eq!(amount("1Ki"), amount("1024"));
        assert_eq!(amount("1e3"), amount("1k"));
        assert_eq!(amount("1.5"), amount("1500m"));
        assert!(amount("-1") < amount("0") && amount("1Gi") > amount("1G"));
        assert!(amount("2").is_whole() && !amount("1500m").is_whole());
        assert_eq!(amount("100m").rounded_up(), 1);
    }
}
