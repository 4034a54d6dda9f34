//! `watchkeeper up` and `watchkeeper serve`: everything alive in one command, and its end.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(60);

fn command(state: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_watchkeeper"));
    command.args(arguments).env("XDG_STATE_HOME", state).env_remove("KUBECONFIG").stdin(Stdio::null());
    command
}

/// A command that runs until it is told to end.
struct Running {
    child: Child,
    told: Vec<String>,
}

impl Running {
    /// Waits until it says how to stop it: by then it serves.
    fn start(state: &Path, arguments: &[&str]) -> Self {
        let mut child = command(state, arguments).stdout(Stdio::piped()).spawn().unwrap();
        let mut told = Vec::new();
        for line in BufReader::new(child.stdout.take().unwrap()).lines() {
            told.push(line.unwrap());
            if told.last().unwrap().contains("Stop it with Ctrl-C") {
                return Self { child, told };
            }
        }
        panic!("it has ended: {told:?}, {:?}", child.wait());
    }

    /// What it says of a thing: `page`, `API server` or `kubeconfig`.
    fn says(&self, name: &str) -> &str {
        let line = self.told.iter().find_map(|line| line.trim_start().strip_prefix(name));
        line.unwrap_or_else(|| panic!("no {name} in {:?}", self.told)).trim()
    }

    fn get(&self, path: &str) -> (u16, String) {
        get(self.says("page").strip_prefix("http://").unwrap(), path)
    }

    /// Asks until the answer is good.
    fn eventually(&self, path: &str, is_good: impl Fn(&str) -> bool) -> String {
        let begun = Instant::now();
        loop {
            let (status, body) = self.get(path);
            if status == 200 && is_good(&body) {
                return body;
            }
            assert!(begun.elapsed() < PATIENCE, "{path}: {status} {body}");
            std::thread::sleep(Duration::from_millis(50)); // between two looks
        }
    }

    fn interrupt(mut self) {
        let told = Command::new("kill").args(["-INT", &self.child.id().to_string()]).status().unwrap();
        assert!(told.success());
        let status = self.child.wait().unwrap();
        assert!(status.success(), "{status}");
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill(); // it has ended where the test went well
    }
}

