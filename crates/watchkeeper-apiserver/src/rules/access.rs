//! RBAC: roles and bindings.

use super::KindRules;
use crate::validate::faults::Faults;
use crate::validate::field::{Field, Object};
use crate::validate::metadata::ordered;
use crate::validate::selector::{json_text, selector};
use crate::validate::syntax::{NameRule, path_segment, subdomain};

const GROUP: &str = "rbac.authorization.k8s.io";

#[derive(Debug)]
pub(in crate::rules) struct Roles;

impl KindRules for Roles {
    fn name_rule(&self) -> NameRule {
        NameRule::PathSegment
    }

    fn allow_create_on_update(&self) -> bool {
        true
    }

    fn validate_content(&self, _old: Option<Object<'_>>, new: Object<'_>, faults: &mut Faults) {
        role(new, true, faults);
    }

    fn validate_update(&self, old: Object<'_>, new: Object<'_>, faults: &mut Faults) {
        self.validate_metadata(new, faults);
        self.validate_content(Some(old), new, faults);
        self.validate_metadata_update(old, new, faults);
    }
}

#[derive(Debug)]
pub(in crate::rules) struct ClusterRoles;

impl KindRules for ClusterRoles {
    fn name_rule(&self) -> NameRule {
        NameRule::PathSegment
    }

    fn allow_create_on_update(&self) -> bool {
        true
    }

    fn validate_content(&self, _old: Option<Object<'_>>, new: Object<'_>, faults: &mut Faults) {
        role(new, false, faults);
    }

    fn validate_update(&self, old: Object<'_>, new: Object<'_>, faults: &mut Faults) {
        self.validate_metadata(new, faults);
        self.validate_content(Some(old), new, faults);
        self.validate_metadata_update(old, new, faults);
    }
}

#[derive(Debug)]
pub(in crate::rules) struct RoleBindings;

impl KindRules for RoleBindings {
    fn name_rule(&self) -> NameRule {
        NameRule::PathSegment
    }

    fn allow_create_on_update(&self) -> bool {
        true
    }

    fn validate_content(&self, _old: Option<Object<'_>>, new: Object<'_>, faults: &mut Faults) {
        binding(new, true, faults);
    }

    fn validate_update(&self, old: Object<'_>, new: Object<'_>, faults: &mut Faults) {
        self.validate_metadata(new, faults);
        self.validate_content(Some(old), new, faults);
        self.validate_metadata_update(old, new, faults);
        changed_binding(old, new, faults);
    }
}

#[derive(Debug)]
pub(in crate::rules) struct ClusterRoleBindings;

impl KindRules for ClusterRoleBindings {
    fn name_rule(&self) -> NameRule {
        NameRule::PathSegment
    }

    fn allow_create_on_update(&self) -> bool {
        true
    }

    fn validate_content(&self, _old: Option<Object<'_>>, new: Object<'_>, faults: &mut Faults) {
        binding(new, false, faults);
    }

    fn validate_update(&self, old: Object<'_>, new: Object<'_>, faults: &mut Faults) {
        self.validate_metadata(new, faults);
        self.validate_content(Some(old), new, faults);
        self.validate_metadata_update(old, new, faults);
        changed_binding(old, new, faults);
    }
}

/// Checks the rules of a role or cluster role.
fn role(object: Object<'_>, is_namespaced: bool, faults: &mut Faults) {
    for rule in object.field("rules").items() {
        policy_rule(&rule, is_namespaced, faults);
    }
    let aggregation = object.field("aggregationRule");
    if is_namespaced || !aggregation.is_set() {
        return;
    }
    let selectors = aggregation.child("clusterRoleSelectors");
    if selectors.is_empty() {
        let why = "at least one clusterRoleSelector required if aggregationRule is non-nil";
        faults.required(&selectors, why);
    }
    for item in selectors.items() {
        selector(&item, faults);
    }
}

fn policy_rule(rule: &Field<'_>, is_namespaced: bool, faults: &mut Faults) {
    let verbs = rule.child("verbs");
    if verbs.is_empty() {
        faults.declared(|faults| faults.required(&verbs, ""));
    }
    let (urls, groups, resources) =
        (rule.child("nonResourceURLs"), rule.child("apiGroups"), rule.child("resources"));
    if !urls.is_empty() {
        if is_namespaced {
            faults.invalid(&urls, "namespaced rules cannot apply to non-resource URLs");
        }
        if !groups.is_empty() || !resources.is_empty() || !rule.child("resourceNames").is_empty() {
            let why = "rules cannot apply to both regular resources and non-resource URLs";
            faults.invalid(&urls, why);
        }
        return;
    }
    if groups.is_empty() {
        faults.required(&groups, "resource rules must supply at least one api group");
    }
    if resources.is_empty() {
        faults.required(&resources, "resource rules must supply at least one resource");
    }
}

/// Checks the role and the subjects of a binding.
fn binding(object: Object<'_>, is_namespaced: bool, faults: &mut Faults) {
    let reference = object.field("roleRef");
    let (group, kind, name) = (reference.child("apiGroup"), reference.child("kind"), reference.child("name"));
    // An empty group defaults to this one.
    faults.one_of(&group, &[GROUP]);
    let kinds: &[&str] = if is_namespaced { &["Role", "ClusterRole"] } else { &["ClusterRole"] };
    if !kinds.contains(&kind.text()) {
        faults.not_supported_value(&kind, json_text(kind.text()), kinds);
    }
    let subjects = object.field("subjects");
    faults.malformed(&name, path_segment(name.text()));
    for item in subjects.items() {
        subject(&item, is_namespaced, faults);
    }
    faults.declared(|faults| {
        for name in subjects.items().map(|subject| subject.child("name")) {
            if name.is_empty() {
                faults.required(&name, "");
            }
        }
        if name.is_empty() {
            faults.required(&name, "");
        }
    });
}

fn subject(field: &Field<'_>, is_namespaced: bool, faults: &mut Faults) {
    let (kind, group, name) = (field.child("kind"), field.child("apiGroup"), field.child("name"));
    match kind.text() {
        "ServiceAccount" => {
            if !name.is_empty() {
                faults.malformed(&name, subdomain(name.text()));
            }
            if !group.is_empty() {
                faults.not_supported(&group, &[""]);
            }
            if !is_namespaced && field.child("namespace").is_empty() {
                faults.required(&field.child("namespace"), "");
            }
        }
        "User" | "Group" => faults.one_of(&group, &[GROUP]),
        other => {
            faults.not_supported_value(&kind, json_text(other), &["ServiceAccount", "User", "Group"]);
        }
    }
}

/// Checks that the role of a binding is unchanged.
fn changed_binding(old: Object<'_>, new: Object<'_>, faults: &mut Faults) {
    let (before, now) = (old.field("roleRef"), new.field("roleRef"));
    let differs = |name: &str| before.child(name).text() != now.child(name).text();
    if ["apiGroup", "kind", "name"].into_iter().any(differs) {
        let shown = ordered(now.value(), &["apiGroup", "kind", "name"]);
        let shown = shown.replace("\"apiGroup\"", "\"APIGroup\"").replace("\"kind\"", "\"Kind\"");
        let shown = shown.replace("\"name\"", "\"Name\"");
        faults.declared(|faults| faults.invalid_value(&now, shown, "field is immutable"));
    }
}
