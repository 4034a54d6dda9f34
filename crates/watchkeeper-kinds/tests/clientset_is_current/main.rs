//! Checks that the committed ClientSet and typed factory match the resource tables.
#![allow(clippy::unwrap_used, reason = "a failure to set up is a test failure")]

#[path = "../generated/mod.rs"]
mod generated;
mod informers;
mod render;
mod table;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

#[test]
fn the_committed_clientset_is_current() {
    generated::assert_current("src/clientset/generated", "clientset_is_current", &render::files());
}

#[test]
fn the_committed_factory_is_current() {
    generated::assert_current("src/factory/generated", "clientset_is_current", &informers::files());
}

/// Kinds with lists but without a method in their group version.
const WITHOUT_METHOD: &[(&str, &str)] = &[
    // Discovery documents, not resources.
    ("v1", "APIGroup"),
    ("v1", "APIResource"),
    // Not served by Kubernetes 1.37: only the types are left.
    ("admissionregistration.k8s.io/v1alpha1", "ValidatingAdmissionPolicy"),
    ("admissionregistration.k8s.io/v1alpha1", "ValidatingAdmissionPolicyBinding"),
    ("admissionregistration.k8s.io/v1beta1", "MutatingWebhookConfiguration"),
    ("admissionregistration.k8s.io/v1beta1", "ValidatingAdmissionPolicy"),
    ("admissionregistration.k8s.io/v1beta1", "ValidatingAdmissionPolicyBinding"),
    ("admissionregistration.k8s.io/v1beta1", "ValidatingWebhookConfiguration"),
    ("certificates.k8s.io/v1beta1", "CertificateSigningRequest"),
    ("coordination.k8s.io/v1beta1", "Lease"),
    ("scheduling.k8s.io/v1beta1", "PriorityClass"),
];

/// The schema tables are generated from Go types: a kind with lists is a resource and must have a method.
#[test]
fn every_kind_that_has_lists_has_a_method() {
    let resources = table::resources();
    let versions: BTreeSet<String> = resources.iter().map(|it| it.group_version()).collect();
    let named: BTreeSet<(String, &str)> =
        resources.iter().map(|it| (it.group_version(), it.kind.as_str())).collect();
    let kinds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../watchkeeper-wire/tables/kinds.txt");
    let kinds = fs::read_to_string(kinds).unwrap();
    let mut missing = BTreeSet::new();
    for line in kinds.lines() {
        let ["kind", group, version, list, _] = line.split(' ').collect::<Vec<_>>()[..] else { continue };
        let version = match group {
            "-" => version.to_owned(),
            group => format!("{group}/{version}"),
        };
        let kind = list.strip_suffix("List").unwrap_or_default();
        if !kind.is_empty() && versions.contains(&version) && !named.contains(&(version.clone(), kind)) {
            missing.insert((version, kind));
        }
    }
    let without = WITHOUT_METHOD.iter().map(|(version, kind)| ((*version).to_owned(), *kind));
    assert_eq!(missing, without.collect());
}

#[test]
fn every_subresource_has_a_method() {
    let typed = ["approval", "binding", "ephemeralcontainers", "eviction", "finalize", "resize", "scale"];
    let generic = ["status", "token"];
    let streams = ["attach", "exec", "log", "portforward", "proxy"];
    let known: BTreeSet<&str> = typed.into_iter().chain(generic).chain(streams).collect();
    let resources = table::resources();
    let named: BTreeSet<&str> =
        resources.iter().flat_map(|it| it.subresources.iter().map(String::as_str)).collect();
    assert_eq!(named, known);
}

#[test]
fn method_names_are_derived_from_the_kind() {
    let resources = table::resources();
    let method = |kind: &str| resources.iter().find(|it| it.kind == kind).unwrap().method();
    assert_eq!(method("Pod"), "pods");
    assert_eq!(method("NetworkPolicy"), "network_policies");
    assert_eq!(method("CSIStorageCapacity"), "csi_storage_capacities");
    assert_eq!(method("ServiceCIDR"), "service_cidrs");
    assert_eq!(method("APIService"), "api_services");
}
