//! Typed informer: a collection of a factory, as a type.

use std::fmt;
use std::marker::PhantomData;

use k8s_openapi::NamespaceResourceScope;
use kube_core::Resource;
use kube_core::metadata::PartialObjectMeta;
use serde::de::DeserializeOwned;
use watchkeeper_cache::handler::{Handler, Subscription, SubscriptionOptions};
use watchkeeper_cache::reader::Notifications;
use watchkeeper_cache::store::{ByView, IndexExists};
use watchkeeper_cache::{Informer, InformerFactory, Keep, Notification, Reader};
use watchkeeper_core::{Collection, FieldSelector, LabelSelector};

/// A collection of a factory, its objects as `K`s. Clones are cheap.
///
/// Having it, and narrowing it, requests nothing. The factory creates the informer with the first lister, handler,
/// subscription or index, as client-go does with `Informer()` and `Lister()`; it runs from the next
/// [`start`](InformerFactory::start) on. When the informer has [ended](InformerFactory::endings) by itself, the next
/// request creates another.
#[must_use]
pub struct TypedInformer<K> {
    factory: InformerFactory,
    collection: Collection,
    keep: Keep,
    of: PhantomData<fn() -> K>,
}

impl<K> TypedInformer<K> {
    pub(super) fn new(factory: InformerFactory, collection: Collection) -> Self {
        Self { factory, collection, keep: Keep::default(), of: PhantomData }
    }

    /// Only those of a namespace, which is an informer of its own; an empty one stands for all of them.
    pub fn namespace(self, namespace: &str) -> Self
    where
        K: Resource<Scope = NamespaceResourceScope>,
    {
        self.namespaces([namespace])
    }

    /// Only those of some namespaces, which together are an informer of its own.
    pub fn namespaces(mut self, namespaces: impl IntoIterator<Item: Into<String>>) -> Self
    where
        K: Resource<Scope = NamespaceResourceScope>,
    {
        self.collection = self.collection.namespaces(namespaces);
        self
    }

    /// Only those with such labels, which is an informer of its own.
    pub fn labels(mut self, selector: &LabelSelector) -> Self {
        self.collection = self.collection.labels(selector);
        self
    }

    /// Only those with such fields, which is an informer of its own.
    pub fn fields(mut self, selector: &FieldSelector) -> Self {
        self.collection = self.collection.fields(selector);
        self
    }

    /// Only their metadata, which is an informer of its own: the server sends nothing else.
    pub fn metadata_only(self) -> TypedInformer<PartialObjectMeta<K>> {
        TypedInformer::new(self.factory, self.collection.metadata_only()).keep(self.keep)
    }

    /// The same informer, its objects as another type: as few fields as one likes.
    pub fn view<V>(&self) -> TypedInformer<V> {
        TypedInformer::new(self.factory.clone(), self.collection.clone()).keep(self.keep)
    }

    /// What its listers keep of what they have decoded; nothing by default.
    pub fn keep(mut self, keep: Keep) -> Self {
        self.keep = keep;
        self
    }

    /// What is listed and watched, less what the factory adds by default.
    pub fn collection(&self) -> &Collection {
        &self.collection
    }

    /// The informer, which knows no type.
    pub fn informer(&self) -> Informer {
        self.factory.informer(&self.collection)
    }

    /// The objects, to be read. Each lister keeps its own [copies](Keep::Decoded), its clones share them.
    pub fn lister(&self) -> Reader<K> {
        self.informer().reader(self.keep)
    }

    /// All objects in bytes, and then every change of them.
    pub fn subscribe(&self, options: SubscriptionOptions) -> Subscription {
        self.informer().subscribe(options)
    }
}

impl<K: DeserializeOwned> TypedInformer<K> {
    /// All objects, and then every change of them.
    pub fn changes(&self, options: SubscriptionOptions) -> Notifications<K> {
        self.lister().changes(options)
    }

    /// Calls a function for all objects, and then for every change of them, one after the other, in a task of its own.
    /// As with client-go's `AddEventHandler`, it is called until the informer is stopped; the handler that is returned
    /// can be dropped, or used to [remove](Handler::remove) the function.
    ///
    /// ```no_run
    /// # fn example(factory: watchkeeper_kinds::TypedFactory) {
    /// factory.core_v1().pods().handle(Default::default(), |change| println!("{change:?}"));
    /// factory.start();
    /// # }
    /// ```
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn handle(
        &self,
        options: SubscriptionOptions,
        mut handle: impl FnMut(Notification<K>) + Send + 'static,
    ) -> Handler
    where
        K: Send + Sync + 'static,
    {
        let lister = self.lister();
        Handler::start(lister.subscribe(options), move |delta| handle(lister.notification(delta)))
    }

    /// Adds a way to find objects: see [`Reader::by_index`].
    ///
    /// # Errors
    /// If there is one of this name.
    pub fn add_index(
        &self,
        name: &str,
        values: impl Fn(&K) -> Vec<String> + Send + Sync + 'static,
    ) -> Result<(), IndexExists>
    where
        K: 'static,
    {
        let informer = self.informer();
        informer.add_index(name, ByView::new(informer.kind().clone(), values))
    }
}

impl<K> Clone for TypedInformer<K> {
    fn clone(&self) -> Self {
        Self::new(self.factory.clone(), self.collection.clone()).keep(self.keep)
    }
}

impl<K> fmt::Debug for TypedInformer<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TypedInformer").field(&self.collection).finish()
    }
}
