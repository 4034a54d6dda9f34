//! Webhook configurations.

use watchkeeper_core::Quoted;

use super::KindRules;
use crate::validate::faults::Faults;
use crate::validate::field::{Field, Object};
use crate::validate::metadata::Finalizers;
use crate::validate::selector::selector;
use crate::validate::syntax::{label_1035, port_number, subdomain};

const VERSIONS: &str = "v1, v1beta1";
const FORM: &str = "; desired format: https://host[/path]";

#[derive(Debug)]
pub(in crate::rules) struct ValidatingWebhooks;

impl KindRules for ValidatingWebhooks {
    fn finalizer_rule(&self) -> Finalizers {
        Finalizers::Any
    }

    fn allow_unconditional_update(&self) -> bool {
        false
    }

    fn validate_content(&self, _old: Option<Object<'_>>, new: Object<'_>, faults: &mut Faults) {
        configuration(new, false, faults);
    }

    fn validate_update(&self, old: Object<'_>, new: Object<'_>, faults: &mut Faults) {
        self.validate_metadata(new, faults);
        self.validate_content(Some(old), new, faults);
    }
}

#[derive(Debug)]
pub(in crate::rules) struct MutatingWebhooks;

impl KindRules for MutatingWebhooks {
    fn finalizer_rule(&self) -> Finalizers {
        Finalizers::Any
    }

    fn allow_unconditional_update(&self) -> bool {
        false
    }

    fn validate_content(&self, _old: Option<Object<'_>>, new: Object<'_>, faults: &mut Faults) {
        configuration(new, true, faults);
    }

    fn validate_update(&self, old: Object<'_>, new: Object<'_>, faults: &mut Faults) {
        self.validate_metadata(new, faults);
        self.validate_content(Some(old), new, faults);
    }
}

/// Checks the webhooks of a configuration.
fn configuration(object: Object<'_>, mutates: bool, faults: &mut Faults) {
    let mut names = Vec::new();
    for hook in object.field("webhooks").items() {
        webhook(&hook, mutates, faults);
        versions(&hook.child("admissionReviewVersions"), faults);
        let name = hook.child("name");
        if !name.is_empty() && names.contains(&name.text()) {
            faults.duplicate(&name);
        }
        names.push(name.text());
    }
}

fn webhook(hook: &Field<'_>, mutates: bool, faults: &mut Faults) {
    full_name(&hook.child("name"), faults);
    for item in hook.child("rules").items() {
        rule(&item, faults);
    }
    faults.one_of_set(&hook.child("failurePolicy"), &["Fail", "Ignore"]);
    faults.one_of_set(&hook.child("matchPolicy"), &["Equivalent", "Exact"]);
    let effects = hook.child("sideEffects");
    if !effects.is_set() {
        faults.required(&effects, "must specify one of None, NoneOnDryRun");
    }
    faults.one_of_set(&effects, &["None", "NoneOnDryRun"]);
    let timeout = hook.child("timeoutSeconds");
    if timeout.number().is_some_and(|seconds| !(1..=30).contains(&seconds)) {
        faults.invalid(&timeout, "the timeout value must be between 1 and 30 seconds");
    }
    selector(&hook.child("namespaceSelector"), faults);
    selector(&hook.child("objectSelector"), faults);
    if mutates {
        faults.one_of_set(&hook.child("reinvocationPolicy"), &["IfNeeded", "Never"]);
    }
    let client = hook.child("clientConfig");
    match (client.child("url").is_set(), client.child("service").is_set()) {
        (true, false) => url(&client.child("url"), faults),
        (false, true) => service(&client.child("service"), faults),
        _ => faults.required(&client, "exactly one of url or service is required"),
    }
}

fn full_name(field: &Field<'_>, faults: &mut Faults) {
    let found = subdomain(field.text());
    if field.is_empty() {
        faults.required(field, "");
    } else if !found.is_empty() {
        faults.invalid(field, &found.join(","));
    } else if field.text().split('.').count() < 3 {
        faults.invalid(field, "should be a domain with at least three segments separated by dots");
    }
}

fn versions(field: &Field<'_>, faults: &mut Faults) {
    if field.is_empty() {
        faults.required(field, &format!("must specify one of {VERSIONS}"));
        return;
    }
    let (mut seen, mut is_known) = (Vec::new(), false);
    for version in field.items() {
        if seen.contains(&version.text()) {
            faults.invalid(&version, "duplicate version");
            continue;
        }
        seen.push(version.text());
        faults.malformed(&version, label_1035(version.text()));
        is_known |= matches!(version.text(), "v1" | "v1beta1");
    }
    if !is_known {
        faults.invalid(field, &format!("must include at least one of {VERSIONS}"));
    }
}

