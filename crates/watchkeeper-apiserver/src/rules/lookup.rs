//! The lookup: which rules a resource has (`rules.R1`).

use super::KindRules;
use super::access::{ClusterRoleBindings, ClusterRoles, RoleBindings, Roles};
use super::autoscalers::{Autoscalers, AutoscalersV1};
use super::cluster::{
    ApiServices, ComponentStatuses, Endpoints, Leases, LimitRanges, Namespaces, Nodes, PriorityClasses,
    ResourceQuotas, ServiceAccounts,
};
use super::config::{ConfigMaps, Secrets};
use super::definitions::Definitions;
use super::events::{Events, EventsV1};
use super::network::{DisruptionBudgets, EndpointSlices, IngressClasses, Ingresses, NetworkPolicies};
use super::plain::Plain;
use super::pods::{Bindings, PodTemplates, Pods};
use super::reviews::Review;
use super::services::Services;
use super::storage::{Claims, StorageClasses, Volumes};
use super::webhooks::{MutatingWebhooks, ValidatingWebhooks};
use super::workloads::{
    ControllerRevisions, CronJobs, DaemonSets, Deployments, Jobs, ReplicaSets, ReplicationControllers,
    StatefulSets,
};

/// Returns the rules of a built-in resource.
pub(crate) fn lookup(group: &str, version: &str, resource: &str) -> Option<&'static dyn KindRules> {
    Some(match (group, resource) {
        ("", "bindings") => &Bindings,
        ("", "componentstatuses") => &ComponentStatuses,
        ("", "configmaps") => &ConfigMaps,
        ("", "endpoints") => &Endpoints,
        ("", "events") => &Events,
        ("", "limitranges") => &LimitRanges,
        ("", "namespaces") => &Namespaces,
        ("", "nodes") => &Nodes,
        ("", "persistentvolumeclaims") => &Claims,
        ("", "persistentvolumes") => &Volumes,
        ("", "pods") => &Pods,
        ("", "podtemplates") => &PodTemplates,
        ("", "replicationcontrollers") => &ReplicationControllers,
        ("", "resourcequotas") => &ResourceQuotas,
        ("", "secrets") => &Secrets,
        ("", "serviceaccounts") => &ServiceAccounts,
        ("", "services") => &Services,
        ("apiregistration.k8s.io", "apiservices") => &ApiServices,
        ("apps", "controllerrevisions") => &ControllerRevisions,
        ("apps", "daemonsets") => &DaemonSets,
        ("apps", "deployments") => &Deployments,
        ("apps", "replicasets") => &ReplicaSets,
        ("apps", "statefulsets") => &StatefulSets,
        ("events.k8s.io", "events") => &EventsV1,
        ("authentication.k8s.io", "selfsubjectreviews") => &Review::SelfSubject,
        ("authentication.k8s.io", "tokenreviews") => &Review::Token,
        ("authorization.k8s.io", "localsubjectaccessreviews") => &Review::LocalSubjectAccess,
        ("authorization.k8s.io", "selfsubjectaccessreviews") => &Review::SelfSubjectAccess,
        ("authorization.k8s.io", "selfsubjectrulesreviews") => &Review::SelfSubjectRules,
        ("authorization.k8s.io", "subjectaccessreviews") => &Review::SubjectAccess,
        ("autoscaling", "horizontalpodautoscalers") if version == "v1" => &AutoscalersV1,
        ("autoscaling", "horizontalpodautoscalers") => &Autoscalers,
        ("batch", "cronjobs") => &CronJobs,
        ("batch", "jobs") => &Jobs,
        ("networking.k8s.io", "ingressclasses") => &IngressClasses,
        ("networking.k8s.io", "ingresses") => &Ingresses,
        ("networking.k8s.io", "ipaddresses") => &Plain::IP_ADDRESS,
        ("networking.k8s.io", "networkpolicies") => &NetworkPolicies,
        ("networking.k8s.io", "servicecidrs") => &Plain::DEFAULT,
        ("policy", "poddisruptionbudgets") => &DisruptionBudgets,
        ("rbac.authorization.k8s.io", "clusterrolebindings") => &ClusterRoleBindings,
        ("rbac.authorization.k8s.io", "clusterroles") => &ClusterRoles,
        ("rbac.authorization.k8s.io", "rolebindings") => &RoleBindings,
        ("rbac.authorization.k8s.io", "roles") => &Roles,
        ("storage.k8s.io", "csidrivers" | "csinodes" | "volumeattachments") => &Plain::CSI,
        ("storage.k8s.io", "csistoragecapacities" | "volumeattributesclasses") => &Plain::DEFAULT,
        ("storage.k8s.io", "storageclasses") => &StorageClasses,
        (
            "admissionregistration.k8s.io",
            "mutatingadmissionpolicies"
            | "mutatingadmissionpolicybindings"
            | "validatingadmissionpolicies"
            | "validatingadmissionpolicybindings",
        ) => &Plain::ADMISSION_POLICY,
        ("admissionregistration.k8s.io", "mutatingwebhookconfigurations") => &MutatingWebhooks,
        ("admissionregistration.k8s.io", "validatingwebhookconfigurations") => &ValidatingWebhooks,
        ("apiextensions.k8s.io", "customresourcedefinitions") => &Definitions,
        ("scheduling.k8s.io", "priorityclasses") => &PriorityClasses,
        ("coordination.k8s.io", "leases") => &Leases,
        ("discovery.k8s.io", "endpointslices") => &EndpointSlices,
        _ => return None,
    })
}
