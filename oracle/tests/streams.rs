//! Logs, exec, attach and port-forward: our client gets the same results through the real server and through ours, and
//! kubectl works through ours. The fake kubelet at the other end uses the streaming library of the real one.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use watchkeeper_client::config::{Authorities, Authorization, Proxy};
use watchkeeper_client::dynamic::DynamicObject;
use watchkeeper_client::rest::RequestError;
use watchkeeper_client::streams::{
    ExecOptions, Exit, LogOptions, LogSince, PodStreams, Protocol, StreamError, TerminalSize,
};
use watchkeeper_client::{Client, Config};
use watchkeeper_oracle::{Cluster, CommandOutput, Kubectl};
use watchkeeper_testkit::TestCluster;

#[path = "kubelet/mod.rs"]
mod kubelet;

use kubelet::Kubelet;

/// The pods. For some of them, the fake kubelet responds with an error that depends on the name.
const PODS: [&str; 6] = ["web", "on-old-node", "unknown", "mad", "strict", "tired"];

/// Lists of protocols to offer.
const BOTH: &[Protocol] = &[Protocol::V5, Protocol::V4];
const OLDER: &[Protocol] = &[Protocol::V4];

/// A client of a server that has the pods and, for the kubelet, two nodes.
struct Environment {
    client: Client,
}

