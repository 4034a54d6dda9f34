//! Logs, programs and ports of pods: our client through the real server and through ours, with the kubelet's own
//! streaming library at the other end. Both must come to the same. And kubectl through ours.

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
use watchkeeper_oracle::{Cluster, Kubectl, Said};
use watchkeeper_testkit::TestCluster;

#[path = "kubelet/mod.rs"]
mod kubelet;

use kubelet::Kubelet;

/// The pods there are. The kubelet says of some of them what is in their name.
const PODS: [&str; 6] = ["web", "on-old-node", "unknown", "mad", "strict", "tired"];

/// Protocols to offer.
const BOTH: &[Protocol] = &[Protocol::V5, Protocol::V4];
const OLDER: &[Protocol] = &[Protocol::V4];

/// A server with the kubelet's node and the pods on it.
struct Place {
    client: Client,
}

impl Place {
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
                stored.set(&["status", "phase"], "Running".into()); // kubectl looks at it
                api.update_status(&stored, &Default::default()).await.unwrap();
            }
        };
        create("nodes", None, node("node-1", json!(["ExtendWebSocketsToKubelet"]))).await;
        // For this one the real server translates what is new to SPDY.
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

    /// What becomes of a program: its outputs and its end.
    async fn run(&self, pod: &str, command: &[&str], input: &str, options: ExecOptions) -> String {
        let process = self.pod(pod).exec(command.iter().copied(), &options).await;
        finish(process, input, options.tty).await
    }

    async fn join(&self, input: &str, options: ExecOptions) -> String {
        finish(self.pod("web").attach(&options).await, input, options.tty).await
    }

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

    /// What two ports give back, and what one says that nobody listens on.
    async fn forward(&self) -> String {
        let mut forward = self.pod("web").port_forward(&[80, 7, 8080]).await.unwrap();
        let [mut one, mut closed, mut other] = [80, 7, 8080].map(|number| forward.port(number).unwrap());
        one.write_all(b"to one").await.unwrap();
        other.write_all(b"to the other").await.unwrap();
        let (mut from_one, mut from_other) = ([0; 6], [0; 12]);
        other.read_exact(&mut from_other).await.unwrap();
        one.read_exact(&mut from_one).await.unwrap();
        let fault = closed.read_u8().await.unwrap_err();
        let [one, other] = [&from_one[..], &from_other[..]].map(String::from_utf8_lossy);
        format!("{one}, {other}, {fault}")
    }

    /// All of it, each by its name.
    async fn all(&self) -> Vec<(String, String)> {
        let mut all = Vec::new();
        for (pod, protocols) in [("web", BOTH), ("web", OLDER), ("on-old-node", BOTH), ("on-old-node", OLDER)]
        {
            let options = || ExecOptions { protocols: protocols.to_vec(), ..Default::default() };
            let with_stdin = || ExecOptions { stdin: true, ..options() };
            let mut note = |what: &str, said: String| all.push((format!("{what} {pod} {protocols:?}"), said));
            // The real server asks such a node in SPDY, after it has accepted: it refuses within the stream.
            let is_translated = (pod, protocols) == ("on-old-node", BOTH);
            if !is_translated {
                note("asked", self.run(pod, &["asked"], "", with_stdin()).await);
                let nothing = ExecOptions { stdout: false, stderr: false, ..options() };
                note("nothing", self.run(pod, &["cat"], "", nothing).await);
            }
            note("echo", self.run(pod, &["echo", "hello", "w\u{f6}rld & co"], "", options()).await);
            note("complain", self.run(pod, &["complain", "oh"], "", options()).await);
            note("exit", self.run(pod, &["exit", "3"], "", options()).await);
            note("success", self.run(pod, &["exit", "0"], "", options()).await);
            note("no program", self.run(pod, &["rm", "-rf"], "", options()).await);
            if protocols == BOTH {
                note("cat", self.run(pod, &["cat"], "to and fro", with_stdin()).await);
            }
            let terminal = ExecOptions { tty: true, ..with_stdin() };
            note("size", self.run(pod, &["size"], "", terminal).await);
            let side = ExecOptions { container: Some("side".into()), ..options() };
            note("no container", self.run(pod, &["cat"], "", side).await);
            note("unknown", self.run("unknown", &["cat"], "", options()).await);
        }
        let with_stdin = || ExecOptions { stdin: true, ..Default::default() };
        let mut note = |what: &str, said: String| all.push((what.to_owned(), said));
        note("attach", self.join("hello", with_stdin()).await);
        note("forward", self.forward().await);
        note("log", self.log("web", LogOptions::default()).await);
        note("tail", self.log("web", LogOptions { tail_lines: Some(1), ..Default::default() }).await);
        note("follow", self.log("web", LogOptions { follow: true, ..Default::default() }).await);
        let full = LogOptions {
            container: Some("main".into()),
            previous: true,
            timestamps: true,
            since: Some(LogSince::Time("2020-01-02T03:04:05Z".parse().unwrap())),
            limit_bytes: Some(1 << 20),
            ..Default::default()
        };
        note("all options of a log", self.log("web", full).await);
        let wrong = LogOptions { limit_bytes: Some(0), ..Default::default() };
        note("wrong options of a log", self.log("web", wrong).await);
        for pod in ["unknown", "mad", "strict", "tired"] {
            note(pod, self.log(pod, LogOptions::default()).await);
        }
        all
    }
}

