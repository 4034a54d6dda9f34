//! Validation: whether an object of a built-in kind may be stored, in the words of the real server.
//!
//! From: [`write`](mod@crate::write), with an object that has been given its defaults.
//! To:   the causes of a 422, in the order in which the real server lists them.
//!
//! - V1: what the real server takes is taken. A rule that is not here refuses nothing.
//! - V2: a field that the real server fills in is not asked for, so that it may be absent here; but a
//!   job has the selector that it is given.
//!
//! The real server shows some of its own types in its messages. Where such a type is large (the template of a
//! job, the claims of a stateful set) what is shown here is the object as it was sent; and where a message ends
//! with what differs (the spec of a pod, of a claim, of a volume) it ends before that.

mod access;
pub(crate) mod address;
mod amount;
mod autoscaler;
mod claim;
mod cluster;
mod config;
mod event;
pub(crate) mod faults;
pub(crate) mod field;
pub(crate) mod form;
mod job;
pub(crate) mod metadata;
mod network;
mod pod;
mod schedule;
mod selector;
mod service;
mod status;
#[cfg(test)]
mod tests;
pub(crate) mod webhook;
mod workload;

use serde_json::{Map, Value};
use watchkeeper_core::StatusCause;

use crate::custom::schema::{check_definition, check_definition_update};
use crate::registry::Resource;

use faults::Faults;
use field::Object;
use form::NameRule;
use metadata::Finalizers;

/// What is wrong with a new object.
pub(crate) fn new_object(resource: &Resource, object: &Map<String, Value>) -> Vec<StatusCause> {
    let (object, mut faults) = (Object(object), Faults::default());
    let faults_ref = &mut faults;
    match (&*resource.group, &*resource.name) {
        // These do not look at metadata themselves, so that it counts only where nothing else is wrong.
        ("policy", "poddisruptionbudgets") => {
            network::budget(object, faults_ref);
            unlooked(object, faults_ref);
        }
        ("", "events") => {
            event::event(object, faults_ref);
            unlooked(object, faults_ref);
        }
        ("", "services") => {
            service::misaddressed(object, None, faults_ref);
            if faults_ref.is_empty() {
                new_metadata(resource, object, faults_ref);
                service::service(object, None, faults_ref);
            }
        }
        (group, name) => {
            new_metadata(resource, object, faults_ref);
            content(group, name, object, None, faults_ref);
            match (group, name) {
                ("", "pods") => pod::new_pod(object, faults_ref),
                ("networking.k8s.io", "ingresses") => network::new_ingress(object, faults_ref),
                ("batch", "cronjobs") => job::cron_job_name(object, faults_ref),
                _ => {}
            }
        }
    }
    let mut causes = faults.into_causes();
    causes.extend(defined(resource, object.0, None));
    causes
}

/// What is wrong with an object that has changed.
pub(crate) fn changed_object(
    resource: &Resource,
    subresource: Option<&str>,
    old: &Map<String, Value>,
    new: &Map<String, Value>,
) -> Vec<StatusCause> {
    let (old, new, mut faults) = (Object(old), Object(new), Faults::default());
    if resource.group.is_empty() && resource.name == "services" && subresource.is_none() {
        service::misaddressed(new, Some(old), &mut faults);
        if !faults.is_empty() {
            return faults.into_causes();
        }
    }
    // The real server looks at the metadata of all kinds first, and most kinds do so again.
    metadata::changed(old, new, Finalizers::Any, &mut faults);
    if subresource.is_some() {
        // These have nothing to say of metadata when their status is written.
        let is_silent = matches!(&*resource.name, "cronjobs" | "poddisruptionbudgets");
        if !is_silent && !is_custom(resource) {
            metadata::changed(old, new, finalizers(resource), &mut faults);
        }
        if subresource == Some("status") {
            status::changed(&resource.group, &resource.name, old, new, &mut faults);
        }
        let mut causes = faults.into_causes();
        if let Some(custom) = &resource.custom {
            causes.extend(custom.validate_status(&typed(resource, new.0), &typed(resource, old.0)));
        }
        return causes;
    }
    changed_content(resource, old, new, &mut faults);
    let mut causes = faults.into_causes();
    causes.extend(defined(resource, new.0, Some(old.0)));
    causes
}

/// The whole object, with its type.
fn typed(resource: &Resource, fields: &Map<String, Value>) -> Value {
    let mut fields = fields.clone();
    fields.insert("apiVersion".to_owned(), resource.group_version().to_string().into());
    fields.insert("kind".to_owned(), resource.kind.as_ref().into());
    Value::Object(fields)
}

