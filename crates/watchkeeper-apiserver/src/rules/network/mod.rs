//! Network: ingresses, network policies, endpoint slices; and disruption budgets.

mod disruption_budgets;
mod endpoint_slices;
mod ingress_classes;
mod ingresses;
mod network_policies;

pub(super) use disruption_budgets::DisruptionBudgets;
pub(super) use endpoint_slices::EndpointSlices;
pub(super) use ingress_classes::IngressClasses;
pub(super) use ingresses::Ingresses;
pub(super) use network_policies::NetworkPolicies;
