//! kubectl through the proxy of the web service: which requests it allows by default, and which with flags.

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
use watchkeeper_oracle::{CommandOutput, Kubectl};
use watchkeeper_testkit::TestCluster;
use watchkeeper_web::{Options, Server, Service};

#[path = "kubelet/mod.rs"]
mod kubelet;

use kubelet::Kubelet;

/// Time limit for output.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A cluster, the web service in front of it, and kubectl configured for the service.
struct Environment {
    cluster: TestCluster,
    client: Client,
    url: String,
    stop: CancellationToken,
    running: JoinHandle<()>,
}

impl Environment {
    async fn start(options: Options) -> Self {
        let cluster = TestCluster::start().await.unwrap();
        let sources = Sources::File(cluster.kubeconfig_path().to_owned());
        let client = Client::new(&Config::load(&sources, &Overrides::default()).unwrap()).unwrap();
        let server = Server::bind(&Service::new(&client), options).await.unwrap();
        let (url, stop) = (server.url(), CancellationToken::new());
        let running = tokio::spawn(server.run(stop.clone().cancelled_owned()));
        Self { cluster, client, url, stop, running }
    }

    /// Returns a kubectl command that is configured only with the URL of the service.
    fn command(&self, arguments: &[&str]) -> Command {
        let home = self.cluster.directory();
        let kubectl = Kubectl::new(&home.join("none"), home).unwrap();
        kubectl.command(["--server", &self.url, "--namespace", "default"].iter().chain(arguments))
    }

    /// Runs kubectl, and returns its exit code, standard output and standard error.
    async fn kubectl(&self, arguments: &[&str], input: &str) -> (Option<i32>, String, String) {
        let CommandOutput { code, out, error } =
            CommandOutput::of(self.command(arguments), input).await.unwrap();
        (code, out, error)
    }

