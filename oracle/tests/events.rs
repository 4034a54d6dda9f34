//! `watchkeeper events` has the same stdout, stderr and exit code as `kubectl events`, byte for byte, on both servers.
//! The intended differences are in [`differences`].

use std::sync::LazyLock;

use http::Method;
use serde_json::{Value, json};
use tempfile::TempDir;
use watchkeeper_apiserver::server::ApiServer;
use watchkeeper_core::Timestamp;
use watchkeeper_oracle::{Cluster, CommandOutput, Kubectl};

#[path = "get/environment.rs"]
mod environment;
#[path = "get/program.rs"]
mod program;
#[path = "get/running_command.rs"]
#[allow(dead_code, reason = "another test uses the rest")]
mod running_command;

use environment::{Environment, split};
use running_command::{RunningCommand, ageless};

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

const COMMANDS: &str = "\
events
events -n default
events -n few
events --namespace=few --no-headers
events -n empty
events -n nowhere
events -n empty --no-headers
events --no-headers=true
events --no-headers --no-headers=false
events -A=false --show-managed-fields=false
events -n empty -o json
events -A --types=Warning
events -A --types=Normal --no-headers
events --all-namespaces --for node/n1
events --for pod/web
events --for pods/web
events --for po/web -o yaml
events --for Pod/web
events --for pods.v1./web
events --for deployments.apps/web
events --for deploy/web -n few
events --for deployments.v1.apps/web
events --for pod/none
events --for pod/
events --for web
events --for pod/web/main
events --types=Warning
events --types=warning,NORMAL
events --types Normal --types Warning
events --types=
events --types=Bad
events --types=Bad --for web
events --types=Bad -o wide=1 --for web
events -o json
events -ojson -n few
events -o JSON --for pod/web
events -o yaml
events -o yaml --show-managed-fields
events -o json --show-managed-fields
events -o 'jsonpath={.items[*].metadata.name}'
events -o 'jsonpath={range .items[*]}{.reason} {.count} {.firstTimestamp} {.series}{\"\\n\"}{end}'
events -o 'jsonpath={.items[0]}'
events -o 'jsonpath={.kind} {.apiVersion} {.metadata} {.items[0].kind}'
events -o 'jsonpath={.nope}'
events -o 'jsonpath-as-json={.items[*].involvedObject}'
events -o jsonpath
events -o jsonpath=
events -o jsonpath-file=no-such-file -n empty
events -n many
events -n many --chunk-size=7
events -n many --chunk-size=0 --no-headers
events -n many -o json
events -A -o json
events -A
events -A --no-headers
events --server=http://127.0.0.1:1
events --as=nobody
events --as=nobody -A -o json
";