impl Environment {
    async fn new(url: &str, authority: &str, token: &str, kubelet: &Kubelet) -> Self {
        let mut config = Config::new(url.parse().unwrap());
        config.authorization = Authorization::Token(token.into());
        config.authorities = Authorities::Pem(authority.to_owned());
        config.proxy = Proxy::Direct;
        let client = Client::new(&config).unwrap();
        let core = "v1".parse().unwrap();
        let node = |name: &str, features: Value| {
            json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": {
                "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
                "daemonEndpoints": {"kubeletEndpoint": {"Port": kubelet.port}},
                "declaredFeatures": features,
            }})
        };
        let create = async |resource: &str, namespace: Option<&str>, object: Value| {
            let mut api = client.dynamic(&core, resource);
            if let Some(namespace) = namespace {
                api = api.namespace(namespace);
            }
            let object = DynamicObject::from_typed(&object).unwrap();
            let mut stored = api.create(&object, &Default::default()).await.unwrap();
            if resource == "pods" {
                stored.set(&["status", "phase"], "Running".into()); // which kubectl requires
                api.update_status(&stored, &Default::default()).await.unwrap();
            }
        };
        create("nodes", None, node("node-1", json!(["ExtendWebSocketsToKubelet"]))).await;
        // For a node without this feature, the real server translates WebSockets to SPDY.
        create("nodes", None, node("old-node", json!([]))).await;
        for name in PODS {
            let node = if name == "on-old-node" { "old-node" } else { "node-1" };
            let spec = json!({"nodeName": node, "containers": [{"name": "main", "image": "app"}]});
            let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec});
            create("pods", Some("default"), pod).await;
        }
        Self { client }
    }

    fn pod(&self, name: &str) -> PodStreams {
        self.client.pod("default", name)
    }

    /// Runs a command, and returns its outputs and exit status.
    async fn exec(&self, pod: &str, command: &[&str], input: &str, options: ExecOptions) -> String {
        let process = self.pod(pod).exec(command.iter().copied(), &options).await;
        finish(process, input, options.tty).await
    }

    /// Attaches to the pod `web`, and returns the outputs and exit status.
    async fn attach(&self, input: &str, options: ExecOptions) -> String {
        finish(self.pod("web").attach(&options).await, input, options.tty).await
    }

    /// Returns a log, or the status of the error.
    async fn log(&self, pod: &str, options: LogOptions) -> String {
        let mut log = match self.pod(pod).log(&options).await {
            Ok(log) => log,
            Err(RequestError::Api { status, .. }) => return format!("{status:?}"),
            Err(error) => panic!("{error}"),
        };
        let mut text = Vec::new();
        while let Some(chunk) = log.chunk().await.unwrap() {
            text.extend_from_slice(&chunk);
        }
        String::from_utf8(text).unwrap()
    }

    /// Forwards three ports, and returns what the two open ones echo and the error of the closed one.
    async fn port_forward(&self) -> String {
        let mut forward = self.pod("web").port_forward(&[80, 7, 8080]).await.unwrap();
        let [mut one, mut closed, mut other] = [80, 7, 8080].map(|number| forward.port(number).unwrap());
        one.write_all(b"to one").await.unwrap();
        other.write_all(b"to the other").await.unwrap();
        let (mut from_one, mut from_other) = ([0; 6], [0; 12]);
        other.read_exact(&mut from_other).await.unwrap();
        one.read_exact(&mut from_one).await.unwrap();
        let error = closed.read_u8().await.unwrap_err();
        let [one, other] = [&from_one[..], &from_other[..]].map(String::from_utf8_lossy);
        format!("{one}, {other}, {error}")
    }

    /// Runs every operation, and returns the results with their names.
    async fn run_all(&self) -> Vec<(String, String)> {
        let mut results = Vec::new();
        for (pod, protocols) in [("web", BOTH), ("web", OLDER), ("on-old-node", BOTH), ("on-old-node", OLDER)]
        {
            let options = || ExecOptions { protocols: protocols.to_vec(), ..Default::default() };
            let with_stdin = || ExecOptions { stdin: true, ..options() };
            let mut record =
                |name: &str, result: String| results.push((format!("{name} {pod} {protocols:?}"), result));
            // The real server accepts before it contacts such a node over SPDY, so errors are sent within the stream.
            let is_translated = (pod, protocols) == ("on-old-node", BOTH);
            if !is_translated {
                record("asked", self.exec(pod, &["asked"], "", with_stdin()).await);
                let nothing = ExecOptions { stdout: false, stderr: false, ..options() };
                record("nothing", self.exec(pod, &["cat"], "", nothing).await);
            }
            record("echo", self.exec(pod, &["echo", "hello", "w\u{f6}rld & co"], "", options()).await);
            record("complain", self.exec(pod, &["complain", "oh"], "", options()).await);
            record("exit", self.exec(pod, &["exit", "3"], "", options()).await);
            record("success", self.exec(pod, &["exit", "0"], "", options()).await);
            record("no program", self.exec(pod, &["rm", "-rf"], "", options()).await);
            if protocols == BOTH {
                record("cat", self.exec(pod, &["cat"], "to and fro", with_stdin()).await);
            }
            let terminal = ExecOptions { tty: true, ..with_stdin() };
            record("size", self.exec(pod, &["size"], "", terminal).await);
            let side = ExecOptions { container: Some("side".into()), ..options() };
            record("no container", self.exec(pod, &["cat"], "", side).await);
            record("unknown", self.exec("unknown", &["cat"], "", options()).await);
        }
        let with_stdin = || ExecOptions { stdin: true, ..Default::default() };
        let mut record = |name: &str, result: String| results.push((name.to_owned(), result));
        record("attach", self.attach("hello", with_stdin()).await);
        record("forward", self.port_forward().await);
        record("log", self.log("web", LogOptions::default()).await);
        record("tail", self.log("web", LogOptions { tail_lines: Some(1), ..Default::default() }).await);
        record("follow", self.log("web", LogOptions { follow: true, ..Default::default() }).await);
        let all_options = LogOptions {
            container: Some("main".into()),
            previous: true,
            timestamps: true,
            since: Some(LogSince::Time("2020-01-02T03:04:05Z".parse().unwrap())),
            limit_bytes: Some(1 << 20),
            ..Default::default()
        };
        record("all options of a log", self.log("web", all_options).await);
        let invalid = LogOptions { limit_bytes: Some(0), ..Default::default() };
        record("invalid options of a log", self.log("web", invalid).await);
        for pod in ["unknown", "mad", "strict", "tired"] {
            record(pod, self.log(pod, LogOptions::default()).await);
        }
        results
    }
}