/// Writes the input of a program, reads its outputs, and says how it ended.
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
async fn streams_through_our_server_are_those_through_the_real_one() {
    let kubelet = Kubelet::start().await;
    let real = Cluster::start().await.unwrap();
    let theirs = Place::new(&real.url(), real.certificate_authority(), real.token(), &kubelet).await;
    let cluster = TestCluster::start().await.unwrap();
    let ours = Place::new(cluster.url(), cluster.ca_pem().unwrap(), cluster.token(), &kubelet).await;
    let (theirs, ours) = (theirs.all().await, ours.all().await);
    for (theirs, ours) in theirs.iter().zip(&ours) {
        assert_eq!(theirs, ours);
    }
    assert_eq!(theirs.len(), ours.len());

    // And both are what they should be.
    let said = |name: &str| &theirs.iter().find(|(it, _)| it == name).unwrap_or_else(|| panic!("{name}")).1;
    assert_eq!(said("cat web [V5, V4]"), "V5: \"to and fro\" \"\" Ok(Success)");
    assert_eq!(said("exit web [V4]"), "V4: \"\" \"\" Ok(Code(3))");
    assert_eq!(said("complain on-old-node [V5, V4]"), "V5: \"\" \"oh\\n\" Ok(Success)");
    assert_eq!(said("size web [V5, V4]"), "V5: \"132x50\\n\" \"\" Ok(Success)");
    assert_eq!(said("attach"), "V5: \"hello\" \"\" Ok(Success)");
    assert!(said("forward").starts_with("to one, to the other, error forwarding port 7 to pod "));
    assert_eq!(said("tail"), "three\n");
    assert!(said("follow").ends_with("three\nfour\n"));
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_logs_exec_attach_and_port_forward_work_through_our_server() {
    let kubelet = Kubelet::start().await;
    let cluster = TestCluster::start().await.unwrap();
    let _ours = Place::new(cluster.url(), cluster.ca_pem().unwrap(), cluster.token(), &kubelet).await;
    let kubectl = Kubectl::new(cluster.kubeconfig_path(), cluster.directory()).unwrap();
    let command = |arguments: &[&str]| kubectl.command(["--namespace", "default"].iter().chain(arguments));
    let run = async |arguments: &[&str], input: &str| {
        let Said { code, out, error } = Said::of(command(arguments), input).await.unwrap();
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
    let mut said = String::new();
    let mut stdout = BufReader::new(forward.stdout.take().unwrap()); // which it goes on to write to
    stdout.read_line(&mut said).await.unwrap();
    let port: u16 = said
        .strip_prefix("Forwarding from 127.0.0.1:")
        .and_then(|rest| rest.split(' ').next())
        .and_then(|port| port.parse().ok())
        .unwrap_or_else(|| panic!("{said:?}"));
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
