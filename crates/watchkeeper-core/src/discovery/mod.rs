//! Discovery documents: the groups, versions and resources that a server describes to its clients.
//!
//! The server serializes these types from borrowed text; clients deserialize them into owned text. As in Go, `null` is
//! the same as an absent field.

mod aggregated;
mod legacy;

pub use aggregated::{
    ApiGroupDiscovery, ApiGroupDiscoveryList, ApiResourceDiscovery, ApiSubresourceDiscovery,
    ApiVersionDiscovery, DiscoveryMetadata, ResponseKind,
};
pub use legacy::{
    ApiGroup, ApiGroupList, ApiResource, ApiResourceList, ApiVersions, GroupVersionForDiscovery,
    ServerAddressByClientCidr,
};
