//! kubectl by way of the web service: what it reads, what it is refused, and what flags open.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::time::Duration;

use http::Request;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::process::Command;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use watchkeeper_client::kubeconfig::{Overrides, Sources};
use watchkeeper_client::{Client, Config};
use watchkeeper_oracle::{Kubectl, Said};
use watchkeeper_testkit::TestCluster;
use watchkeeper_web::{Options, Server, Service};

#[path = "kubelet/mod.rs"]
mod kubelet;

use kubelet::Kubelet;

const LONG: Duration = Duration::from_secs(60);

/// The service before a cluster, and kubectl before the service.
struct Town {
    cluster: TestCluster,
    client: Client,
    url: String,
    stop: CancellationToken,
    running: JoinHandle<()>,
}

impl Town {
    async fn start(options: Options) -> Self {
        let cluster = TestCluster::start().await.unwrap();
        let sources = Sources::File(cluster.kubeconfig_path().to_owned());
        let client = Client::new(&Config::load(&sources, &Overrides::default()).unwrap()).unwrap();
        let server = Server::bind(&Service::new(&client), options).await.unwrap();
        let (url, stop) = (server.url(), CancellationToken::new());
        let running = tokio::spawn(server.run(stop.clone().cancelled_owned()));
        Self { cluster, client, url, stop, running }
    }

    /// kubectl that knows nothing but the service's address.
    fn command(&self, arguments: &[&str]) -> Command {
        let home = self.cluster.directory();
        let kubectl = Kubectl::new(&home.join("none"), home).unwrap();
        kubectl.command(["--server", &self.url, "--namespace", "default"].iter().chain(arguments))
    }

    async fn kubectl(&self, arguments: &[&str], input: &str) -> (Option<i32>, String, String) {
        let Said { code, out, error } = Said::of(self.command(arguments), input).await.unwrap();
        (code, out, error)
    }

    async fn create(&self, object: Value) {
        let mut object = object;
        if object["kind"] != "Node" {
            object["metadata"]["namespace"] = "default".into();
        }
        self.cluster.create(object).await.unwrap();
    }

    async fn stop(self) {
        self.stop.cancel();
        self.running.await.unwrap();
        self.cluster.stop().await;
    }
}

