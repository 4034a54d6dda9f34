//! Typed informers for every built-in resource, generated from the resource tables, and for custom types.
//!
//! Input: an untyped [`InformerFactory`].
//! Output: a [`TypedInformer`] for the kind of the resource.
//!
//! - `factory.T1`: typed informers are views: every request for a collection, as any type or untyped, shares one
//!   informer and thus one watch.

mod generated;
mod informer;
mod unknown;

use std::ops::Deref;

use watchkeeper_cache::InformerFactory;
use watchkeeper_client::Client;
use watchkeeper_client::discovery::Mapping;
use watchkeeper_client::dynamic::DynamicObject;
use watchkeeper_core::{Collection, GroupVersionResource};

use crate::{CollectionExt as _, Resource};

pub use generated::*;
pub use informer::TypedInformer;
pub use unknown::UnknownResource;

/// Typed informers for the built-in resources, as client-go's `SharedInformerFactory`: a method per group version,
/// each with a method per resource that can be watched. The methods have client-go's names.
///
/// ```no_run
/// # async fn example(client: watchkeeper_kinds::Client) -> Result<(), Box<dyn std::error::Error>> {
/// use std::time::Duration;
/// use watchkeeper_kinds::TypedFactory;
///
/// let factory = TypedFactory::new(&client);
/// let pods = factory.core_v1().pods();
/// pods.add_index("node", |pod| vec![pod.spec.node_name.to_string()])?;
/// let (lister, shops) = (pods.lister(), factory.apps_v1().deployments().namespace("shop").lister());
/// factory.start();
/// factory.wait_until_ready(Duration::from_secs(30)).await?;
///
/// let pod = lister.namespace("shop").get("web-0")?; // an Option
/// let there = lister.by_index("node", "n1")?.items()?;
/// let web = shops.list(&"app=web".parse()?).items()?;
/// factory.stop().await;
/// # Ok(())
/// # }
/// ```
///
/// It derefs to [`InformerFactory`], which starts and stops it, and can be created from one: see
/// [`InformerFactory::builder`] for default namespaces, selectors, resyncs and other options.
///
/// ```no_run
/// # fn example(client: watchkeeper_kinds::Client) {
/// use watchkeeper_cache::InformerFactory;
/// use watchkeeper_kinds::TypedFactory;
///
/// let factory = TypedFactory::from(InformerFactory::builder(client).namespaces(["shop", "bank"]).build());
/// let both = factory.core_v1().pods(); // in two namespaces
/// let all = factory.core_v1().nodes(); // cluster-scoped
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct TypedFactory {
    factory: InformerFactory,
}

impl TypedFactory {
    /// Creates a factory with default options. It uses the client's [rate limiter](Client::rate_limiter).
    pub fn new(client: &Client) -> Self {
        InformerFactory::new(client.clone()).into()
    }

    /// Returns the informer of a type of [`api`](crate::api) or of k8s-openapi, or of your own type with kube-rs's
    /// `#[derive(CustomResource)]` or a manual implementation of [`Resource`].
    pub fn of<K: Resource>(&self) -> TypedInformer<K> {
        self.collection(Collection::of::<K>())
    }

    /// Returns the informer of a built-in resource with dynamic objects. As with client-go's `ForResource`, the factory
    /// creates the informer at once and runs it from the next [`start`](InformerFactory::start). For a subset of the
    /// resource use [`collection`](Self::collection).
    ///
    /// # Errors
    /// If no built-in resource that can be watched has this name. For others use [`mapped`](Self::mapped).
    pub fn for_resource(
        &self,
        resource: &GroupVersionResource,
    ) -> Result<TypedInformer<DynamicObject>, UnknownResource> {
        let GroupVersionResource { group, version, resource: name } = resource;
        let row = WATCHED.iter().find(|row| (row.0, row.1, row.2) == (group, version, name));
        let (_, _, _, kind, namespaced) =
            row.ok_or_else(|| UnknownResource { resource: resource.clone() })?;
        Ok(self.register(Collection::new(group, version, name, kind).cluster_scoped(!namespaced)))
    }

    /// Returns the informer of a resource from a [`RestMapper`](watchkeeper_client::discovery::RestMapper), with dynamic
    /// objects. The factory creates it at once, as with [`for_resource`](Self::for_resource).
    pub fn mapped(&self, found: &Mapping) -> TypedInformer<DynamicObject> {
        let GroupVersionResource { group, version, resource } = &found.resource;
        let collection = Collection::new(group, version, resource, &found.kind.kind);
        self.register(collection.cluster_scoped(!found.namespaced))
    }

    /// Creates the informer of a collection.
    fn register(&self, collection: Collection) -> TypedInformer<DynamicObject> {
        let informer = self.collection(collection);
        informer.informer();
        informer
    }

    /// Returns the informer of any collection, as any type that its objects decode to.
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