/// What the definition of a custom kind has against an object; or what is wrong with a definition.
fn defined(
    resource: &Resource,
    new: &Map<String, Value>,
    old: Option<&Map<String, Value>>,
) -> Vec<StatusCause> {
    match (&resource.custom, &*resource.group, &*resource.name) {
        (Some(custom), ..) => {
            let old = old.map(|old| typed(resource, old));
            custom.validate(&typed(resource, new), old.as_ref())
        }
        (None, "apiextensions.k8s.io", "customresourcedefinitions") => match old {
            None => check_definition(&typed(resource, new)),
            Some(old) => check_definition_update(&typed(resource, new), &typed(resource, old)),
        },
        _ => Vec::new(),
    }
}

fn changed_content(resource: &Resource, old: Object<'_>, new: Object<'_>, faults: &mut Faults) {
    let (group, name) = (&*resource.group, &*resource.name);
    let changed = |faults: &mut Faults| metadata::changed(old, new, finalizers(resource), faults);
    let as_new = |faults: &mut Faults| new_metadata(resource, new, faults);
    let content = |faults: &mut Faults| content(group, name, new, Some(old), faults);
    let (was, is) = (old.field("spec"), new.field("spec"));
    match (group, name) {
        ("", "pods") => {
            changed(faults);
            pod::changed(old, new, faults);
        }
        ("", "configmaps") => {
            changed(faults);
            config::sealed(old, new, &["data", "binaryData"], faults);
            as_new(faults);
            content(faults);
        }
        ("", "secrets") => {
            changed(faults);
            faults.immutable(&new.field("type"), &old.field("type"));
            config::sealed(old, new, &["data"], faults);
            as_new(faults);
            content(faults);
        }
        ("", "services") => {
            changed(faults);
            service::changed(old, new, faults);
            content(faults);
        }
        ("", "persistentvolumeclaims") => {
            changed(faults);
            as_new(faults);
            content(faults);
            claim::changed_claim(old, new, faults);
        }
        ("", "persistentvolumes") => {
            as_new(faults);
            content(faults);
            as_new(faults);
            content(faults);
            claim::changed_volume(old, new, faults);
        }
        ("", "nodes") => {
            as_new(faults);
            content(faults);
            changed(faults);
            cluster::changed_node(old, new, faults);
        }
        ("", "namespaces") => {
            as_new(faults);
            content(faults);
            changed(faults);
        }
        ("", "resourcequotas") => {
            changed(faults);
            content(faults);
            cluster::changed_quota(old, new, faults);
        }
        ("", "limitranges")
        | ("discovery.k8s.io", "endpointslices")
        | ("admissionregistration.k8s.io", _) => {
            as_new(faults);
            content(faults);
        }
        ("", "serviceaccounts" | "endpoints") | ("networking.k8s.io", "ingresses") => {
            changed(faults);
            as_new(faults);
            content(faults);
        }
        ("networking.k8s.io", "ingressclasses") => {
            changed(faults);
            faults.immutable_text(&is.child("controller"), &was.child("controller"));
            as_new(faults);
            content(faults);
        }
        ("apps", "deployments" | "replicasets") => {
            changed(faults);
            content(faults);
            workload::same_selector(&was.child("selector"), &is.child("selector"), faults);
        }
        ("apps", "daemonsets") => {
            changed(faults);
            workload::same_selector(&was.child("selector"), &is.child("selector"), faults);
            content(faults);
        }
        ("apps", "statefulsets") => {
            changed(faults);
            content(faults);
            workload::changed_stateful_set(old, new, faults);
        }
        ("apps", "controllerrevisions") => {
            changed(faults);
            as_new(faults);
            faults.negative(&new.field("revision"));
            faults.immutable(&new.field("data"), &old.field("data"));
        }
        ("batch", "jobs") => {
            changed(faults);
            job::changed_job(old, new, faults);
        }
        ("scheduling.k8s.io", "priorityclasses") => {
            changed(faults);
            cluster::changed_priority_class(old, new, faults);
        }
        ("storage.k8s.io", "storageclasses") => {
            as_new(faults);
            content(faults);
            changed(faults);
            claim::changed_class(old, new, faults);
        }
        ("rbac.authorization.k8s.io", _) => {
            as_new(faults);
            content(faults);
            changed(faults);
            if name.ends_with("bindings") {
                access::changed_binding(old, new, faults);
            }
        }
        ("policy", "poddisruptionbudgets") => network::budget(new, faults),
        ("", "events") => event::event(new, faults),
        _ if is_custom(resource) => {}
        _ => {
            changed(faults);
            content(faults);
        }
    }
}

