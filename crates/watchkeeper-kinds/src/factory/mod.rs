//! Typed factory: the informer of every built-in resource by its name, and of one's own types.
//!
//! From: an [`InformerFactory`], which knows no type, and the tables of resources, from which the methods are
//! generated.
//! To:   a [`TypedInformer`] of the kind that belongs to the resource.
//!
//! - T1: types are a way to look at an informer: whoever asks for a collection, as whatever type or as none,
//!   gets the same informer, and so there is one watch.

mod generated;
mod informer;
mod unknown;

use std::any::TypeId;
use std::ops::Deref;

use k8s_openapi::ClusterResourceScope;
use kube_core::Resource;
use watchkeeper_cache::InformerFactory;
use watchkeeper_client::Client;
use watchkeeper_client::discovery::Mapping;
use watchkeeper_client::dynamic::DynamicObject;
use watchkeeper_core::{Collection, GroupVersionResource};

pub use generated::*;
pub use informer::TypedInformer;
pub use unknown::UnknownResource;

/// The informers of a server: a method for each group and version, and on what it returns one for each resource
/// that can be watched. The methods have client-go's names.
///
/// ```no_run
/// # async fn example(client: watchkeeper_kinds::Client) -> Result<(), Box<dyn std::error::Error>> {
/// use std::time::Duration;
/// use watchkeeper_kinds::TypedFactory;
/// use watchkeeper_kinds::k8s_openapi::api::core::v1::Pod;
///
/// let factory = TypedFactory::new(&client);
/// let pods = factory.core_v1().pods();
/// pods.add_index("node", |pod: &Pod| {
///     pod.spec.iter().filter_map(|spec| spec.node_name.clone()).collect()
/// })?;
/// let (lister, shops) = (pods.lister(), factory.apps_v1().deployments().namespace("shop").lister());
/// factory.start();
/// factory.synced(Duration::from_secs(30)).await?;
///
/// let pod = lister.namespace("shop").get("web-0")?; // an Option: it may not be there
/// let there = lister.by_index("node", "n1")?.items()?;
/// let web = shops.list(&"app=web".parse()?).items()?;
/// factory.stop().await;
/// # Ok(())
/// # }
/// ```
///
/// It is an [`InformerFactory`] too, by which it is started and stopped, and can be made of one: see
/// [`InformerFactory::builder`] for default namespaces, selectors, resyncs and the rest.
///
/// ```no_run
/// # fn example(client: watchkeeper_kinds::Client) {
/// use watchkeeper_cache::InformerFactory;
/// use watchkeeper_kinds::TypedFactory;
///
/// let factory = TypedFactory::from(InformerFactory::builder(client).namespaces(["shop", "bank"]).build());
/// let both = factory.core_v1().pods(); // of two namespaces
/// let all = factory.core_v1().nodes(); // which are in none
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct TypedFactory {
    factory: InformerFactory,
}

impl TypedFactory {
    /// Of all that a server has.
    pub fn new(client: &Client) -> Self {
        InformerFactory::new(client.clone()).into()
    }

    /// Of a type of [`k8s_openapi`], or of one's own with `#[derive(CustomResource)]` or an implementation of
    /// [`Resource`] by hand.
    pub fn of<K>(&self) -> TypedInformer<K>
    where
        K: Resource<DynamicType = (), Scope: 'static>,
    {
        let is_cluster_scoped = TypeId::of::<K::Scope>() == TypeId::of::<ClusterResourceScope>();
        let (group, version) = (K::group(&()), K::version(&()));
        let collection = Collection::new(&group, &version, &K::plural(&()), &K::kind(&()));
        self.collection(collection.cluster_scoped(is_cluster_scoped))
    }

    /// Returns the informer of a built-in resource, its objects as trees of values. As with client-go's `ForResource`
    /// the informer belongs to the factory at once, and runs from the next [`start`](InformerFactory::start) on; for
    /// a narrower one see [`collection`](Self::collection).
    ///
    /// # Errors
    /// If there is no such resource that can be watched. For others see [`mapped`](Self::mapped).
    pub fn for_resource(
        &self,
        resource: &GroupVersionResource,
    ) -> Result<TypedInformer<DynamicObject>, UnknownResource> {
        let GroupVersionResource { group, version, resource: name } = resource;
        let row = WATCHED.iter().find(|row| (row.0, row.1, row.2) == (group, version, name));
        let (_, _, _, kind, namespaced) =
            row.ok_or_else(|| UnknownResource { resource: resource.clone() })?;
        Ok(self.registered(Collection::new(group, version, name, kind).cluster_scoped(!namespaced)))
    }

    /// Returns the informer of any resource that was [found](watchkeeper_client::discovery::RestMapper), its objects
    /// as trees of values. It belongs to the factory at once, as with [`for_resource`](Self::for_resource).
    pub fn mapped(&self, found: &Mapping) -> TypedInformer<DynamicObject> {
        let GroupVersionResource { group, version, resource } = &found.resource;
        let collection = Collection::new(group, version, resource, &found.kind.kind);
        self.registered(collection.cluster_scoped(!found.namespaced))
    }

    /// A collection that the factory has an informer of.
    fn registered(&self, collection: Collection) -> TypedInformer<DynamicObject> {
        let informer = self.collection(collection);
        informer.informer();
        informer
    }

    /// Of any collection, as any type that its objects can be read as.
    pub fn collection<K>(&self, collection: Collection) -> TypedInformer<K> {
        TypedInformer::new(self.factory.clone(), collection)
    }
}

impl From<InformerFactory> for TypedFactory {
    fn from(factory: InformerFactory) -> Self {
        Self { factory }
    }
}

impl Deref for TypedFactory {
    type Target = InformerFactory;

    fn deref(&self) -> &InformerFactory {
        &self.factory
    }
}