fn rule(field: &Field<'_>, faults: &mut Faults) {
    let wildcard = |list: &Field<'_>| list.len() > 1 && list.texts().any(|it| it == "*");
    let operations = field.child("operations");
    if operations.is_empty() {
        faults.required(&operations, "");
    }
    if wildcard(&operations) {
        faults.invalid(&operations, "if '*' is present, must not specify other operations");
    }
    for operation in operations.items() {
        let known = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
        if !known.contains(&operation.text()) {
            faults.not_supported(&operation, &known);
        }
    }
    for (name, what) in [("apiGroups", "API groups"), ("apiVersions", "API versions")] {
        let list = field.child(name);
        if list.is_empty() {
            faults.required(&list, "");
        }
        if wildcard(&list) {
            faults.invalid(&list, &format!("if '*' is present, must not specify other {what}"));
        }
    }
    for version in field.child("apiVersions").items().filter(Field::is_empty) {
        faults.required(&version, "");
    }
    resources(&field.child("resources"), faults);
    faults.one_of_set(&field.child("scope"), &["*", "Cluster", "Namespaced"]);
}

fn resources(list: &Field<'_>, faults: &mut Faults) {
    if list.is_empty() {
        faults.required(list, "");
    }
    let (mut all_below, mut below_all) = (Vec::new(), Vec::new());
    for item in list.items() {
        if item.is_empty() {
            faults.required(&item, "");
            continue;
        }
        let Some((resource, below)) = item.text().split_once('/') else { continue };
        if all_below.contains(&resource) {
            let why = format!("if '{resource}/*' is present, must not specify {}", item.text());
            faults.invalid(&item, &why);
        }
        if below_all.contains(&below) {
            let why = format!("if '*/{below}' is present, must not specify {}", item.text());
            faults.invalid(&item, &why);
        }
        if below == "*" {
            all_below.push(resource);
        }
        if resource == "*" {
            below_all.push(below);
        }
    }
    if list.len() > 1 && list.texts().any(|it| it == "*/*") {
        faults.invalid(list, "if '*/*' is present, must not specify other resources");
    }
    let plain: Vec<&str> = list.texts().filter(|it| !it.contains('/')).collect();
    if plain.contains(&"*") && plain.last() != Some(&"*") {
        faults.invalid(list, "if '*' is present, must not specify other resources without subresources");
    }
}

/// Checks the URL of a webhook.
pub(crate) fn url(field: &Field<'_>, faults: &mut Faults) {
    let (scheme, rest) = field.text().split_once("://").unwrap_or(("", field.text()));
    if scheme != "https" {
        let why = format!("'https' is the only allowed URL scheme{FORM}");
        faults.invalid_value(field, Quoted(scheme), &why);
    }
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, rest) = rest.split_at(end);
    if scheme.is_empty() || authority.is_empty() {
        faults.invalid_value(field, "\"\"", &format!("host must be specified{FORM}"));
    }
    if let Some((user, _)) = authority.split_once('@') {
        faults.invalid_value(field, Quoted(user), "user information is not permitted in the URL");
    }
    let (rest, fragment) = rest.split_once('#').unwrap_or((rest, ""));
    if !fragment.is_empty() {
        faults.invalid_value(field, Quoted(fragment), "fragments are not permitted in the URL");
    }
    if let Some((_, query)) = rest.split_once('?').filter(|(_, query)| !query.is_empty()) {
        faults.invalid_value(field, Quoted(query), "query parameters are not permitted in the URL");
    }
}

/// Checks the service of a webhook.
pub(crate) fn service(field: &Field<'_>, faults: &mut Faults) {
    // kube-apiserver confuses the two.
    for (name, called) in [("namespace", "name"), ("name", "namespace")] {
        if field.child(name).is_empty() {
            faults.required(&field.child(called), "");
        }
    }
    let (port, path) = (field.child("port"), field.child("path"));
    if let Some(number) = port.number() {
        for why in port_number(number) {
            faults.invalid(&port, &format!("port is not valid: {why}"));
        }
    }
    let text = path.text();
    match text {
        "" | "/" => return,
        "//" => {
            faults.invalid(&path, "segment[0] may not be empty");
            return;
        }
        _ => {}
    }
    if !text.starts_with('/') {
        faults.invalid(&path, "must start with a '/'");
    }
    let mut rest = text.chars();
    rest.next(); // any character, as in kube-apiserver
    let rest = rest.as_str();
    for (at, step) in rest.strip_suffix('/').unwrap_or(rest).split('/').enumerate() {
        if step.is_empty() {
            faults.invalid(&path, &format!("segment[{at}] may not be empty"));
            continue;
        }
        for why in subdomain(step) {
            faults.invalid(&path, &format!("segment[{at}]: {why}"));
        }
    }
}
