//! The life of one website in a cluster where deployments run, as whoever tries the example sees it.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::time::Duration;

use operator_example::registry::{self, REGISTRY};
use operator_example::website::Phase;
use operator_example::{MANAGER, Website, WebsiteSpec, Websites, informers, install};
use serde_json::json;
use tokio::sync::oneshot;
use watchkeeper_cache::reader::ListUndecodable;
use watchkeeper_cache::wait::until;
use watchkeeper_client::kubeconfig::{Overrides, Sources};
use watchkeeper_client::rest::PatchKind;
use watchkeeper_client::{Client, Config};
use watchkeeper_cluster::{Cluster, Timings};
use watchkeeper_controller::Manager;
use watchkeeper_controller::events::EventRecorder;
use watchkeeper_core::ObjectKey;
use watchkeeper_kinds::k8s_openapi::api::apps::v1::Deployment;
use watchkeeper_kinds::k8s_openapi::api::core::v1::ConfigMap;
use watchkeeper_kinds::k8s_openapi::api::events::v1::Event;
use watchkeeper_kinds::{Api, TypedFactory, TypedInformer};
use watchkeeper_testkit::TestCluster;

const PATIENCE: Duration = Duration::from_secs(30);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_website_is_made_scaled_and_taken_back() {
    let cluster = TestCluster::start().await.unwrap();
    let living =
        Cluster::builder().nodes(1).timings(Timings::instant()).start(cluster.server()).await.unwrap();
    let sources = Sources::File(cluster.kubeconfig_path().to_owned());
    let client = Client::new(&Config::load(&sources, &Overrides::default()).unwrap()).unwrap();
    install(&client).await.unwrap();
    let (stop, operator) = operate(&client).await;

    let factory = TypedFactory::new(&client); // of who looks on
    let websites = factory.of::<Website>();
    let api = Api::<Website>::default_namespaced(&client);
    let spec = WebsiteSpec { image: "nginx".to_owned(), replicas: 2, message: "Hello".to_owned() };
    api.create(&Website::new("hello", spec), &Default::default()).await.unwrap();
    comes(&websites, |all| all.iter().any(|it| is_ready(it, 2))).await;

    let more = json!({"spec": {"replicas": 3, "message": "Good morning"}});
    api.patch("hello", PatchKind::Merge, &more, &Default::default()).await.unwrap();
    comes(&websites, |all| all.iter().any(|it| is_ready(it, 3))).await;
    let registered = registry::name_of(&ObjectKey::namespaced(cluster.namespace(), "hello"));
    let registrations = Api::<ConfigMap>::namespaced(&client, REGISTRY);
    let registration = registrations.get(&registered).await.unwrap();
    assert_eq!(registration.data.unwrap()["message"], "Good morning");

    api.delete("hello", &Default::default()).await.unwrap();
    comes(&websites, <[_]>::is_empty).await;
    assert!(registrations.get_opt(&registered).await.unwrap().is_none()); // before the website was let go
    comes(&factory.of::<Deployment>(), <[_]>::is_empty).await; // the garbage collector's work
    let told = |all: &[_], reason| all.iter().any(|it: &Event| it.reason.as_deref() == Some(reason));
    comes(&factory.of::<Event>(), |all| told(all, "Created") && told(all, "Scaled")).await;

    stop.send(()).unwrap();
    operator.await.unwrap();
    factory.stop().await;
    living.stop().await;
    cluster.stop().await;
}

/// The operator as `main` has it, without a port.
async fn operate(client: &Client) -> (oneshot::Sender<()>, tokio::task::JoinHandle<()>) {
    let factory = TypedFactory::from(informers(client).build());
    let mut manager = Manager::new(&factory);
    let (recorder, writer) = EventRecorder::for_server(client, MANAGER).await;
    manager.spawn("events", |stop| async move {
        writer.run(stop).await;
        Ok(())
    });
    manager.add(Websites::controller(&factory), Websites::new(client, &factory, &recorder));
    let (stop, stopped) = oneshot::channel();
    let run = manager.run_until(async { drop(stopped.await) });
    (stop, tokio::spawn(async { run.await.unwrap() }))
}

/// Waits until something can be said of all objects.
async fn comes<K>(objects: &TypedInformer<K>, is_so: impl Fn(&[K]) -> bool)
where
    K: Clone + serde::de::DeserializeOwned,
{
    let (informer, lister) = (objects.informer(), objects.lister());
    until(&informer, Some(PATIENCE), |_| {
        let all = lister.list(&Default::default()).items()?;
        let all: Vec<K> = all.iter().map(|object| K::clone(object)).collect();
        Ok::<_, ListUndecodable>(is_so(&all).then_some(()))
    })
    .await
    .unwrap();
}

/// Whether so many copies answer, and that is said of the newest generation.
fn is_ready(website: &Website, replicas: i32) -> bool {
    let Some(status) = &website.status else { return false };
    let is_current = Some(status.observed_generation) == website.metadata.generation;
    is_current && status.phase == Phase::Ready && status.ready_replicas == replicas
}