fn get(address: &str, path: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

fn complaint(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(output.stdout.is_empty(), "{output:?}");
    let text = String::from_utf8(output.stderr.clone()).unwrap();
    assert_eq!(text.lines().count(), 1, "{text}");
    text
}

#[test]
fn a_cluster_comes_up_with_a_page_and_goes_without_a_trace() {
    let state = tempfile::tempdir().unwrap();
    let up = Running::start(state.path(), &["up", "--listen", "127.0.0.1:0", "--demo-every", "200ms"]);
    let kubeconfig = PathBuf::from(up.says("kubeconfig"));
    assert!(kubeconfig.starts_with(state.path()), "{}", kubeconfig.display());
    assert!(fs::read_to_string(&kubeconfig).unwrap().contains(up.says("API server")));
    assert!(up.get("/").1.contains("<title>"), "no page");

    up.eventually("/readyz", |_| true);
    let pods = up.eventually("/pod/list?namespace=shop", |pods| pods.contains("\"phase\":\"Running\""));
    assert!(pods.starts_with(r#"{"code":20000,"message":"success","data":[{"#), "{pods}");
    // The acts go on: the first of them rolls this one.
    up.eventually("/deployments/apps/v1?namespace=shop", |all| all.contains("storefront:2.5.0"));

    // A second one takes other ports, and another file.
    let other = Running::start(state.path(), &["up", "--listen", "127.0.0.1:0", "--no-demo"]);
    assert_ne!(other.says("API server"), up.says("API server"));
    assert_ne!(other.says("kubeconfig"), up.says("kubeconfig"));
    other.eventually("/readyz", |_| true);
    assert_eq!(other.get("/deployments/apps/v1").1, r#"{"code":20000,"message":"success","data":[]}"#);
    other.interrupt();

    // And the page over a cluster that runs elsewhere.
    let attached = Running::start(
        state.path(),
        &["up", "--listen", "127.0.0.1:0", "--kubeconfig", kubeconfig.to_str().unwrap()],
    );
    attached.eventually("/deployments/apps/v1?namespace=media", |all| all.contains("\"name\":\"player\""));
    attached.interrupt();

    up.interrupt();
    assert!(!kubeconfig.exists());
}

#[test]
fn a_cluster_that_is_kept_goes_on_where_it_was() {
    let state = tempfile::tempdir().unwrap();
    let data = state.path().join("data");
    let arguments =
        ["up", "--listen", "127.0.0.1:0", "--demo-every", "1h", "--data-dir", data.to_str().unwrap()];
    let uid = |deployments: &str| {
        let all: serde_json::Value = serde_json::from_str(deployments).unwrap();
        all["data"][0]["metadata"]["uid"].as_str().unwrap().to_owned()
    };
    let metrics = "/deployments/apps/v1?namespace=ops";
    let is_available = |all: &str| all.contains("\"availableReplicas\":1");

    let first = Running::start(state.path(), &arguments);
    let before = uid(&first.eventually(metrics, is_available));
    // Nobody else may have the directory meanwhile.
    let second = complaint(&command(state.path(), &arguments).output().unwrap());
    assert!(second.contains(data.to_str().unwrap()), "{second}");
    first.interrupt();

    let again = Running::start(state.path(), &arguments);
    assert_eq!(uid(&again.eventually(metrics, is_available)), before);
    again.interrupt();
}

#[test]
fn on_all_addresses_the_controllers_and_the_page_connect_by_loopback() {
    let state = tempfile::tempdir().unwrap();
    let up = Running::start(
        state.path(),
        &["up", "--listen", "127.0.0.1:0", "--api-listen", "0.0.0.0:0", "--demo-every", "1h"],
    );
    assert!(up.says("API server").starts_with("https://127.0.0.1:"), "{:?}", up.told);
    assert!(up.says("API server").contains(" (on 0.0.0.0:"), "{:?}", up.told);
    let kubeconfig = fs::read_to_string(up.says("kubeconfig")).unwrap();
    assert!(kubeconfig.contains("server: https://127.0.0.1:"), "{kubeconfig}");
    up.eventually("/readyz", |_| true);
    // What the controllers have made of the demo's deployments.
    up.eventually("/pod/list?namespace=shop", |pods| pods.contains("\"phase\":\"Running\""));
    up.interrupt();
}

#[test]
fn startup_and_help_state_that_every_valid_token_has_full_access() {
    let state = tempfile::tempdir().unwrap();
    let up = Running::start(state.path(), &["up", "--listen", "127.0.0.1:0", "--no-demo"]);
    let expected = "every valid token or client certificate has full access, service accounts included";
    assert_eq!(up.says("access"), expected);
    up.interrupt();
    for name in ["up", "apiserver"] {
        let help = command(state.path(), &[name, "--help"]).output().unwrap();
        let help = String::from_utf8(help.stdout).unwrap();
        assert!(
            help.contains("There is no authorization yet: every valid token or client certificate"),
            "{help}"
        );
    }
}

#[test]
fn what_cannot_be_is_one_clear_line() {
    let state = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| complaint(&command(state.path(), arguments).output().unwrap());

    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let expected =
        |flag: &str| format!("error: {address} is taken by another program: choose another with {flag}\n");
    assert_eq!(run(&["up", "--listen", &address]), expected("--listen"));
    assert_eq!(run(&["up", "--api-listen", &address]), expected("--api-listen"));

    let broken = state.path().join("broken.yaml");
    fs::write(&broken, "clusters: [").unwrap();
    let broken = broken.to_str().unwrap();
    for command in ["up", "serve"] {
        let text = run(&[command, "--kubeconfig", broken]);
        assert!(text.contains(broken), "{text}");
        let text = run(&[command, "--kubeconfig", "/nowhere/kube.yaml"]);
        assert!(text.contains("/nowhere/kube.yaml"), "{text}");
    }
    drop(taken);
    let text = run(&["serve", "--server", &format!("http://{address}"), "--listen", "127.0.0.1:0"]);
    assert!(text.contains(&address) && text.contains("refused"), "{text}");
    let text = run(&["up", "--listen", "0.0.0.0:0"]);
    assert!(text.contains("--tls-cert"), "{text}");
}
