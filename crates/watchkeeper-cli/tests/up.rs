//! `watchkeeper up` and `watchkeeper serve`, from start to stop.

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

/// A command that runs until interrupted.
struct Running {
    child: Child,
    lines: Vec<String>,
}

impl Running {
    /// Waits for the line that explains how to stop it; it serves by then.
    fn start(state: &Path, arguments: &[&str]) -> Self {
        let mut child = command(state, arguments).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = Vec::new();
        for line in BufReader::new(child.stdout.take().unwrap()).lines() {
            lines.push(line.unwrap());
            if lines.last().unwrap().contains("Stop it with Ctrl-C") {
                return Self { child, lines };
            }
        }
        panic!("it has ended: {lines:?}, {:?}", child.wait());
    }

    /// Returns the printed value of `page`, `API server`, `kubeconfig` or `access`.
    fn value(&self, name: &str) -> &str {
        let line = self.lines.iter().find_map(|line| line.trim_start().strip_prefix(name));
        line.unwrap_or_else(|| panic!("no {name} in {:?}", self.lines)).trim()
    }

    fn get(&self, path: &str) -> (u16, String) {
        get(self.value("page").strip_prefix("http://").unwrap(), path)
    }

    /// Repeats a request until the response satisfies the predicate.
    fn eventually(&self, path: &str, is_good: impl Fn(&str) -> bool) -> String {
        let begun = Instant::now();
        loop {
            let (status, body) = self.get(path);
            if status == 200 && is_good(&body) {
                return body;
            }
            assert!(begun.elapsed() < PATIENCE, "{path}: {status} {body}");
            std::thread::sleep(Duration::from_millis(50)); // polls: the page has no event to wait for
        }
    }

    fn interrupt(mut self) {
        let killed = Command::new("kill").args(["-INT", &self.child.id().to_string()]).status().unwrap();
        assert!(killed.success());
        let status = self.child.wait().unwrap();
        assert!(status.success(), "{status}");
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill(); // already ended unless the test failed
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
fn up_serves_a_cluster_and_a_page_and_cleans_up() {
    let state = tempfile::tempdir().unwrap();
    let up = Running::start(state.path(), &["up", "--listen", "127.0.0.1:0", "--demo-every", "200ms"]);
    let kubeconfig = PathBuf::from(up.value("kubeconfig"));
    assert!(kubeconfig.starts_with(state.path()), "{}", kubeconfig.display());
    assert!(fs::read_to_string(&kubeconfig).unwrap().contains(up.value("API server")));
    assert!(up.get("/").1.contains("<title>"), "no page");

    up.eventually("/readyz", |_| true);
    let pods = up.eventually("/pod/list?namespace=shop", |pods| pods.contains("\"phase\":\"Running\""));
    assert!(pods.starts_with(r#"{"code":20000,"message":"success","data":[{"#), "{pods}");
    // The demo continues: its first change rolls this deployment out.
    up.eventually("/deployments/apps/v1?namespace=shop", |all| all.contains("storefront:2.5.0"));

    // A second instance picks other ports and another file.
    let other = Running::start(state.path(), &["up", "--listen", "127.0.0.1:0", "--no-demo"]);
    assert_ne!(other.value("API server"), up.value("API server"));
    assert_ne!(other.value("kubeconfig"), up.value("kubeconfig"));
    other.eventually("/readyz", |_| true);
    assert_eq!(other.get("/deployments/apps/v1").1, r#"{"code":20000,"message":"success","data":[]}"#);
    other.interrupt();

    // The page over an existing cluster.
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
fn data_dir_keeps_the_cluster_across_restarts() {
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
    // The directory is locked meanwhile.
    let second = complaint(&command(state.path(), &arguments).output().unwrap());
    assert!(second.contains(data.to_str().unwrap()), "{second}");
    first.interrupt();

    let again = Running::start(state.path(), &arguments);
    assert_eq!(uid(&again.eventually(metrics, is_available)), before);
    again.interrupt();
}

#[test]
fn listening_on_all_addresses_still_uses_loopback_internally() {
    let state = tempfile::tempdir().unwrap();
    let up = Running::start(
        state.path(),
        &["up", "--listen", "127.0.0.1:0", "--api-listen", "0.0.0.0:0", "--demo-every", "1h"],
    );
    assert!(up.value("API server").starts_with("https://127.0.0.1:"), "{:?}", up.lines);
    assert!(up.value("API server").contains(" (on 0.0.0.0:"), "{:?}", up.lines);
    let kubeconfig = fs::read_to_string(up.value("kubeconfig")).unwrap();
    assert!(kubeconfig.contains("server: https://127.0.0.1:"), "{kubeconfig}");
    up.eventually("/readyz", |_| true);
    // The pods that the controllers created for the demo's deployments.
    up.eventually("/pod/list?namespace=shop", |pods| pods.contains("\"phase\":\"Running\""));
    up.interrupt();
}

#[test]
fn startup_and_help_state_that_every_valid_token_has_full_access() {
    let state = tempfile::tempdir().unwrap();
    let up = Running::start(state.path(), &["up", "--listen", "127.0.0.1:0", "--no-demo"]);
    let expected = "every valid token or client certificate has full access, service accounts included";
    assert_eq!(up.value("access"), expected);
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
fn startup_errors_are_one_line() {
    let state = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| complaint(&command(state.path(), arguments).output().unwrap());

    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let expected =
        |flag: &str| format!("error: {address} is already in use; choose another address with {flag}\n");
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
