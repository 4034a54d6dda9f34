//! Resource quotas.

use crate::rules::KindRules;
use crate::validate::amount::{is_quota_standard, quantity, quota_resource};
use crate::validate::faults::{Faults, json};
use crate::validate::field::{Field, Object};
use crate::validate::selector::json_text;

const SCOPES: [&str; 7] = [
    "Terminating",
    "NotTerminating",
    "BestEffort",
    "NotBestEffort",
    "PriorityClass",
    "VolumeAttributesClass",
    "CrossNamespacePodAffinity",
];

#[derive(Debug)]
pub(in crate::rules) struct ResourceQuotas;

impl KindRules for ResourceQuotas {
    fn return_deleted_object(&self) -> bool {
        true
    }

    fn validate_content(&self, _old: Option<Object<'_>>, new: Object<'_>, faults: &mut Faults) {
        validate_quota(new, faults);
    }

    fn validate_update(&self, old: Object<'_>, new: Object<'_>, faults: &mut Faults) {
        self.validate_metadata_update(old, new, faults);
        self.validate_content(Some(old), new, faults);
        validate_quota_update(old, new, faults);
    }
}

/// Checks a quota, except for its metadata.
fn validate_quota(object: Object<'_>, faults: &mut Faults) {
    let spec = object.field("spec");
    for (name, amount) in spec.child("hard").entries() {
        quota_resource(name, &amount, faults);
        quantity(name, &amount, faults);
    }
    let scopes = spec.child("scopes");
    for scope in scopes.texts() {
        if !SCOPES.contains(&scope) {
            faults.invalid(&scopes, "unsupported scope");
        }
        for (name, _) in spec.child("hard").entries() {
            if is_quota_standard(name) && !fits(scope, name) {
                faults.invalid(&scopes, "unsupported scope applied to resource");
            }
        }
    }
    let has = |scope: &str| scopes.texts().any(|it| it == scope);
    for (one, other) in [("BestEffort", "NotBestEffort"), ("Terminating", "NotTerminating")] {
        if has(one) && has(other) {
            faults.invalid(&scopes, "conflicting scopes");
        }
    }
    scope_selector(&spec, faults);
}

fn scope_selector(spec: &Field<'_>, faults: &mut Faults) {
    let list = spec.child("scopeSelector").child("matchExpressions");
    for requirement in list.items() {
        // kube-apiserver omits the index.
        let at = Field::at(list.path(), requirement.value());
        let (scope, operator, values) = (at.child("scopeName"), at.child("operator"), at.child("values"));
        if !SCOPES.contains(&scope.text()) {
            faults.invalid_value(&scope, json_text(scope.text()), "unsupported scope");
        }
        for (name, _) in spec.child("hard").entries() {
            if is_quota_standard(name) && !fits(scope.text(), name) {
                faults.invalid_value(&at, internal_scopes(&list), "unsupported scope applied to resource");
            }
        }
        if !matches!(scope.text(), "PriorityClass" | "VolumeAttributesClass")
            && SCOPES.contains(&scope.text())
            && operator.text() != "Exists"
        {
            let why = "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity";
            faults.invalid_value(&operator, json_text(operator.text()), why);
        }
        match operator.text() {
            "In" | "NotIn" => {
                if values.is_empty() {
                    let why =
                        "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector";
                    faults.required(&values, why);
                }
            }
            "Exists" | "DoesNotExist" => {
                if !values.is_empty() {
                    let why =
                        "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector";
                    faults.invalid(&values, why);
                }
            }
            other => faults.invalid_value(&operator, json_text(other), "not a valid selector operator"),
        }
    }
}

/// Formats a scope selector as Go's internal type.
fn internal_scopes(list: &Field<'_>) -> String {
    let requirements: Vec<String> = list
        .items()
        .map(|requirement| {
            format!(
                "{{\"ScopeName\":{},\"Operator\":{},\"Values\":{}}}",
                json(requirement.child("scopeName").value()),
                json(requirement.child("operator").value()),
                json(requirement.child("values").value())
            )
        })
        .collect();
    format!("{{\"MatchExpressions\":[{}]}}", requirements.join(","))
}

fn fits(scope: &str, name: &str) -> bool {
    let bare = name.strip_prefix("requests.").or_else(|| name.strip_prefix("limits.")).unwrap_or(name);
    match scope {
        "BestEffort" => name == "pods",
        "VolumeAttributesClass" => matches!(name, "persistentvolumeclaims" | "requests.storage"),
        scope if SCOPES.contains(&scope) => name == "pods" || matches!(bare, "cpu" | "memory"),
        _ => true,
    }
}

/// Checks the immutable fields.
fn validate_quota_update(old: Object<'_>, new: Object<'_>, faults: &mut Faults) {
    let scopes = |object: Object<'_>| {
        let mut scopes: Vec<String> =
            object.field("spec").child("scopes").texts().map(str::to_owned).collect();
        scopes.sort_unstable();
        scopes.dedup();
        scopes
    };
    if scopes(old) != scopes(new) {
        faults.invalid(&new.field("spec").child("scopes"), "field is immutable");
    }
}
