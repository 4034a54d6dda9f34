//! `watchkeeper apiserver --data-dir`, with restarts and crashes.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use watchkeeper_client::kubeconfig::{Overrides, Sources};
use watchkeeper_client::rest::Content;
use watchkeeper_client::{Client, Config, RestClient};

const WRITERS: usize = 8;
/// Responses before the crash.
const RESPONSES: usize = 200;

fn command(home: &Path, more: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_watchkeeper"));
    command
        .args(["apiserver", "--no-controllers", "--data-dir"])
        .arg(home.join("data"))
        .arg("--write-kubeconfig")
        .arg(home.join("kubeconfig"))
        .args(more);
    if !more.contains(&"--listen") {
        command.args(["--listen", "127.0.0.1:0"]);
    }
    command
}

/// A server process, killed on drop.
struct Server {
    process: Child,
    /// The lines it printed at startup.
    lines: Vec<String>,
    kubeconfig: PathBuf,
}

impl Server {
    fn start(home: &Path) -> Self {
        Self::start_with(home, &[])
    }

    fn start_with(home: &Path, more: &[&str]) -> Self {
        let mut process = command(home, more).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines().map(Result::unwrap);
        let lines: Vec<String> = lines.take_while(|line| !line.starts_with("Stop it")).collect();
        Self { process, lines, kubeconfig: home.join("kubeconfig") }
    }

    fn client(&self) -> RestClient {
        client(&self.kubeconfig, &Overrides::default())
    }

    /// `https://127.0.0.1:6443`.
    fn url(&self) -> &str {
        self.lines[0].split_whitespace().last().unwrap()
    }

