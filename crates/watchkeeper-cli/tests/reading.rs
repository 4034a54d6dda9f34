//! Output of the read commands, for fixed objects.
//!
//! The files under `reading/` are scripts and recordings in one: commands after a `$`, and their output. Ages, UIDs,
//! versions and times are masked. Set `WATCHKEEPER_WRITE_TABLES=1` to record again.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};
use watchkeeper_testkit::TestCluster;

fn objects() -> Vec<Value> {
    let labels = json!({"app": "web", "app.kubernetes.io/part-of": "shop"});
    let pod = |name: &str, image: &str| {
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "shop", "labels": labels},
            "spec": {"containers": [{"name": "main", "image": image}]}})
    };
    let map = |name: &str, data: Value| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "shop"}, "data": data});
    let port = json!([{"name": "http", "port": 80}]);
    vec![
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}),
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "empty"}}),
        pod("web-0", "nginx:1"),
        pod("web-with-a-long-name", "nginx:2"),
        map("settings", json!({"a.txt": "one\ntwo\n", "html": "<b> & \u{1b}[31m"})),
        map("more-settings", json!({"a": "1", "b": "2"})),
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": "shop", "labels": labels},
            "spec": {"selector": {"app": "web"}, "clusterIP": "None", "ports": port}}),
    ]
}

fn watchkeeper(cluster: &TestCluster, line: &str) -> Output {
    let home = cluster.directory().join("home");
    Command::new(env!("CARGO_BIN_EXE_watchkeeper"))
        .args(words(line))
        .env("KUBECONFIG", cluster.kubeconfig_path())
        .env("HOME", &home)
        .env("KUBECACHEDIR", home.join("cache"))
        .output()
        .unwrap()
}

/// Splits like a shell: text in single quotes is one word.
fn words(line: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for (position, part) in line.split('\'').enumerate() {
        match position % 2 {
            0 => words.extend(part.split_whitespace().map(str::to_owned)),
            _ => words.push(part.to_owned()),
        }
    }
    words
}

/// Masks values that differ between runs, by their field or format.
fn masked(text: &str, cluster: &TestCluster) -> String {
    let mut shown = String::new();
    for line in text.lines() {
        let key = line.trim_start().trim_start_matches("- ").trim_matches('"').split(['"', ':']).next();
        let is_masked =
            ["uid", "resourceVersion", "creationTimestamp", "time"].contains(&key.unwrap_or_default());
        let line = match line.split_once(": ") {
            Some((name, value)) if is_masked && !["\"\"", "\"\","].contains(&value) => {
                format!("{name}: *{}", if value.ends_with(',') { "," } else { "" })
            }
            _ => ageless(line),
        };
        shown.push_str(&line.replace(cluster.url(), "URL").replace(cluster.namespace(), "NAMESPACE"));
        shown.push('\n');
    }
    shown
}

/// Replaces ages by `*s`, and normalizes the space after them.
fn ageless(line: &str) -> String {
    let (mut words, mut is_after_age) = (Vec::new(), false);
    for word in line.split(' ') {
        match (is_age(word), is_after_age && word.is_empty()) {
            (true, _) => words.push("*s"),
            (false, true) => continue,
            (false, false) if is_after_age => words.extend(["", "", word]),
            (false, false) => words.push(word),
        }
        is_after_age = is_age(word);
    }
    words.join(" ")
}

fn is_age(word: &str) -> bool {
    word.strip_suffix('s').is_some_and(|number| number.parse::<u32>().is_ok())
}

/// Runs the commands of a file, and compares their output.
async fn play(name: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reading").join(name);
    let recorded = fs::read_to_string(&path).unwrap();
    let cluster = TestCluster::start().await.unwrap();
    for object in objects() {
        cluster.create(object).await.unwrap();
    }
    let lines: Vec<String> =
        recorded.lines().filter_map(|line| line.strip_prefix("$ ")).map(str::to_owned).collect();
    assert!(!lines.is_empty(), "{name} has no commands");
    let (played, cluster) = tokio::task::spawn_blocking(move || {
        let mut played = String::new();
        for line in lines {
            let output = watchkeeper(&cluster, &line);
            let out = masked(&String::from_utf8(output.stdout).unwrap(), &cluster);
            let error = masked(&String::from_utf8(output.stderr).unwrap(), &cluster);
            let code = output.status.code().unwrap();
            let errors = error.lines().map(|line| format!("! {line}\n")).collect::<String>();
            let code = if code == 0 { String::new() } else { format!("= {code}\n") };
            played.push_str(&format!("$ {line}\n{out}{errors}{code}\n"));
        }
        (played, cluster)
    })
    .await
    .unwrap();
    cluster.stop().await;
    if std::env::var_os("WATCHKEEPER_WRITE_TABLES").is_some() {
        fs::write(&path, &played).unwrap();
    }
    assert_eq!(played, recorded, "{name}: to record again, set WATCHKEEPER_WRITE_TABLES=1");
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_are_printed() {
    play("tables.txt").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_are_printed() {
    play("objects.txt").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn mistakes_are_reported() {
    play("mistakes.txt").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn versions_and_resources_are_printed() {
    play("server.txt").await;
}

#[test]
fn unreachable_server_is_reported_on_one_line() {
    let home = tempfile::tempdir().unwrap();
    let refused = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_watchkeeper"))
        .args(["get", "pods", "--server", &format!("http://{refused}")])
        .env("HOME", home.path())
        .env_remove("KUBECONFIG")
        .env_remove("KUBECACHEDIR")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        String::from_utf8(output.stderr).unwrap(),
        format!(
            "The connection to the server {refused} was refused - did you specify the right host or port?\n"
        )
    );
}

#[test]
fn completion_scripts_include_installation_instructions() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let output =
            Command::new(env!("CARGO_BIN_EXE_watchkeeper")).args(["completion", shell]).output().unwrap();
        let script = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success());
        assert!(
            script.contains(&format!("# All new shells:      watchkeeper completion {shell} >")),
            "{script}"
        );
        assert!(script.contains("api-resources") && script.contains("field-selector"), "{shell}");
        assert_eq!(script.starts_with("#compdef"), shell == "zsh");
    }
}
