//! Collections by type.

use std::any::TypeId;

use k8s_openapi::ClusterResourceScope;
use kube_core::Resource;
use watchkeeper_core::Collection;

/// An extension of [`Collection`]: collections by type.
pub trait CollectionExt {
    /// Returns the collection of all objects of a type.
    ///
    /// ```
    /// use watchkeeper_core::Collection;
    /// use watchkeeper_kinds::CollectionExt as _;
    /// use watchkeeper_kinds::k8s_openapi::api::core::v1::Pod;
    ///
    /// assert_eq!(Collection::of::<Pod>(), Collection::PODS);
    /// ```
    fn of<K: Resource<DynamicType = (), Scope: 'static>>() -> Collection;
}

impl CollectionExt for Collection {
    fn of<K: Resource<DynamicType = (), Scope: 'static>>() -> Collection {
        let is_cluster_scoped = TypeId::of::<K::Scope>() == TypeId::of::<ClusterResourceScope>();
        Self::new(&K::group(&()), &K::version(&()), &K::plural(&()), &K::kind(&()))
            .cluster_scoped(is_cluster_scoped)
    }
}