    /// Kills the process with SIGKILL and waits for it.
    fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

/// Creates a client from a kubeconfig.
fn client(kubeconfig: &Path, overrides: &Overrides) -> RestClient {
    let config = Config::load(&Sources::File(kubeconfig.to_owned()), overrides).unwrap();
    RestClient::new(Client::new(&config).unwrap().transport().clone(), "/", Content::json())
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ended_already = self.process.kill();
        let _ended_already = self.process.wait();
    }
}

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// Creates, updates and deletes config maps until the server is killed. Returns the last response for each name, and
/// the name of the request without a response.
async fn write(
    client: RestClient,
    writer: usize,
    answers: Arc<AtomicUsize>,
) -> (BTreeMap<String, Option<Value>>, String) {
    let mut known = BTreeMap::new();
    for round in 0.. {
        let name = format!("map-{writer}-{}", round / 3);
        let map = json!({"metadata": {"name": name}, "data": {"round": format!("{round} {}", "x".repeat(round % 700))}});
        let path = format!("{MAPS}/{name}");
        let request = match round % 3 {
            0 => client.post().abs_path(MAPS).object(&map),
            1 => client.put().abs_path(&path).object(&map),
            _ if (round / 3) % 2 == 0 => continue,
            _ => client.delete().abs_path(&path),
        };
        let Ok(answer) = request.raw().await else { return (known, name) };
        let answer: Value = serde_json::from_slice(&answer).unwrap();
        let is_gone = round % 3 == 2;
        assert_eq!(answer["kind"], if is_gone { "Status" } else { "ConfigMap" }, "{answer}");
        known.insert(name, (!is_gone).then_some(answer));
        answers.fetch_add(1, Ordering::SeqCst);
    }
    unreachable!("a crash ends it")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn acknowledged_writes_survive_a_kill() {
    let home = tempfile::tempdir().unwrap();
    let mut server = Server::start(home.path());
    assert!(server.lines[2].ends_with("data, with 0 objects at version 1"), "{:?}", server.lines);
    let answers = Arc::new(AtomicUsize::new(0));
    let writers: Vec<_> =
        (0..WRITERS).map(|writer| tokio::spawn(write(server.client(), writer, answers.clone()))).collect();
    while answers.load(Ordering::SeqCst) < RESPONSES {
        assert!(!writers.iter().any(tokio::task::JoinHandle::is_finished), "before the crash");
        tokio::task::yield_now().await;
    }
    server.kill();
    let (mut known, mut unanswered) = (BTreeMap::new(), Vec::new());
    for writer in writers {
        let (answered, last) = writer.await.unwrap();
        known.extend(answered);
        unanswered.push(last);
    }

    let server = Server::start(home.path());
    let list = server.client().get().abs_path(MAPS).raw().await.unwrap();
    let list: Value = serde_json::from_slice(&list).unwrap();
    let mut found: BTreeMap<&str, &Value> = BTreeMap::new();
    for item in list["items"].as_array().unwrap() {
        found.insert(item["metadata"]["name"].as_str().unwrap(), item);
    }
    let mut compared = 0;
    for (name, answer) in known.iter().filter(|(name, _)| !unanswered.contains(name)) {
        let found = found.remove(name.as_str()).cloned();
        let answer = answer.clone().map(|mut answer| {
            let fields = answer.as_object_mut().unwrap();
            fields.remove("kind"); // list items have neither
            fields.remove("apiVersion");
            answer
        });
        assert_eq!(found, answer, "{name}");
        compared += 1;
    }
    assert!(compared >= RESPONSES / 4, "{compared}");
    found.retain(|name, _| !unanswered.iter().any(|unanswered| unanswered == name));
    assert!(found.is_empty(), "unexpected objects: {found:?}");
    assert!(server.lines[2].contains(" objects at version "), "{:?}", server.lines);
}

#[test]
fn data_directory_in_use_is_reported_on_one_line() {
    let home = tempfile::tempdir().unwrap();
    let mut first = Server::start(home.path());
    let second = command(home.path(), &[]).output().unwrap();
    assert_eq!(second.status.code(), Some(1));
    let text = String::from_utf8(second.stderr).unwrap();
    let expected =
        format!("error: data directory {}/data is in use by another process\n", home.path().display());
    assert_eq!((text, second.stdout.len()), (expected, 0));
    first.kill();
    Server::start(home.path());
}

/// Kills a server and returns its log.
fn logged(mut server: Server) -> String {
    server.kill();
    std::io::read_to_string(server.process.stderr.take().unwrap()).unwrap()
}

/// Returns the error line of a server that fails to start.
fn refusal(home: &Path) -> String {
    let refused = command(home, &[]).output().unwrap();
    let text = String::from_utf8(refused.stderr).unwrap();
    assert_eq!((refused.status.code(), text.lines().count()), (Some(1), 1), "{text}");
    text
}

#[test]
fn torn_write_is_truncated_and_corruption_is_an_error_with_advice() {
    let home = tempfile::tempdir().unwrap();
    Server::start(home.path()).kill();
    let log = home.path().join("data/log-00000000000000000001");
    let whole = fs::read(&log).unwrap();
    fs::write(&log, [whole.as_slice(), b"\xd7rec"].concat()).unwrap();
    assert_eq!(logged(Server::start(home.path())), "", "a torn write is normal after a crash");
    let mut bytes = fs::read(&log).unwrap();
    assert!(bytes.starts_with(&whole) && !bytes[whole.len()..].starts_with(b"\xd7rec\xd7"));

    bytes[70] ^= 1;
    fs::write(&log, &bytes).unwrap();
    let text = refusal(home.path());
    assert!(text.starts_with(&format!("error: {} is damaged at byte 20: ", log.display())), "{text}");
    assert!(text.contains("; restore the data directory from a copy, or start with --recover "), "{text}");
    assert_eq!(fs::read(&log).unwrap(), bytes, "nothing was changed");
}

#[tokio::test]
async fn lost_changes_are_an_error_until_they_are_accepted() {
    let home = tempfile::tempdir().unwrap();
    let mut server = Server::start(home.path());
    let map = json!({"metadata": {"name": "kept"}});
    server.client().post().abs_path(MAPS).object(&map).raw().await.unwrap();
    let log = home.path().join("data/log-00000000000000000001");
    let before = fs::read(&log).unwrap();
    for name in ["lost-1", "lost-2"] {
        let map = json!({"metadata": {"name": name}});
        server.client().post().abs_path(MAPS).object(&map).raw().await.unwrap();
    }
    server.kill();

    // At a record boundary, at the header, and without the file.
    for left in [Some(before.len()), Some(20), None] {
        match left {
            Some(length) => fs::write(&log, &before[..length]).unwrap(),
            None => fs::remove_file(&log).unwrap(),
        }
        let text = refusal(home.path());
        assert!(
            text.starts_with("error: acknowledged changes are missing: the data directory ends at "),
            "{text}"
        );
        assert!(text.contains(" or start with --recover to keep what can be read"), "{text}");
    }
    fs::write(&log, &before).unwrap();
    let mut server = Server::start_with(home.path(), &["--recover"]);
    let list = server.client().get().abs_path(MAPS).raw().await.unwrap();
    let list: Value = serde_json::from_slice(&list).unwrap();
    let names: Vec<_> =
        list["items"].as_array().unwrap().iter().map(|map| &map["metadata"]["name"]).collect();
    // The last change was in the mark too.
    assert_eq!(names, ["kept", "lost-2"]);
    server.kill();
    let log = logged(server);
    assert!(
        log.contains("WARN") && log.contains(" was recovered: 1 of the changes after revision 1 "),
        "{log}"
    );
    assert!(home.path().join("data/log-00000000000000000001.lost").exists());
    assert_eq!(logged(Server::start(home.path())), "", "nothing is lost any more");
}

#[test]
fn memory_and_data_dir_are_mutually_exclusive() {
    let home = tempfile::tempdir().unwrap();
    let refused = command(home.path(), &["--memory"]).output().unwrap();
    assert!(!refused.status.success());
    let text = String::from_utf8(refused.stderr).unwrap();
    assert!(text.contains("--data-dir") && text.contains("cannot be used with"), "{text}");
    assert!(!home.path().join("data").exists());
}

#[tokio::test]
async fn kubeconfigs_and_tokens_stay_valid_after_a_restart_on_any_port() {
    let home = tempfile::tempdir().unwrap();
    let mut server = Server::start(home.path());
    let copy = home.path().join("copy");
    fs::copy(&server.kubeconfig, &copy).unwrap();
    let (accounts, address) = ("/api/v1/namespaces/default/serviceaccounts", server.url()[8..].to_owned());
    let account = json!({"metadata": {"name": "robot"}});
    server.client().post().abs_path(accounts).object(&account).raw().await.unwrap();
    let asked = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}});
    let path = format!("{accounts}/robot/token");
    let answer = server.client().post().abs_path(&path).object(&asked).raw().await.unwrap();
    let answer: Value = serde_json::from_slice(&answer).unwrap();
    let token = answer["status"]["token"].as_str().unwrap().to_owned();
    server.kill();

    let mut server = Server::start_with(home.path(), &["--listen", &address]);
    assert_eq!(server.url(), format!("https://{address}"));
    client(&copy, &Overrides::default()).get().abs_path("/api/v1/namespaces").raw().await.unwrap();
    server.kill();

    let server = Server::start(home.path());
    let there = || Overrides { server: Some(server.url().to_owned()), ..Overrides::default() };
    client(&copy, &there()).get().abs_path("/api/v1/namespaces").raw().await.unwrap();
    let robot = client(&copy, &Overrides { token: Some(token.into()), ..there() });
    let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
    let path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    let answer = robot.post().abs_path(path).object(&review).raw().await.unwrap();
    let answer: Value = serde_json::from_slice(&answer).unwrap();
    assert_eq!(answer["status"]["userInfo"]["username"], "system:serviceaccount:default:robot");
}

#[test]
fn corrupt_keyring_is_reported_on_one_line() {
    let home = tempfile::tempdir().unwrap();
    Server::start(home.path()).kill();
    let keyring = home.path().join("data/keyring");
    let whole = fs::read(&keyring).unwrap();
    fs::write(&keyring, &whole[..whole.len() - 5]).unwrap();
    let refused = command(home.path(), &[]).output().unwrap();
    assert_eq!(refused.status.code(), Some(1));
    let text = String::from_utf8(refused.stderr).unwrap();
    let expected = format!("error: invalid keyring {}: the checksum does not match; ", keyring.display());
    assert!(
        text.starts_with(&expected) && text.contains("; restore it from a copy, or remove it: "),
        "{text}"
    );
    assert_eq!(text.lines().count(), 1, "{text}");
}