fn settings(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": "b"}})
}

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_reads_and_watches_and_is_told_why_it_may_not_write() {
    let town = Town::start(Options::default()).await;
    town.create(settings("one")).await;
    let (code, stdout, stderr) = town.kubectl(&["get", "configmaps", "-o", "name"], "").await;
    assert_eq!((code, stdout.as_str(), stderr.as_str()), (Some(0), "configmap/one\n", ""));
    let (code, stdout, _) = town.kubectl(&["get", "configmap", "one", "-o", "jsonpath={.data.a}"], "").await;
    assert_eq!((code, stdout.as_str()), (Some(0), "b"));
    let (code, stdout, _) = town.kubectl(&["explain", "configmap.data"], "").await;
    assert!(code == Some(0) && stdout.contains("KIND:       ConfigMap"), "{stdout}");

    let mut watch = town.command(&["get", "configmaps", "--watch", "-o", "name"]).spawn().unwrap();
    let mut lines = BufReader::new(watch.stdout.take().unwrap()).lines();
    let mut next = async || timeout(LONG, lines.next_line()).await.expect("no line").unwrap().unwrap();
    assert_eq!(next().await, "configmap/one");
    for name in ["two", "three"] {
        town.create(settings(name)).await;
        assert_eq!(next().await, format!("configmap/{name}"));
    }
    watch.kill().await.unwrap();

    let (code, _, stderr) = town.kubectl(&["apply", "-f", "-"], &settings("four").to_string()).await;
    let why = "this proxy does not allow writes; to allow them, start the service with --proxy-writes";
    assert!(code == Some(1) && stderr.contains(why), "{stderr}");
    let (code, _, stderr) = town.kubectl(&["delete", "configmap", "one"], "").await;
    assert_eq!((code, stderr), (Some(1), format!("Error from server (Forbidden): {why}\n")));
    let (_, stdout, _) = town.kubectl(&["get", "configmaps", "-o", "name"], "").await;
    assert_eq!(stdout.lines().count(), 3, "{stdout}");
    town.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_writes_where_that_is_open() {
    let town = Town::start(Options::default().proxy_writes(true)).await;
    let (code, stdout, stderr) = town.kubectl(&["apply", "-f", "-"], &settings("one").to_string()).await;
    assert_eq!((code, stdout.as_str(), stderr.as_str()), (Some(0), "configmap/one created\n", ""));
    let apply = ["apply", "--server-side", "--force-conflicts", "-f", "-"];
    let (code, stdout, stderr) = town.kubectl(&apply, &settings("one").to_string()).await;
    assert_eq!((code, stdout.as_str()), (Some(0), "configmap/one serverside-applied\n"), "{stderr}");
    let (code, stdout, _) = town.kubectl(&["delete", "configmap", "one"], "").await;
    assert_eq!((code, stdout.as_str()), (Some(0), "configmap \"one\" deleted from default namespace\n"));
    town.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_runs_programs_and_forwards_ports_where_that_is_open() {
    let kubelet = Kubelet::start().await;
    for open in [true, false] {
        let town = Town::start(Options::default().proxy_upgrades(open)).await;
        town.create(json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-1"}, "status": {
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": kubelet.port}},
            "declaredFeatures": ["ExtendWebSocketsToKubelet"],
        }}))
        .await;
        let spec = json!({"nodeName": "node-1", "containers": [{"name": "main", "image": "app"}]});
        town.create(json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": spec}))
            .await;
        // kubectl forwards no ports of pods that do not run.
        let running = Request::patch("/api/v1/namespaces/default/pods/web/status")
            .header("content-type", "application/merge-patch+json")
            .body(json!({"status": {"phase": "Running"}}).to_string().into());
        let patched = town.client.transport().send(running.unwrap()).await.unwrap();
        assert_eq!(patched.status(), 200);
        if !open {
            let (code, _, stderr) = town.kubectl(&["exec", "web", "--", "echo", "hello"], "").await;
            assert!(code == Some(1) && stderr.contains("--proxy-upgrades"), "{stderr}");
            town.stop().await;
            continue;
        }
        let (code, stdout, stderr) = town.kubectl(&["exec", "web", "--", "echo", "hello"], "").await;
        assert_eq!((code, stdout.as_str(), stderr.as_str()), (Some(0), "hello\n", ""));
        let (code, stdout, stderr) = town.kubectl(&["exec", "-i", "web", "--", "cat"], "to and fro").await;
        assert_eq!((code, stdout.as_str(), stderr.as_str()), (Some(0), "to and fro", ""));
        let (code, stdout, _) = town.kubectl(&["logs", "web", "--follow", "--tail=1"], "").await;
        assert_eq!((code, stdout.as_str()), (Some(0), "three\nfour\n"));
        forward(&town).await;
        town.stop().await;
    }
}

/// What is sent to a forwarded port comes back.
async fn forward(town: &Town) {
    let arguments = ["port-forward", "pod/web", "--address=127.0.0.1", ":80"];
    let mut forward = town.command(&arguments).spawn().unwrap();
    let mut stdout = BufReader::new(forward.stdout.take().unwrap());
    let mut said = String::new();
    timeout(LONG, stdout.read_line(&mut said)).await.expect("no line").unwrap();
    let port: u16 = said
        .strip_prefix("Forwarding from 127.0.0.1:")
        .and_then(|rest| rest.split(' ').next())
        .and_then(|port| port.parse().ok())
        .unwrap_or_else(|| panic!("{said:?}"));
    for text in ["hello", "again"] {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        stream.write_all(text.as_bytes()).await.unwrap();
        let mut back = vec![0; text.len()];
        timeout(LONG, stream.read_exact(&mut back)).await.expect("no echo").unwrap();
        assert_eq!(back, text.as_bytes());
    }
    forward.kill().await.unwrap();
}
