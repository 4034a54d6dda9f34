//! Limit ranges.

use watchkeeper_core::Quoted;

use crate::rules::KindRules;
use crate::validate::amount::{Amount, container_resource, is_overcommitted, resource, written};
use crate::validate::faults::Faults;
use crate::validate::field::{Field, Object};
use crate::validate::selector::json_text;
use crate::validate::syntax::qualified_name;

#[derive(Debug)]
pub(in crate::rules) struct LimitRanges;

impl KindRules for LimitRanges {
    fn generates_name(&self) -> bool {
        true
    }

    fn allow_create_on_update(&self) -> bool {
        true
    }

    fn validate_content(&self, _old: Option<Object<'_>>, new: Object<'_>, faults: &mut Faults) {
        validate_limits(new, faults);
    }

    fn validate_update(&self, old: Object<'_>, new: Object<'_>, faults: &mut Faults) {
        self.validate_metadata(new, faults);
        self.validate_content(Some(old), new, faults);
    }
}

/// Checks a limit range, except for its metadata.
fn validate_limits(object: Object<'_>, faults: &mut Faults) {
    let mut seen = Vec::new();
    for limit in object.field("spec").child("limits").items() {
        let kind = limit.child("type");
        let found = qualified_name(kind.text());
        if found.is_empty() && !kind.text().contains('/') && !LIMITED.contains(&kind.text()) {
            let why = "must be a standard limit type or fully qualified";
            faults.invalid_value(&kind, json_text(kind.text()), why);
        }
        for why in found {
            faults.invalid_value(&kind, json_text(kind.text()), &why);
        }
        if seen.contains(&kind.text()) {
            faults.duplicate_value(&kind, json_text(kind.text()), "");
        }
        seen.push(kind.text());
        limit_names(&limit, faults);
        limit_amounts(&limit, faults);
    }
}

const LIMITED: [&str; 3] = ["Pod", "Container", "PersistentVolumeClaim"];

fn limit_names(limit: &Field<'_>, faults: &mut Faults) {
    let kind = limit.child("type").text();
    let named = |part: &str, faults: &mut Faults| {
        for (name, amount) in limit.child(part).entries() {
            match kind {
                "Pod" | "Container" => container_resource(name, &amount, faults),
                _ => resource(name, &amount, faults),
            }
        }
    };
    named("max", faults);
    named("min", faults);
    for part in ["default", "defaultRequest"] {
        if kind != "Pod" {
            named(part, faults);
        } else if !limit.child(part).is_empty() {
            faults.forbidden(&limit.child(part), "may not be specified when `type` is 'Pod'");
        }
    }
    let has_storage = |part: &str| limit.child(part).key("storage").is_set();
    if kind == "PersistentVolumeClaim" && !has_storage("min") && !has_storage("max") {
        let why = "either minimum or maximum storage value is required, but neither was provided";
        faults.required(&limit.child("limits"), why);
    }
    named("maxLimitRequestRatio", faults);
}

fn limit_amounts(limit: &Field<'_>, faults: &mut Faults) {
    let parts = ["max", "min", "default", "defaultRequest", "maxLimitRequestRatio"];
    let mut names: Vec<&str> = Vec::new();
    for part in parts.map(|part| limit.child(part)) {
        names.extend(part.entries().map(|(name, _)| name));
    }
    names.sort_unstable();
    names.dedup();
    let is_pod = limit.child("type").text() == "Pod";
    for name in names {
        let at = |part: &str| limit.child(part).key(name);
        let amount =
            |part: &str| Amount::of(at(part).value()).filter(|_| !(is_pod && part.starts_with("default")));
        let mut greater = |left: (&str, &str), right: (&str, &str), place: &str, shows: &str| {
            if let (Some(one), Some(other)) = (amount(left.0), amount(right.0))
                && one > other
            {
                let why = format!(
                    "{} value {} is greater than {} value {}",
                    left.1,
                    written(&at(left.0)),
                    right.1,
                    written(&at(right.0))
                );
                faults.invalid_value(&at(place), Quoted(&written(&at(shows))), &why);
            }
        };
        let (min, max) = (("min", "min"), ("max", "max"));
        let (default, request) = (("default", "default"), ("defaultRequest", "default request"));
        greater(min, max, "min", "min");
        greater(min, request, "defaultRequest", "defaultRequest");
        greater(request, max, "defaultRequest", "defaultRequest");
        greater(request, ("default", "default limit"), "defaultRequest", "defaultRequest");
        greater(min, default, "default", "min");
        greater(default, max, "default", "max");
        if amount("maxLimitRequestRatio").is_some_and(|ratio| ratio < one()) {
            let ratio = written(&at("maxLimitRequestRatio"));
            let why = format!("ratio {ratio} is less than 1");
            faults.invalid_value(&at("maxLimitRequestRatio"), Quoted(&ratio), &why);
        }
        if let (Some(ratio), Some(min), Some(max)) =
            (amount("maxLimitRequestRatio"), amount("min"), amount("max"))
            && ratio.as_number() > max.as_number() / min.as_number()
        {
            let most = max.as_number() / min.as_number();
            let ratio = written(&at("maxLimitRequestRatio"));
            let why = format!("ratio {ratio} is greater than max/min = {most:.6}");
            faults.invalid_value(&at("maxLimitRequestRatio"), Quoted(&ratio), &why);
        }
        if !is_overcommitted(name)
            && let (Some(one), Some(other)) = (amount("default"), amount("defaultRequest"))
            && one != other
        {
            let (one, other) = (written(&at("default")), written(&at("defaultRequest")));
            let why = format!("default value {one} must equal to defaultRequest value {other} in {name}");
            faults.invalid_value(&at("defaultRequest"), Quoted(&other), &why);
        }
    }
}

fn one() -> Amount {
    Amount::of(&1.into()).expect("one is an amount")
}