/// Writes the input of a process, and returns its outputs and exit status.
async fn finish(
    process: Result<watchkeeper_client::streams::Process, StreamError>,
    input: &str,
    tty: bool,
) -> String {
    let mut process = match process {
        Ok(process) => process,
        Err(error) => return format!("{:?}", error.status().unwrap_or_else(|| panic!("{error}"))),
    };
    if let Some(mut stdin) = process.stdin() {
        stdin.write_all(input.as_bytes()).await.unwrap();
    }
    if tty {
        process.resize(TerminalSize { width: 132, height: 50 }).await.unwrap();
    }
    let (stdout, stderr) = (process.stdout(), process.stderr());
    let read = async |output: Option<watchkeeper_client::streams::Output>| {
        let mut text = String::new();
        if let Some(mut output) = output {
            output.read_to_string(&mut text).await.unwrap();
        }
        text
    };
    let protocol = process.protocol();
    let (out, err, exit) = tokio::join!(read(stdout), read(stderr), process.wait());
    let exit = match exit {
        Ok(Exit::Failed(status)) => format!("{status:?}"),
        exit => format!("{exit:?}"),
    };
    format!("{protocol:?}: {out:?} {err:?} {exit}")
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_through_our_server_equal_those_through_the_real_one() {
    let kubelet = Kubelet::start().await;
    let real = Cluster::start().await.unwrap();
    let theirs = Environment::new(&real.url(), real.certificate_authority(), real.token(), &kubelet).await;
    let cluster = TestCluster::start().await.unwrap();
    let ours = Environment::new(cluster.url(), cluster.ca_pem().unwrap(), cluster.token(), &kubelet).await;
    let (theirs, ours) = (theirs.run_all().await, ours.run_all().await);
    for (theirs, ours) in theirs.iter().zip(&ours) {
        assert_eq!(theirs, ours);
    }
    assert_eq!(theirs.len(), ours.len());

    // Equal results could still be wrong.
    let result = |name: &str| &theirs.iter().find(|(it, _)| it == name).unwrap_or_else(|| panic!("{name}")).1;
    assert_eq!(result("cat web [V5, V4]"), "V5: \"to and fro\" \"\" Ok(Success)");
    assert_eq!(result("exit web [V4]"), "V4: \"\" \"\" Ok(Code(3))");
    assert_eq!(result("complain on-old-node [V5, V4]"), "V5: \"\" \"oh\\n\" Ok(Success)");
    assert_eq!(result("size web [V5, V4]"), "V5: \"132x50\\n\" \"\" Ok(Success)");
    assert_eq!(result("attach"), "V5: \"hello\" \"\" Ok(Success)");
    assert!(result("forward").starts_with("to one, to the other, error forwarding port 7 to pod "));
    assert_eq!(result("tail"), "three\n");
    assert!(result("follow").ends_with("three\nfour\n"));
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_logs_exec_attach_and_port_forward_work_through_our_server() {
    let kubelet = Kubelet::start().await;
    let cluster = TestCluster::start().await.unwrap();
    let _ours = Environment::new(cluster.url(), cluster.ca_pem().unwrap(), cluster.token(), &kubelet).await;
    let kubectl = Kubectl::new(cluster.kubeconfig_path(), cluster.directory()).unwrap();
    let command = |arguments: &[&str]| kubectl.command(["--namespace", "default"].iter().chain(arguments));
    let run = async |arguments: &[&str], input: &str| {
        let CommandOutput { code, out, error } = CommandOutput::of(command(arguments), input).await.unwrap();
        (code, out, error)
    };

    let (code, stdout, stderr) = run(&["logs", "web", "--tail=2"], "").await;
    assert_eq!((code, stdout.as_str(), stderr.as_str()), (Some(0), "two\nthree\n", ""));
    let (code, stdout, _) = run(&["logs", "web", "--follow", "--tail=1"], "").await;
    assert_eq!((code, stdout.as_str()), (Some(0), "three\nfour\n"));

    let (code, stdout, stderr) = run(&["exec", "web", "--", "echo", "hello"], "").await;
    assert_eq!((code, stdout.as_str(), stderr.as_str()), (Some(0), "hello\n", ""));
    let (code, stdout, stderr) = run(&["exec", "-i", "web", "--", "cat"], "to and fro").await;
    assert_eq!((code, stdout.as_str(), stderr.as_str()), (Some(0), "to and fro", ""));
    let (code, _, stderr) = run(&["exec", "web", "--", "exit", "3"], "").await;
    assert_eq!((code, stderr.as_str()), (Some(3), "command terminated with exit code 3\n"));
    let (code, stdout, _) = run(&["attach", "-i", "web"], "hello").await;
    assert_eq!((code, stdout.as_str()), (Some(0), "hello"));

    let mut forward = command(&["port-forward", "pod/web", "--address=127.0.0.1", ":80"]).spawn().unwrap();
    let mut line = String::new();
    let mut stdout = BufReader::new(forward.stdout.take().unwrap()); // kept open, because kubectl keeps writing to it
    stdout.read_line(&mut line).await.unwrap();
    let port: u16 = line
        .strip_prefix("Forwarding from 127.0.0.1:")
        .and_then(|rest| rest.split(' ').next())
        .and_then(|port| port.parse().ok())
        .unwrap_or_else(|| panic!("{line:?}"));
    for text in ["hello", "again"] {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        stream.write_all(text.as_bytes()).await.unwrap();
        let mut back = vec![0; text.len()];
        stream.read_exact(&mut back).await.unwrap();
        assert_eq!(back, text.as_bytes());
    }
    forward.kill().await.unwrap();
    cluster.stop().await;
}
