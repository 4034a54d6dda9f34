//! Collections by type.

use watchkeeper_core::Collection;

use crate::{Resource, Scope as _};

/// An extension of [`Collection`]: collections by type.
pub trait CollectionExt {
    /// Returns the collection of all objects of a type.
    ///
    /// ```
    /// use watchkeeper_core::Collection;
    /// use watchkeeper_kinds::CollectionExt as _;
    /// use watchkeeper_kinds::api::core::v1::Pod;
    ///
    /// assert_eq!(Collection::of::<Pod>(), Collection::PODS);
    /// ```
    fn of<K: Resource>() -> Collection;
}

impl CollectionExt for Collection {
    fn of<K: Resource>() -> Collection {
        Self::new(&K::group(), &K::version(), &K::plural(), &K::kind()).cluster_scoped(!K::Scope::NAMESPACED)
    }
}
