//! Kinds that describe the cluster and share it out: namespaces, nodes, quotas, priorities, accounts.

mod api_services;
mod component_statuses;
mod endpoints;
mod leases;
mod limit_ranges;
mod namespaces;
mod nodes;
mod priority_classes;
mod resource_quotas;
mod service_accounts;

pub(super) use api_services::ApiServices;
pub(super) use component_statuses::ComponentStatuses;
pub(super) use endpoints::Endpoints;
pub(super) use leases::Leases;
pub(super) use limit_ranges::LimitRanges;
pub(super) use namespaces::Namespaces;
pub(crate) use namespaces::PROTECTED_NAMESPACES;
pub(super) use nodes::Nodes;
pub(super) use priority_classes::PriorityClasses;
pub(super) use resource_quotas::ResourceQuotas;
pub(super) use service_accounts::ServiceAccounts;