/// What a kind says besides its metadata.
fn content(group: &str, name: &str, object: Object<'_>, old: Option<Object<'_>>, faults: &mut Faults) {
    match (group, name) {
        ("", "pods") => pod::pod(object, faults),
        ("", "podtemplates") => {
            pod::template(&object.field("template"), pod::Owner::TEMPLATE, faults);
        }
        ("", "services") => service::service(object, old, faults),
        ("", "configmaps") => config::config_map(object, faults),
        ("", "secrets") => config::secret(object, faults),
        ("", "persistentvolumeclaims") => claim::spec(&object.field("spec"), faults),
        ("", "persistentvolumes") => claim::volume(object, faults),
        ("", "namespaces") => cluster::namespace(object, faults),
        ("", "nodes") => cluster::node(object, faults),
        ("", "resourcequotas") => cluster::quota(object, faults),
        ("", "limitranges") => cluster::limits(object, faults),
        ("", "endpoints") => cluster::endpoints(object, faults),
        ("", "replicationcontrollers") => workload::replication_controller(object, faults),
        ("apps", "deployments") => workload::deployment(object, faults),
        ("apps", "replicasets") => workload::replica_set(object, faults),
        ("apps", "daemonsets") => workload::daemon_set(object, faults),
        ("apps", "statefulsets") => workload::stateful_set(object, old, faults),
        ("apps", "controllerrevisions") => workload::revision(object, faults),
        ("batch", "jobs") => job::job(object, faults),
        ("batch", "cronjobs") => job::cron_job(object, faults),
        ("networking.k8s.io", "ingresses") => network::ingress(object, faults),
        ("networking.k8s.io", "ingressclasses") => network::ingress_class(object, faults),
        ("networking.k8s.io", "networkpolicies") => network::policy(object, faults),
        ("discovery.k8s.io", "endpointslices") => network::slice(object, old, faults),
        ("autoscaling", "horizontalpodautoscalers") => autoscaler::autoscaler(object, old, faults),
        ("coordination.k8s.io", "leases") => cluster::lease(object, faults),
        ("scheduling.k8s.io", "priorityclasses") => cluster::priority_class(object, faults),
        ("storage.k8s.io", "storageclasses") => claim::class(object, faults),
        ("rbac.authorization.k8s.io", "roles") => access::role(object, true, faults),
        ("rbac.authorization.k8s.io", "clusterroles") => access::role(object, false, faults),
        ("rbac.authorization.k8s.io", "rolebindings") => access::binding(object, true, faults),
        ("rbac.authorization.k8s.io", "clusterrolebindings") => access::binding(object, false, faults),
        ("admissionregistration.k8s.io", "validatingwebhookconfigurations") => {
            webhook::configuration(object, false, faults);
        }
        ("admissionregistration.k8s.io", "mutatingwebhookconfigurations") => {
            webhook::configuration(object, true, faults);
        }
        _ => {}
    }
}

/// The metadata of a new object whose kind does not look at it: any name that stands in a path will do.
fn unlooked(object: Object<'_>, faults: &mut Faults) {
    if faults.is_empty() {
        metadata::new(object, NameRule::PathSegment, Finalizers::Any, faults);
    }
}

fn new_metadata(resource: &Resource, object: Object<'_>, faults: &mut Faults) {
    metadata::new(object, name_rule(resource), finalizers(resource), faults);
}

/// Which names its objects may have.
fn name_rule(resource: &Resource) -> NameRule {
    match (&*resource.group, &*resource.name) {
        ("", "namespaces" | "services") | ("apps", "statefulsets") => NameRule::Label,
        ("", "replicationcontrollers") => NameRule::LongName,
        ("rbac.authorization.k8s.io", _)
        | ("certificates.k8s.io", "certificatesigningrequests")
        | ("networking.k8s.io", "ipaddresses")
        | ("apiregistration.k8s.io", "apiservices") => NameRule::PathSegment,
        _ => NameRule::Subdomain,
    }
}

fn finalizers(resource: &Resource) -> Finalizers {
    match &*resource.group {
        "coordination.k8s.io" | "admissionregistration.k8s.io" => Finalizers::Any,
        _ if is_custom(resource) => Finalizers::Any,
        _ => Finalizers::Owned,
    }
}

/// Whether its kind came with a definition, and not with the server.
fn is_custom(resource: &Resource) -> bool {
    watchkeeper_wire::schema::builtin().message_of(&resource.group_version_kind()).is_none()
}
