//! Finalizers on a server, with concurrent writers.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod steps;
mod together;

use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};
use watchkeeper_cache::Informer;
use watchkeeper_client::kubeconfig::{Overrides, Sources};
use watchkeeper_client::resource::ResourceClient;
use watchkeeper_client::{Client, Config};
use watchkeeper_controller::{Action, Controller, Finalizer, Finalizing, Request, TerminalError};
use watchkeeper_testkit::TestCluster;
use watchkeeper_testkit::script::{List, Script, Watch, object};
use watchkeeper_wire::Kind;

const OURS: &str = "example.com/ours";

struct World {
    cluster: TestCluster,
    client: Client,
    maps: ResourceClient<Value>,
}

impl World {
    async fn start() -> Self {
        let cluster = TestCluster::start().await.unwrap();
        let sources = Sources::File(cluster.kubeconfig_path().to_owned());
        let client = Client::new(&Config::load(&sources, &Overrides::default()).unwrap()).unwrap();
        let maps = client.resource("configmaps", &Kind::new("", "v1", "ConfigMap"));
        let maps = maps.namespace(cluster.namespace());
        Self { cluster, client, maps }
    }

    async fn create(&self, name: &str, finalizers: &[&str]) -> Arc<Value> {
        let map = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": name, "namespace": self.cluster.namespace(), "finalizers": finalizers},
        });
        Arc::new(self.maps.create(&map, &Default::default()).await.unwrap())
    }

    async fn delete(&self, name: &str) {
        self.maps.delete(name, &Default::default()).await.unwrap();
    }

    async fn get(&self, name: &str) -> Option<Arc<Value>> {
        self.maps.get_opt(name).await.unwrap().map(Arc::new)
    }

    async fn finalizers(&self, name: &str) -> Vec<String> {
        finalizers(&self.get(name).await.unwrap())
    }

    /// Runs the finalizer once for a cached object, and returns the steps run and whether the call succeeded.
    async fn run(&self, cached: &Arc<Value>, outcome: Result<Action, &'static str>) -> (Vec<String>, bool) {
        let (done, informer) = (Arc::new(Mutex::new(Vec::new())), one());
        let finalizer = Finalizer::new(OURS, &self.maps);
        let (noted, cached) = (done.clone(), cached.clone());
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let sender = Arc::new(Mutex::new(Some(sender)));
        let reconcile = move |_: Request, _| {
            let (finalizer, cached, noted, sender) =
                (finalizer.clone(), cached.clone(), noted.clone(), sender.clone());
            async move {
                let act = |what: Finalizing<Value>| async move {
                    noted.lock().push(match what {
                        Finalizing::Apply(map) => format!("apply with {:?}", finalizers(&map)),
                        Finalizing::Cleanup(_) => "cleanup".to_owned(),
                    });
                    outcome.map_err(|error| TerminalError::new(error).into())
                };
                let outcome = finalizer.run(cached, act).await;
                sender.lock().take().unwrap().send(outcome.is_ok()).unwrap();
                Ok(Action::await_change())
            }
        };
        let stop = Arc::new(Mutex::new(None));
        let stopped = stop.clone();
        Controller::new("maps", &informer)
            .run(reconcile, Arc::new(()), async move {
                *stopped.lock() = receiver.await.ok();
            })
            .await;
        let outcome = stop.lock().unwrap();
        (done.lock().clone(), outcome)
    }
}

/// Starts an informer of one object, so that the controller makes one call.
fn one() -> Informer {
    let script = Script::new().without_initial_events();
    let script = script.then(List::at(1).item(object("x/a", 1))).then(Watch::new().stalls());
    let informer = Informer::new(Kind::new("", "v1", "ConfigMap"), script);
    informer.start();
    informer
}

fn finalizers(map: &Value) -> Vec<String> {
    let list = map["metadata"]["finalizers"].as_array();
    list.into_iter().flatten().map(|name| name.as_str().unwrap().to_owned()).collect()
}
