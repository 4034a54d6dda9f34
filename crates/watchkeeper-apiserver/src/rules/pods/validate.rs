//! Validation of pods and pod templates. Some rarely used fields are not checked.

use watchkeeper_core::Quoted;

use super::{container, placement, security, volume};
use crate::validate::address;
use crate::validate::amount::requirements;
use crate::validate::faults::Faults;
use crate::validate::field::{Field, Object};
use crate::validate::metadata::annotations;
use crate::validate::selector::labels;
use crate::validate::syntax::{NameRule, in_range, label, qualified_name, subdomain, underscored_subdomain};

const DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";
pub(super) const MIRROR: &str = "kubernetes.io/config.mirror";

/// The context of a pod spec.
#[derive(Clone, Copy)]
pub(in crate::rules) struct Owner<'a> {
    /// The name of the pod; `None` for a template.
    pub(in crate::rules) pod: Option<&'a str>,
    /// Volumes of the claim templates of a stateful set.
    pub(in crate::rules) claims: &'a [&'a str],
    /// Whether the controller sets the host name.
    pub(in crate::rules) names_hosts: bool,
}

impl Owner<'_> {
    /// A plain template.
    pub(in crate::rules) const TEMPLATE: Self = Self { pod: None, claims: &[], names_hosts: false };
}

/// Checks a pod, except for its metadata.
pub(super) fn pod(object: Object<'_>, faults: &mut Faults) {
    let (metadata, pod_spec) = (object.field("metadata"), object.field("spec"));
    special_annotations(&metadata.child("annotations"), &pod_spec, faults);
    let owner = Owner { pod: Some(object.name()), ..Owner::TEMPLATE };
    spec(&pod_spec, owner, faults);
    for list in ["containers", "initContainers"] {
        for container in pod_spec.child(list).items() {
            let image = container.child("image");
            if image.text().trim() != image.text() {
                faults.invalid(&image, "must not have leading or trailing whitespace");
            }
        }
    }
}

/// Checks what is forbidden for new pods only.
pub(super) fn new_pod(object: Object<'_>, faults: &mut Faults) {
    let spec = object.field("spec");
    if !spec.child("ephemeralContainers").is_empty() {
        faults.forbidden(&spec.child("ephemeralContainers"), "cannot be set on create");
    }
    if !spec.child("nodeName").is_empty() && !spec.child("schedulingGates").is_empty() {
        let why = "cannot be set until all schedulingGates have been cleared";
        faults.forbidden(&spec.child("nodeName"), why);
    }
}

/// Checks the pod template of a workload.
pub(in crate::rules) fn template(field: &Field<'_>, owner: Owner<'_>, faults: &mut Faults) {
    let metadata = field.child("metadata");
    let template_annotations =
        Field::at(format!("{}.annotations", field.path()), metadata.child("annotations").value());
    labels(&Field::at(format!("{}.labels", field.path()), metadata.child("labels").value()), faults);
    annotations(&template_annotations, faults);
    special_annotations(&template_annotations, &field.child("spec"), faults);
    spec(&field.child("spec"), owner, faults);
    let ephemeral = field.child("spec").child("ephemeralContainers");
    if !ephemeral.is_empty() {
        faults.forbidden(&ephemeral, "ephemeral containers not allowed in pod template");
    }
}

pub(super) fn special_annotations(field: &Field<'_>, spec: &Field<'_>, faults: &mut Faults) {
    let mirror = field.key(MIRROR);
    if mirror.is_set() && spec.child("nodeName").is_empty() {
        faults.invalid(&mirror, "must set spec.nodeName if mirror pod annotation is set");
    }
    let cost = field.key(DELETION_COST);
    let is_number = |text: &str| {
        let digits = text.strip_prefix('-').unwrap_or(text);
        text.parse::<i32>().is_ok() && !text.starts_with('+') && (digits == "0" || !digits.starts_with('0'))
    };
    if cost.is_set() && !is_number(cost.text()) {
        faults.invalid(&cost, "must be a 32bit integer");
    }
}

