//! The operator on a test cluster.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod idle;
mod living;

use std::sync::Arc;
use std::time::Duration;

use operator_example::{Context, MANAGER, Website, WebsiteSpec, controller, informers, install, reconcile};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use watchkeeper_client::kubeconfig::{Overrides, Sources};
use watchkeeper_client::{Client, Config};
use watchkeeper_controller::events::EventRecorder;
use watchkeeper_controller::{Manager, Request};
use watchkeeper_core::ObjectKey;
use watchkeeper_kinds::{Api, TypedFactory};
use watchkeeper_testkit::TestCluster;

const TIMEOUT: Duration = Duration::from_secs(30);

/// Starts a server that serves websites.
async fn start() -> (TestCluster, Client) {
    let cluster = TestCluster::start().await.unwrap();
    let sources = Sources::File(cluster.kubeconfig_path().to_owned());
    let client = Client::new(&Config::load(&sources, &Overrides::default()).unwrap()).unwrap();
    install(&client).await.unwrap();
    (cluster, client)
}

/// Creates the website `hello` with two replicas.
async fn create_website(client: &Client) {
    let spec = WebsiteSpec { image: "nginx".to_owned(), replicas: 2, message: "Hello".to_owned() };
    let websites = Api::<Website>::default_namespaced(client);
    websites.create(&Website::new("hello", spec), &Default::default()).await.unwrap();
}

/// A running operator, as in `main` but without a port.
struct Operator {
    /// Number of successful calls.
    calls: watch::Receiver<u64>,
    /// Keys to reconcile.
    keys: mpsc::Sender<ObjectKey>,
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Operator {
    async fn start(client: &Client) -> Self {
        let factory = TypedFactory::from(informers(client).build());
        let mut manager = Manager::new(&factory);
        let (recorder, writer) = EventRecorder::for_server(client, MANAGER).await;
        manager.spawn("events", |stop| async move {
            writer.run(stop).await;
            Ok(())
        });
        let (keys, queued) = mpsc::channel(1);
        let (counter, calls) = watch::channel(0);
        let context = Arc::new((Arc::new(Context::new(client, &factory, &recorder)), counter));
        let counted = |request: Request, context: Arc<(Arc<Context>, watch::Sender<u64>)>| async move {
            let outcome = reconcile(request, context.0.clone()).await?;
            context.1.send_modify(|calls| *calls += 1);
            Ok(outcome)
        };
        manager.add(controller(&factory).reconcile_on(queued), counted, context);
        let (stop, stopped) = oneshot::channel();
        let run = manager.run_until(async { drop(stopped.await) });
        Self { calls, keys, stop, task: tokio::spawn(async { run.await.unwrap() }) }
    }

    /// Stops the operator after it has written its events.
    async fn stop(self) {
        self.stop.send(()).unwrap();
        self.task.await.unwrap();
    }
}