/// Commands with different output: kubectl's, and ours.
fn differences() -> Vec<(&'static str, CommandOutput, CommandOutput)> {
    let output = |code, out: &str, error: &str| CommandOutput {
        code: Some(code),
        out: out.into(),
        error: error.into(),
    };
    let format = |format: &str, formats: &str| {
        let error = "error: unable to match a printer suitable for the output format";
        output(1, "", &format!("{error} {format:?}, allowed formats are: {formats}\n"))
    };
    // We do not support Go templates.
    let theirs = "go-template,go-template-file,json,jsonpath,jsonpath-as-json,jsonpath-file,kyaml,name,template,\
                  templatefile,yaml";
    let ours = "json,jsonpath,jsonpath-as-json,jsonpath-file,name,yaml";
    vec![
        ("events -o wide", format("wide", theirs), format("wide", ours)),
        ("events -o xml", format("xml", theirs), format("xml", ours)),
        (
            "events -o custom-columns=A:.a --types=Bad",
            format("custom-columns=A:.a", theirs),
            format("custom-columns=A:.a", ours),
        ),
        // kubectl fails to print the names of a list, and ignores the error.
        ("events -n one -o name", output(0, "", ""), output(0, "event/only\n", "")),
        // kubectl converts numbers to floats here.
        (
            "events -n one -o jsonpath={.items[*].count}",
            output(0, "1.234567e+06", ""),
            output(0, "1234567", ""),
        ),
        // kubectl passes the output through a tab writer, which replaces the tab.
        (
            "events -n one -o 'jsonpath={.items[*].reason}{\"\\t\"}{.items[*].type}'",
            output(0, "Because   Normal", ""),
            output(0, "Because\tNormal", ""),
        ),
        // Both the brace and the bracket are unclosed.
        (
            "events -o 'jsonpath={.items['",
            output(1, "", "error: error parsing jsonpath {.items[, unterminated array\n"),
            output(1, "", "error: error parsing jsonpath {.items[, unclosed action\n"),
        ),
        (
            "events --for nosuch/",
            output(1, "", "the server doesn't have a resource type \"nosuch\"\n"),
            output(1, "", "error: the server doesn't have a resource type \"nosuch\"\n"),
        ),
        // We suggest similar names.
        (
            "events --for depoyment/web",
            output(1, "", "the server doesn't have a resource type \"depoyment\"\n"),
            output(
                1,
                "",
                "error: the server doesn't have a resource type \"depoyment\"; did you mean \"deployment\" or \
                 \"deployments\"?\n",
            ),
        ),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn events_prints_the_same_as_kubectl_on_the_embedded_server() -> Outcome {
    let server = ApiServer::builder().start().await?;
    compare(&Environment::embedded(&server)?).await?;
    server.stop().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn events_prints_the_same_as_kubectl_on_the_real_server() -> Outcome {
    let cluster = Cluster::start().await?;
    compare(&Environment::new(TempDir::new()?, cluster.kubeconfig())?).await
}

async fn compare(env: &Environment) -> Outcome {
    fill(env).await?;
    let mut different = env.differing(COMMANDS.lines()).await?;
    // An event without timestamps.
    let about = json!({"kind": "Node", "name": "n1"});
    create(env, "default", "bare", json!({"apiVersion": "v1", "involvedObject": about})).await?;
    let commands = ["events", "events -o json", "events -o yaml", "events --types=Normal"];
    different.extend(env.differing(commands).await?);
    assert!(different.is_empty(), "{} commands differ:\n{}", different.len(), different.join("\n"));
    for (command, theirs, ours) in differences() {
        assert_eq!(env.once(command).await?, [theirs, ours], "{command}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_of_events_prints_the_same_as_kubectl() -> Outcome {
    let server = ApiServer::builder().start().await?;
    follow(&Environment::embedded(&server)?).await?;
    server.stop().await;
    let cluster = Cluster::start().await?;
    follow(&Environment::new(TempDir::new()?, cluster.kubeconfig())?).await
}

async fn follow(env: &Environment) -> Outcome {
    let path = "/api/v1/namespaces/default/events";
    let event = |name: &str, count: usize| {
        let mut event = core("Warning", 10 * YEAR); // an age that does not change
        event["metadata"] = json!({"name": name});
        event["count"] = count.into();
        event
    };
    env.send(Method::POST, path, &event("first", 1)).await??;
    // Each command with a text that is in the last line of each event that it prints.
    for (round, (command, end)) in [
        ("events -w", "Because"),
        ("events --watch -A --no-headers", "Because"),
        ("events -w --types=warning --for pod/web", "Because"),
        ("events -w -o name", "event/"),
        ("events -w -o json", "reportingInstance"),
        ("events -w -o yaml", "type: "),
        ("events -w -o 'jsonpath={.metadata.name} {.count}{\"\\n\"}'", " "),
    ]
    .into_iter()
    .enumerate()
    {
        let arguments = split(command);
        let start = |side: &Kubectl| RunningCommand::start(side.command(&arguments));
        let mut watches = [start(&env.theirs)?, start(&env.ours)?];
        let mut lines = [Vec::new(), Vec::new()];
        for (watch, lines) in watches.iter_mut().zip(&mut lines) {
            lines.extend(events(watch, end, 1).await?);
        }
        let name = format!("second-{round}-with-a-long-name");
        let mut normal = event(&name, 7);
        normal["type"] = "Normal".into();
        normal["involvedObject"]["name"] = "other-pod".into();
        env.send(Method::POST, path, &normal).await??;
        env.send(Method::PUT, &format!("{path}/first"), &event("first", round + 2)).await??;
        // kubectl does not print deletions.
        env.send(Method::DELETE, &format!("{path}/{name}"), &json!({})).await??;
        env.send(Method::PUT, &format!("{path}/first"), &event("first", round + 20)).await??;
        let expected = if command.contains("--types") { 2 } else { 3 };
        for (watch, lines) in watches.iter_mut().zip(&mut lines) {
            lines.extend(events(watch, end, expected).await?);
        }
        let [theirs, ours] = lines.map(|lines| lines.iter().map(|line| ageless(line)).collect::<Vec<_>>());
        assert_eq!(theirs, ours, "{command}");
    }
    Ok(())
}

/// Reads the lines of `count` events, whose last lines contain `end`.
async fn events(watch: &mut RunningCommand, end: &str, count: usize) -> Outcome<Vec<String>> {
    let mut lines: Vec<String> = Vec::new();
    while lines.iter().filter(|line| line.contains(end)).count() < count {
        lines.extend(watch.lines(1).await?);
    }
    Ok(lines)
}

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const YEAR: i64 = 365 * 24 * HOUR;

fn ago(seconds: i64) -> Timestamp {
    static NOW: LazyLock<Timestamp> = LazyLock::new(Timestamp::now);
    Timestamp { seconds: NOW.seconds - seconds, nanos: 0 }
}

/// Returns an event of the core group, last seen this long ago.
fn core(kind: &str, seconds: i64) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Event", "type": kind, "reason": "Because", "message": "it is so",
        "involvedObject": {"apiVersion": "v1", "kind": "Pod", "namespace": "default", "name": "web", "uid": "u-1",
            "resourceVersion": "1", "fieldPath": "spec.containers{main}"},
        "source": {"component": "kubelet", "host": "n1"}, "count": 1,
        "firstTimestamp": ago(seconds).to_string(), "lastTimestamp": ago(seconds).to_string(),
    })
}

/// Returns an event of events.k8s.io/v1 from this long ago.
fn new_api(kind: &str, seconds: i64) -> Value {
    json!({
        "apiVersion": "events.k8s.io/v1", "kind": "Event", "type": kind, "reason": "Because", "note": "it is so",
        "regarding": {"apiVersion": "v1", "kind": "Node", "namespace": "default", "name": "n1"},
        "related": {"kind": "Pod", "namespace": "default", "name": "web"},
        "eventTime": ago(seconds).display_micro().to_string(), "action": "Do",
        "reportingController": "example.com/c", "reportingInstance": "i-1",
    })
}

fn with(mut event: Value, fields: Value) -> Value {
    if let Value::Object(fields) = fields {
        for (name, value) in fields {
            event[name] = value;
        }
    }
    event
}

/// Creates events of both APIs. No two are last seen in the same second, because kubectl orders those randomly. None
/// is so recent that its age is printed in seconds, because the two programs do not run at the same instant.
async fn fill(env: &Environment) -> Outcome {
    for name in ["few", "one", "many", "empty"] {
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        env.send(Method::POST, "/api/v1/namespaces", &namespace).await??;
    }
    let micro = |seconds| ago(seconds).display_micro().to_string();
    let owner = json!({"apiVersion": "v1", "kind": "Pod", "name": "web", "uid": "u-1", "controller": true});
    let deployment =
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "few", "name": "web"});
    let escape = json!({"reason": "\u{1b}[31mRed", "message": " \n\u{1b}[31mred\r & <html> \n", "involvedObject": {
        "kind": "Odd\r", "namespace": "default", "name": "\u{1b}x"}});
    for (namespace, name, event) in [
        ("default", "once", core("Normal", 50 * MINUTE)),
        (
            "default",
            "often",
            with(
                core("Warning", 10 * MINUTE),
                json!({"count": 3,
            "firstTimestamp": ago(3 * HOUR + 90).to_string()}),
            ),
        ),
        (
            "default",
            "first-only",
            with(
                core("Normal", 0),
                json!({"lastTimestamp": null,
            "firstTimestamp": ago(HOUR).to_string()}),
            ),
        ),
        ("default", "last-only", with(core("Warning", 2 * HOUR), json!({"firstTimestamp": null}))),
        ("default", "escape", with(core("Warning", 9 * HOUR), escape)),
        ("default", "table", with(core("Normal", 4 * HOUR), json!({"message": "one\ttwo\nthree\tfour"}))),
        ("default", "ahead", core("Normal", -24 * HOUR)),
        ("default", "new", new_api("Normal", 40 * MINUTE)),
        (
            "default",
            "new-series",
            with(
                new_api("Warning", 5 * HOUR),
                json!({
            "series": {"count": 17, "lastObservedTime": micro(15 * MINUTE)}}),
            ),
        ),
        (
            "default",
            "core-series",
            with(
                core("Normal", 0),
                json!({"firstTimestamp": null, "lastTimestamp": null,
            "eventTime": micro(6 * HOUR), "reportingComponent": "example.com/c", "reportingInstance": "i-1",
            "action": "Do", "series": {"count": 2, "lastObservedTime": micro(20 * MINUTE)}}),
            ),
        ),
        ("few", "deployed", with(core("Normal", 7 * HOUR), json!({"involvedObject": deployment}))),
        (
            "few",
            "owned",
            with(
                core("Normal", 8 * HOUR),
                json!({"metadata": {"labels": {"name": "a", "kind": "b"},
            "annotations": {"x": "y"}, "ownerReferences": [owner], "finalizers": ["example.com/f"]}}),
            ),
        ),
        ("one", "only", with(core("Normal", 25 * HOUR), json!({"count": 1_234_567}))),
    ] {
        create(env, namespace, name, event).await?;
    }
    for number in 0..1010 {
        create(env, "many", &format!("many-{number}"), core("Normal", 10 * YEAR + (number * 37) % 1010))
            .await?;
    }
    Ok(())
}

async fn create(env: &Environment, namespace: &str, name: &str, mut event: Value) -> Outcome {
    let group = if event["apiVersion"] == "v1" { "api/v1" } else { "apis/events.k8s.io/v1" };
    event["metadata"]["name"] = name.into();
    for about in ["involvedObject", "regarding"] {
        if event[about].is_object() {
            event[about]["namespace"] = namespace.into();
        }
    }
    let path = format!("/{group}/namespaces/{namespace}/events");
    env.send(Method::POST, &path, &event).await?.map_err(|error| format!("{name}: {error}").into())
}