/// Checks a pod spec.
fn spec(field: &Field<'_>, owner: Owner<'_>, faults: &mut Faults) {
    let volumes = volume::volumes(&field.child("volumes"), owner, faults);
    let claims = resource_claims(&field.child("resourceClaims"), faults);
    container::containers(field, &volumes, &claims, faults);
    host_ports(field, faults);
    faults.one_of(&field.child("restartPolicy"), &["Always", "OnFailure", "Never"]);
    let policies = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];
    faults.one_of(&field.child("dnsPolicy"), &policies);
    labels(&field.child("nodeSelector"), faults);
    security::of_pod(field, faults);
    placement::affinity(&field.child("affinity"), faults);
    resolver(field, faults);
    for gate in field.child("readinessGates").items() {
        let condition = gate.child("conditionType");
        faults.malformed(&condition, qualified_name(condition.text()));
    }
    gates(&field.child("schedulingGates"), faults);
    placement::spread(&field.child("topologySpreadConstraints"), faults);
    names(field, owner, faults);
    placement::tolerations(&field.child("tolerations"), faults);
    for alias in field.child("hostAliases").items() {
        address::ip(&alias.child("ip"), &[], faults);
        for name in alias.child("hostnames").items() {
            faults.malformed(&name, subdomain(name.text()));
        }
    }
    for name in ["priorityClassName", "runtimeClassName"] {
        let name = field.child(name);
        if !name.is_empty() || name.value().is_string() {
            faults.malformed(&name, subdomain(name.text()));
        }
    }
    let policy = field.child("preemptionPolicy");
    if policy.is_set() && policy.is_empty() {
        faults.required(&policy, "");
    }
    faults.one_of(&policy, &["PreemptLowerPriority", "Never"]);
    let overhead = field.child("overhead");
    if overhead.is_set() {
        let limits = serde_json::json!({"limits": overhead.value()});
        requirements(&Field::at(overhead.path(), &limits), &[], faults);
    }
    faults.one_of(&field.child("os").child("name"), &["linux", "windows"]);
}

fn resource_claims<'a>(list: &Field<'a>, faults: &mut Faults) -> Vec<&'a str> {
    let mut known = Vec::new();
    for claim in list.items() {
        let name = claim.child("name");
        if name.is_empty() {
            faults.required(&name, "");
        } else if known.contains(&name.text()) {
            faults.duplicate(&name);
        } else {
            faults.malformed(&name, label(name.text()));
            known.push(name.text());
        }
        let (direct, template) = (claim.child("resourceClaimName"), claim.child("resourceClaimTemplateName"));
        if direct.is_set() && template.is_set() {
            let why = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified";
            faults.invalid_value(&claim, crate::validate::faults::json(claim.value()), why);
        }
    }
    known
}

/// Checks that host ports equal container ports on the host network.
fn host_ports(field: &Field<'_>, faults: &mut Faults) {
    if !field.child("hostNetwork").is_true() {
        return;
    }
    for container in field.child("containers").items() {
        for port in container.child("ports").items() {
            let (host, inside) = (port.child("hostPort"), port.child("containerPort"));
            // Pods get them by default.
            if host.count() != 0 && host.count() != inside.count() {
                faults.invalid(&host, "must match `containerPort` when `hostNetwork` is true");
            }
        }
    }
}

fn resolver(field: &Field<'_>, faults: &mut Faults) {
    let config = field.child("dnsConfig");
    let servers = config.child("nameservers");
    if field.child("dnsPolicy").text() == "None" {
        if !config.is_set() {
            faults.required(&config, "must provide `dnsConfig` when `dnsPolicy` is None");
            return;
        }
        if servers.is_empty() {
            let why = "must provide at least one DNS nameserver when `dnsPolicy` is None";
            faults.required(&servers, why);
            return;
        }
    }
    if servers.len() > 3 {
        faults.invalid(&servers, "must not have more than 3 nameservers");
    }
    for server in servers.items() {
        address::ip(&server, &[], faults);
    }
    let searches = config.child("searches");
    if searches.len() > 32 {
        faults.invalid(&searches, "must not have more than 32 search paths");
    }
    for search in searches.items().filter(|search| search.text() != ".") {
        let bare = search.text().strip_suffix('.').unwrap_or(search.text());
        for why in underscored_subdomain(bare) {
            faults.invalid_value(&search, Quoted(bare), &why);
        }
    }
    for option in config.child("options").items() {
        if option.child("name").is_empty() {
            faults.required(&option, "must not be empty");
        }
    }
}

fn gates(list: &Field<'_>, faults: &mut Faults) {
    let mut seen = Vec::new();
    for gate in list.items() {
        let name = gate.child("name").text();
        for why in qualified_name(name) {
            faults.invalid_value(&gate, Quoted(name), &why);
        }
        if seen.contains(&name) {
            faults.duplicate_value(&gate, Quoted(name), "");
        }
        seen.push(name);
    }
}

fn names(field: &Field<'_>, owner: Owner<'_>, faults: &mut Faults) {
    let named = |name: &str, rule: NameRule, faults: &mut Faults| {
        let name = field.child(name);
        if !name.is_empty() {
            faults.malformed(&name, rule.faults(name.text()));
        }
    };
    named("serviceAccountName", NameRule::Subdomain, faults);
    named("nodeName", NameRule::Subdomain, faults);
    let deadline = field.child("activeDeadlineSeconds");
    if let Some(seconds) = deadline.number() {
        faults.malformed(&deadline, in_range(seconds, 1, i64::from(i32::MAX)));
    }
    if !owner.names_hosts {
        named("hostname", NameRule::Label, faults);
        named("subdomain", NameRule::Label, faults);
    }
}
