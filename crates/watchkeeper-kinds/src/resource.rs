//! Types of resources.

use std::borrow::Cow;

use std::marker::PhantomData;

use serde::{Deserialize, Serialize};

use crate::api::meta::v1::{ObjectMeta, OwnerReference};

/// The scope of a resource whose objects are in namespaces.
#[derive(Clone, Copy, Debug)]
pub struct Namespaced;

/// The scope of a resource whose objects are in no namespace.
#[derive(Clone, Copy, Debug)]
pub struct ClusterScoped;

/// The scope of a resource: [`Namespaced`] or [`ClusterScoped`].
pub trait Scope: 'static {
    /// Whether objects are in namespaces.
    const NAMESPACED: bool;
}

impl Scope for Namespaced {
    const NAMESPACED: bool = true;
}

impl Scope for ClusterScoped {
    const NAMESPACED: bool = false;
}

/// A type of the objects of a resource.
///
/// All types of [`api`](crate::api) that have a resource implement it. Implement it for your own type, or enable the
/// feature `kube` for types with kube-rs's `#[derive(CustomResource)]`.
pub trait Resource {
    /// The scope of the resource.
    type Scope: Scope;

    /// Returns the API group; empty for the core group.
    fn group() -> Cow<'static, str>;

    /// Returns the version.
    fn version() -> Cow<'static, str>;

    /// Returns the kind.
    fn kind() -> Cow<'static, str>;

    /// Returns the name of the resource in URLs.
    fn plural() -> Cow<'static, str>;
}

/// An object with metadata.
pub trait Object {
    /// Returns the metadata.
    fn metadata(&self) -> &ObjectMeta;

    /// Returns the metadata, for writing.
    fn metadata_mut(&mut self) -> &mut ObjectMeta;

    /// Returns the name.
    fn name(&self) -> &str {
        &self.metadata().name
    }

    /// Returns the namespace; empty for a cluster-scoped object.
    fn namespace(&self) -> &str {
        &self.metadata().namespace
    }

    /// Returns a reference that makes this object the controller of another one.
    fn controller_reference(&self) -> OwnerReference
    where
        Self: Resource,
    {
        OwnerReference::default()
            .with_api_version(api_version::<Self>())
            .with_kind(Self::kind())
            .with_name(self.name())
            .with_uid(&*self.metadata().uid)
            .with_controller(true)
            .with_block_owner_deletion(true)
    }
}

/// Returns the `apiVersion` of a type.
pub(crate) fn api_version<K: Resource + ?Sized>() -> String {
    match &*K::group() {
        "" => K::version().into_owned(),
        group => format!("{group}/{}", K::version()),
    }
}

/// The metadata of an object of type `K`, without the rest.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct PartialObjectMetadata<K> {
    /// The metadata.
    #[serde(default)]
    pub metadata: ObjectMeta,
    /// The type of the whole object.
    #[serde(skip)]
    pub of: PhantomData<fn() -> K>,
}

impl<K> Default for PartialObjectMetadata<K> {
    fn default() -> Self {
        Self { metadata: ObjectMeta::default(), of: PhantomData }
    }
}

impl<K: Resource> Resource for PartialObjectMetadata<K> {
    type Scope = K::Scope;

    fn group() -> Cow<'static, str> {
        K::group()
    }

    fn version() -> Cow<'static, str> {
        K::version()
    }

    fn kind() -> Cow<'static, str> {
        K::kind()
    }

    fn plural() -> Cow<'static, str> {
        K::plural()
    }
}

impl<K> Object for PartialObjectMetadata<K> {
    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn metadata_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}
