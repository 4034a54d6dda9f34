//! Context: what all controllers share, and the tasks they run on.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde::de::DeserializeOwned;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use watchkeeper_cache::{Informer, InformerFactory, Keep, Reader};
use watchkeeper_client::Client;
use watchkeeper_client::dynamic::DynamicApi;
use watchkeeper_client::rest::NoWarnings;
use watchkeeper_controller::events::{EventApi, EventRecorder, ServerSink};
use watchkeeper_controller::{Action, Controller, Error, Request};

use crate::resource::Resource;

/// Time limit of the final flush of events.
const FLUSH: Duration = Duration::from_secs(1);

/// The client, the informers and the tasks of one cluster.
pub(crate) struct ControllerContext {
    client: Client,
    factory: InformerFactory,
    stop: CancellationToken,
    tasks: JoinSet<()>,
}

/// The state of a controller, with its reconcile function.
pub(crate) trait Reconcile: Send + Sync + 'static {
    /// Reconciles one key, whose object may have been deleted.
    fn reconcile(&self, request: Request) -> impl Future<Output = Result<Action, Error>> + Send;
}

impl ControllerContext {
    pub(crate) fn new(client: Client, factory: InformerFactory) -> Self {
        Self { client, factory, stop: CancellationToken::new(), tasks: JoinSet::new() }
    }

    /// Returns the shared informer of a resource. It starts once all controllers are registered.
    pub(crate) fn informer(&self, resource: Resource) -> Informer {
        self.factory.informer(&resource.collection())
    }

    /// Returns a typed reader of the shared informer.
    pub(crate) fn reader<K: DeserializeOwned>(&self, resource: Resource) -> Reader<K> {
        self.informer(resource).reader(Keep::Encoded)
    }

    /// Returns an API handle for all namespaces. Warnings are suppressed: Endpoints are deprecated, but
    /// written on purpose.
    pub(crate) fn api(&self, resource: Resource) -> DynamicApi {
        self.client.dynamic(&resource.group_version(), resource.plural).warnings(Arc::new(NoWarnings))
    }

    /// Returns the client, for resources that are not known in advance.
    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    /// Returns the informer factory, for resources that are not known in advance.
    pub(crate) fn factory(&self) -> &InformerFactory {
        &self.factory
    }

    /// Runs a controller until the cluster stops.
    pub(crate) fn run<R: Reconcile>(&mut self, controller: Controller, reconciler: R) {
        let stop = self.stop.clone().cancelled_owned();
        let reconcile = |request: Request, this: Arc<R>| async move { this.reconcile(request).await };
        let running = controller.run(reconcile, Arc::new(reconciler), stop);
        self.spawn(|_| running);
    }

    /// Runs a task other than a controller. It should end when its token is cancelled.
    pub(crate) fn spawn<F: Future<Output = ()> + Send + 'static>(
        &mut self,
        task: impl FnOnce(CancellationToken) -> F,
    ) {
        let task: BoxFuture<'static, ()> = Box::pin(task(self.stop.clone()));
        self.tasks.spawn(task);
    }

    /// Creates an event recorder for a component, and runs its writer until the cluster stops.
    pub(crate) fn recorder(&mut self, component: &str, api: EventApi) -> EventRecorder {
        let (recorder, writer) = EventRecorder::new(ServerSink::new(&self.client, api), api, component);
        self.spawn(|stop| writer.flush_within(FLUSH).run(stop));
        recorder
    }

    /// Starts the informers of all registered controllers.
    pub(crate) fn start(&self) {
        self.factory.start();
    }

    /// Stops the controllers, then the informers.
    pub(crate) async fn stop(mut self) {
        self.stop.cancel();
        while self.tasks.join_next().await.is_some() {}
        self.factory.stop().await;
    }
}
