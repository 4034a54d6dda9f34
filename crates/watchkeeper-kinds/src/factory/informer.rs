//! The typed informer of a collection.

use std::fmt;
use std::marker::PhantomData;

use serde::de::DeserializeOwned;
use watchkeeper_cache::handler::{Handler, Subscription, SubscriptionOptions};
use watchkeeper_cache::reader::Notifications;
use watchkeeper_cache::store::{IndexExists, by_view};
use watchkeeper_cache::{Informer, InformerFactory, Keep, Notification, Reader};
use watchkeeper_core::{Collection, FieldSelector, LabelSelector};

use crate::{Namespaced, PartialObjectMetadata, Resource};

/// The informer of a collection, with objects of type `K`. Clones are cheap.
///
/// Creating and narrowing it has no effect on the factory. The factory creates the informer with the first lister,
/// handler, subscription or index, as client-go does with `Informer()` and `Lister()`, and runs it from the next
/// [`start`](InformerFactory::start). After the informer has [exited](InformerFactory::exits) by itself, the next
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

    /// Limits the collection to a namespace; an empty one stands for all namespaces. This is a separate informer.
    pub fn namespace(self, namespace: &str) -> Self
    where
        K: Resource<Scope = Namespaced>,
    {
        self.namespaces([namespace])
    }

    /// Limits the collection to some namespaces. This is a separate informer.
    pub fn namespaces(mut self, namespaces: impl IntoIterator<Item: Into<String>>) -> Self
    where
        K: Resource<Scope = Namespaced>,
    {
        self.collection = self.collection.namespaces(namespaces);
        self
    }

    /// Limits the collection by labels. This is a separate informer.
    pub fn labels(mut self, selector: &LabelSelector) -> Self {
        self.collection = self.collection.labels(selector);
        self
    }

    /// Limits the collection by fields. This is a separate informer.
    pub fn fields(mut self, selector: &FieldSelector) -> Self {
        self.collection = self.collection.fields(selector);
        self
    }

    /// Requests only the objects' metadata from the server. This is a separate informer.
    pub fn metadata_only(self) -> TypedInformer<PartialObjectMetadata<K>> {
        TypedInformer::new(self.factory, self.collection.metadata_only()).keep(self.keep)
    }

    /// Returns the same informer with objects of another type, for example one with fewer fields.
    pub fn view<V>(&self) -> TypedInformer<V> {
        TypedInformer::new(self.factory.clone(), self.collection.clone()).keep(self.keep)
    }

    /// Sets which decoded objects listers keep; none by default.
    pub fn keep(mut self, keep: Keep) -> Self {
        self.keep = keep;
        self
    }

    /// Returns the collection, without the factory's defaults.
    pub fn collection(&self) -> &Collection {
        &self.collection
    }

    /// Returns the untyped informer, creating it if needed.
    pub fn informer(&self) -> Informer {
        self.factory.informer(&self.collection)
    }

    /// Creates a lister. Each keeps its own [decoded objects](Keep::Decoded), which its clones share.
    pub fn lister(&self) -> Reader<K> {
        self.informer().reader(self.keep)
    }

    /// Subscribes to the undecoded objects and their changes.
    pub fn subscribe(&self, options: SubscriptionOptions) -> Subscription {
        self.informer().subscribe(options)
    }
}

impl<K: DeserializeOwned> TypedInformer<K> {
    /// Subscribes to the objects and their changes.
    pub fn changes(&self, options: SubscriptionOptions) -> Notifications<K> {
        self.lister().changes(options)
    }

    /// Calls a function for all objects and then for every change, one at a time, in a separate task. As with
    /// client-go's `AddEventHandler`, it is called until the informer stops. The returned handler can be dropped, or
    /// used to [remove](Handler::remove) the function.
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

    /// Adds an index: see [`Reader::by_index`].
    ///
    /// # Errors
    /// If an index of this name exists.
    pub fn add_index(
        &self,
        name: &str,
        values: impl Fn(&K) -> Vec<String> + Send + Sync + 'static,
    ) -> Result<(), IndexExists>
    where
        K: 'static,
    {
        let informer = self.informer();
        informer.add_index(name, by_view(informer.kind().clone(), values))
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
