//! Plane: what every controller is given, and where it runs.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use serde::de::DeserializeOwned;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use watchkeeper_cache::{Informer, InformerFactory, Keep, Reader};
use watchkeeper_client::Client;
use watchkeeper_client::dynamic::DynamicApi;
use watchkeeper_client::rest::NoWarnings;
use watchkeeper_controller::events::{EventApi, Recorder, ServerSink};
use watchkeeper_controller::{Controller, Reconcile};

use crate::resource::Resource;

/// How long events that wait are still written at the end.
const FLUSH: Duration = Duration::from_secs(1);

/// The client, the informers and the tasks of one cluster.
pub(crate) struct Plane {
    client: Client,
    factory: InformerFactory,
    stop: CancellationToken,
    tasks: JoinSet<()>,
}

impl Plane {
    pub(crate) fn new(client: Client, factory: InformerFactory) -> Self {
        Self { client, factory, stop: CancellationToken::new(), tasks: JoinSet::new() }
    }

    /// The informer that all share who want to know of this resource. It is started when all controllers are there.
    pub(crate) fn informer(&self, resource: Resource) -> Informer {
        self.factory.informer(&resource.collection())
    }

    /// The objects of the shared informer as `K`s.
    pub(crate) fn reader<K: DeserializeOwned>(&self, resource: Resource) -> Reader<K> {
        self.informer(resource).reader(Keep::Encoded)
    }

    /// To write them, in all namespaces until one is named. That Endpoints are deprecated is no news to who must write
    /// them all the same.
    pub(crate) fn api(&self, resource: Resource) -> DynamicApi {
        self.client.dynamic(&resource.group_version(), resource.plural).warnings(Arc::new(NoWarnings))
    }

    /// For who wants to know of resources that are not known beforehand.
    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    /// For who wants informers of such.
    pub(crate) fn factory(&self) -> &InformerFactory {
        &self.factory
    }

    /// Runs a controller until the end.
    pub(crate) fn run(&mut self, controller: Controller, reconcile: impl Reconcile) {
        let stop = self.stop.clone().cancelled_owned();
        self.tasks.spawn(controller.run(reconcile, stop));
    }

    /// Runs something that is no controller; it is to end when it is told to.
    pub(crate) fn spawn<F: Future<Output = ()> + Send + 'static>(
        &mut self,
        task: impl FnOnce(CancellationToken) -> F,
    ) {
        let task = task(self.stop.clone());
        self.tasks.spawn(task);
    }

    /// A recorder of what a component does, whose events are written until the end.
    pub(crate) fn recorder(&mut self, component: &str, api: EventApi) -> Recorder {
        let (recorder, writer) = Recorder::new(ServerSink::new(&self.client, api), api, component);
        self.spawn(|stop| writer.flush_within(FLUSH).run(stop));
        recorder
    }

    /// Starts the informers of all controllers that are there.
    pub(crate) fn start(&self) {
        self.factory.start();
    }

    /// Ends the controllers, and then the informers.
    pub(crate) async fn stop(mut self) {
        self.stop.cancel();
        while self.tasks.join_next().await.is_some() {}
        self.factory.stop().await;
    }
}