    /// Creates an object on the cluster; all but nodes in the namespace `default`.
    async fn create(&self, mut object: Value) {
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

fn config_map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": "b"}})
}

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_reads_and_watches_and_the_error_for_writes_names_the_flag() {
    let environment = Environment::start(Options::default()).await;
    environment.create(config_map("one")).await;
    let (code, stdout, stderr) = environment.kubectl(&["get", "configmaps", "-o", "name"], "").await;
    assert_eq!((code, stdout.as_str(), stderr.as_str()), (Some(0), "configmap/one\n", ""));
    let (code, stdout, _) =
        environment.kubectl(&["get", "configmap", "one", "-o", "jsonpath={.data.a}"], "").await;
    assert_eq!((code, stdout.as_str()), (Some(0), "b"));
    let (code, stdout, _) = environment.kubectl(&["explain", "configmap.data"], "").await;
    assert!(code == Some(0) && stdout.contains("KIND:       ConfigMap"), "{stdout}");

    let mut watch = environment.command(&["get", "configmaps", "--watch", "-o", "name"]).spawn().unwrap();
    let mut lines = BufReader::new(watch.stdout.take().unwrap()).lines();
    let mut next = async || {
        timeout(TIMEOUT, lines.next_line()).await.expect("no line before the timeout").unwrap().unwrap()
    };
    assert_eq!(next().await, "configmap/one");
    for name in ["two", "three"] {
        environment.create(config_map(name)).await;
        assert_eq!(next().await, format!("configmap/{name}"));
    }
    watch.kill().await.unwrap();

    let (code, _, stderr) = environment.kubectl(&["apply", "-f", "-"], &config_map("four").to_string()).await;
    let reason = "this proxy does not allow writes; to allow them, start the service with --proxy-writes";
    assert!(code == Some(1) && stderr.contains(reason), "{stderr}");
    let (code, _, stderr) = environment.kubectl(&["delete", "configmap", "one"], "").await;
    assert_eq!((code, stderr), (Some(1), format!("Error from server (Forbidden): {reason}\n")));
    let (_, stdout, _) = environment.kubectl(&["get", "configmaps", "-o", "name"], "").await;
    assert_eq!(stdout.lines().count(), 3, "{stdout}");
    environment.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_writes_with_proxy_writes() {
    let environment = Environment::start(Options::default().proxy_writes(true)).await;
    let (code, stdout, stderr) =
        environment.kubectl(&["apply", "-f", "-"], &config_map("one").to_string()).await;
    assert_eq!((code, stdout.as_str(), stderr.as_str()), (Some(0), "configmap/one created\n", ""));
    let apply = ["apply", "--server-side", "--force-conflicts", "-f", "-"];
    let (code, stdout, stderr) = environment.kubectl(&apply, &config_map("one").to_string()).await;
    assert_eq!((code, stdout.as_str()), (Some(0), "configmap/one serverside-applied\n"), "{stderr}");
    let (code, stdout, _) = environment.kubectl(&["delete", "configmap", "one"], "").await;
    assert_eq!((code, stdout.as_str()), (Some(0), "configmap \"one\" deleted from default namespace\n"));
    environment.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_execs_and_forwards_ports_with_proxy_upgrades() {
    let kubelet = Kubelet::start().await;
    for allowed in [true, false] {
        let environment = Environment::start(Options::default().proxy_upgrades(allowed)).await;
        environment
            .create(json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-1"}, "status": {
                "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
                "daemonEndpoints": {"kubeletEndpoint": {"Port": kubelet.port}},
                "declaredFeatures": ["ExtendWebSocketsToKubelet"],
            }}))
            .await;
        let spec = json!({"nodeName": "node-1", "containers": [{"name": "main", "image": "app"}]});
        environment
            .create(json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": spec}))
            .await;
        // kubectl port-forward requires a running pod.
        let running = Request::patch("/api/v1/namespaces/default/pods/web/status")
            .header("content-type", "application/merge-patch+json")
            .body(json!({"status": {"phase": "Running"}}).to_string().into());
        let patched = environment.client.transport().send(running.unwrap()).await.unwrap();
        assert_eq!(patched.status(), 200);
        if !allowed {
            let (code, _, stderr) = environment.kubectl(&["exec", "web", "--", "echo", "hello"], "").await;
            assert!(code == Some(1) && stderr.contains("--proxy-upgrades"), "{stderr}");
            environment.stop().await;
            continue;
        }
        let (code, stdout, stderr) = environment.kubectl(&["exec", "web", "--", "echo", "hello"], "").await;
        assert_eq!((code, stdout.as_str(), stderr.as_str()), (Some(0), "hello\n", ""));
        let (code, stdout, stderr) =
            environment.kubectl(&["exec", "-i", "web", "--", "cat"], "to and fro").await;
        assert_eq!((code, stdout.as_str(), stderr.as_str()), (Some(0), "to and fro", ""));
        let (code, stdout, _) = environment.kubectl(&["logs", "web", "--follow", "--tail=1"], "").await;
        assert_eq!((code, stdout.as_str()), (Some(0), "three\nfour\n"));
        check_port_forward(&environment).await;
        environment.stop().await;
    }
}

/// Forwards a port of the pod `web`, and checks that the pod echoes what is sent.
async fn check_port_forward(environment: &Environment) {
    let arguments = ["port-forward", "pod/web", "--address=127.0.0.1", ":80"];
    let mut forward = environment.command(&arguments).spawn().unwrap();
    let mut stdout = BufReader::new(forward.stdout.take().unwrap());
    let mut line = String::new();
    timeout(TIMEOUT, stdout.read_line(&mut line)).await.expect("no line before the timeout").unwrap();
    let port: u16 = line
        .strip_prefix("Forwarding from 127.0.0.1:")
        .and_then(|rest| rest.split(' ').next())
        .and_then(|port| port.parse().ok())
        .unwrap_or_else(|| panic!("{line:?}"));
    for text in ["hello", "again"] {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        stream.write_all(text.as_bytes()).await.unwrap();
        let mut back = vec![0; text.len()];
        timeout(TIMEOUT, stream.read_exact(&mut back)).await.expect("no echo before the timeout").unwrap();
        assert_eq!(back, text.as_bytes());
    }
    forward.kill().await.unwrap();
}
