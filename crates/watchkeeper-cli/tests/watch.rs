//! `watchkeeper watch`, with and without faults.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod running;

use std::io::{BufRead, BufReader};

use running::Running;
use serde_json::{Value, json};
use watchkeeper_client::dynamic::{DynamicApi, DynamicObject};
use watchkeeper_client::kubeconfig::{Overrides, Sources};
use watchkeeper_client::resource::{ApplyOptions, DeleteOptions, WriteOptions};
use watchkeeper_client::rest::PatchKind;
use watchkeeper_client::{Client, Config};
use watchkeeper_core::GroupVersion;
use watchkeeper_testkit::{BlockingCluster, FaultProxy, NetworkFault, Requests, TestCluster};

/// A cluster and its config maps.
struct Kitchen {
    cluster: BlockingCluster,
    maps: DynamicApi,
}

impl Kitchen {
    fn open() -> Self {
        let cluster = TestCluster::blocking().unwrap();
        let sources = Sources::File(cluster.kubeconfig_path().to_owned());
        let client =
            cluster.block_on(async { Client::new(&Config::load(&sources, &Overrides::default()).unwrap()) });
        let maps = client.unwrap().dynamic(&GroupVersion::new("", "v1"), "configmaps");
        let maps = maps.namespace(cluster.namespace());
        Self { cluster, maps }
    }

    fn create(&self, name: &str) {
        let map = DynamicObject::new("v1", "ConfigMap", name);
        self.cluster.block_on(self.maps.create(&map, &WriteOptions::default())).unwrap();
    }

    fn patch(&self, name: &str, patch: &Value) {
        let options = WriteOptions::default();
        self.cluster.block_on(self.maps.patch(name, PatchKind::Merge, patch, &options)).unwrap();
    }

    fn change(&self, name: &str, to: &str) {
        self.patch(name, &json!({"data": {"key": to}}));
    }

    fn delete(&self, name: &str) {
        self.cluster.block_on(self.maps.delete(name, &DeleteOptions::default())).unwrap();
    }

    fn watch(&self, more: &[&str]) -> Running {
        Running::start(self.cluster.kubeconfig_path(), &[&["watch", "configmaps"], more].concat())
    }
}

#[test]
fn every_event_is_one_line() {
    let kitchen = Kitchen::open();
    kitchen.create("a");
    let watching = kitchen.watch(&[]);
    assert_eq!(watching.line(), "ADDED : a");
    kitchen.create("b");
    for to in ["1", "2", "3"] {
        kitchen.change("a", to);
    }
    kitchen.delete("a");
    assert_eq!(
        watching.lines(5),
        ["ADDED : b", "MODIFIED : a", "MODIFIED : a", "MODIFIED : a", "DELETED : a"]
    );
    let (status, rest) = watching.interrupt();
    assert_eq!((status.code(), rest), (Some(0), vec![]));
}

#[test]
fn selectors_narrow_the_watch() {
    let kitchen = Kitchen::open();
    kitchen.create("a");
    kitchen.create("b");
    let one = Running::start(kitchen.cluster.kubeconfig_path(), &["watch", "cm/b"]);
    let everywhere = kitchen.watch(&["-A", "--field-selector", "metadata.name!=b"]);
    let labelled = kitchen.watch(&["-l", "app=web"]);
    assert_eq!(one.line(), "ADDED : b");
    assert_eq!(everywhere.line(), format!("ADDED : {}/a", kitchen.cluster.namespace()));
    kitchen.change("a", "1");
    kitchen.delete("b");
    kitchen.patch("a", &json!({"metadata": {"labels": {"app": "web"}}}));
    assert_eq!(one.line(), "DELETED : b");
    assert_eq!(everywhere.line(), format!("MODIFIED : {}/a", kitchen.cluster.namespace()));
    assert_eq!(labelled.line(), "ADDED : a", "it matches the selector now");
}

#[test]
fn events_can_be_json_yaml_or_names() {
    let kitchen = Kitchen::open();
    kitchen.create("a");
    let (json, yaml, name) =
        (kitchen.watch(&["-o", "json"]), kitchen.watch(&["-o", "yaml"]), kitchen.watch(&["-o", "name"]));
    let first: Value = serde_json::from_str(&json.line()).unwrap();
    assert_eq!(first["type"], "ADDED");
    assert_eq!(first["object"]["kind"], "ConfigMap");
    assert_eq!(first["object"]["metadata"].get("managedFields"), None);
    assert_eq!(yaml.lines(3), ["object:", "  apiVersion: v1", "  kind: ConfigMap"]);
    assert_eq!(name.line(), "configmap/a");
    kitchen.change("a", "<1>");
    let line = json.line();
    assert!(
        line.starts_with(r#"{"type":"MODIFIED","object":{"apiVersion":"v1","data":{"key":"\u003c1\u003e"}"#),
        "{line}"
    );
    let document: Vec<String> =
        (0..40).map(|_| yaml.line()).take_while(|line| line != "type: MODIFIED").collect();
    assert!(
        document.contains(&"---".to_owned()) && document.contains(&"    key: <1>".to_owned()),
        "{document:?}"
    );
    kitchen.delete("a");
    let last: Value = serde_json::from_str(&json.line()).unwrap();
    assert_eq!((&last["type"], &last["object"]["data"]["key"]), (&json!("DELETED"), &json!("<1>")));
}

#[test]
fn interrupted_watches_lose_and_repeat_nothing() {
    let kitchen = Kitchen::open();
    kitchen.create("a");
    let watching = kitchen.watch(&[]);
    let mut expected = vec!["ADDED : a".to_owned()];
    let mut printed = vec![watching.line()];
    for round in 0..8 {
        let name = format!("m{round}");
        kitchen.create(&name);
        kitchen.change("a", &name);
        // Some watches are cut between the events just written, some after them.
        if round % 2 == 0 {
            printed.push(watching.line());
        }
        kitchen.cluster.faults().cut_watches(&Requests::any());
        kitchen.delete(&name);
        expected.extend([format!("ADDED : {name}"), "MODIFIED : a".to_owned(), format!("DELETED : {name}")]);
    }
    printed.extend(watching.lines(expected.len() - printed.len()));
    assert_eq!(printed, expected);
    watching.wait_for_error("connection lost; resuming the watch");
    let (status, rest) = watching.interrupt();
    assert_eq!((status.code(), rest), (Some(0), vec![]));
}

#[test]
fn changes_during_an_outage_are_printed_afterwards() {
    let kitchen = Kitchen::open();
    let proxy = kitchen.cluster.block_on(FaultProxy::start(kitchen.cluster.server().address())).unwrap();
    let kubeconfig = kitchen.cluster.block_on(kitchen.cluster.kubeconfig_through(&proxy)).unwrap();
    kitchen.create("a");
    let watching = Running::start(&kubeconfig, &["watch", "configmaps"]);
    assert_eq!(watching.line(), "ADDED : a");
    kitchen.cluster.block_on(proxy.refuse()).unwrap();
    proxy.inject(NetworkFault::reset());
    kitchen.create("b");
    kitchen.change("a", "1");
    watching.wait_for_error("retrying in");
    kitchen.cluster.block_on(proxy.accept()).unwrap();
    let mut printed = watching.lines(2);
    printed.sort(); // rewatch or relist, depending on how the outage was noticed
    assert_eq!(printed, ["ADDED : b", "MODIFIED : a"]);
    watching.wait_for_error("watching");
    kitchen.delete("b");
    assert_eq!(watching.line(), "DELETED : b");
    kitchen.cluster.block_on(proxy.stop());
}

#[test]
fn after_a_compaction_the_differences_to_a_new_list_are_printed() {
    let kitchen = Kitchen::open();
    for name in ["a", "b", "c", "same"] {
        kitchen.create(name);
    }
    let watching = kitchen.watch(&[]);
    assert_eq!(watching.lines(4), ["ADDED : a", "ADDED : b", "ADDED : c", "ADDED : same"]);
    kitchen.change("a", "0");
    assert_eq!(watching.line(), "MODIFIED : a");
    assert_eq!(kitchen.cluster.faults().stall_watches(&Requests::any()), 1);
    kitchen.change("a", "1");
    kitchen.change("a", "2");
    kitchen.delete("b");
    kitchen.delete("c");
    kitchen.create("c");
    kitchen.create("d");
    kitchen.cluster.block_on(kitchen.cluster.compact()).unwrap();
    assert_eq!(kitchen.cluster.faults().cut_watches(&Requests::any()), 1);
    // `a` is reported once; `c` was replaced by an object of the same name; `same` did not change.
    let mut printed = watching.lines(5);
    printed.sort();
    assert_eq!(printed, ["ADDED : c", "ADDED : d", "DELETED : b", "DELETED : c", "MODIFIED : a"]);
    watching.wait_for_error("the resource version has expired; listing again");
    watching.wait_for_error("list complete (4 objects); watching");
    kitchen.delete("d");
    assert_eq!(watching.line(), "DELETED : d");
}

#[test]
fn slow_reader_gets_every_event_and_a_closed_pipe_ends_the_command() {
    const CHANGES: usize = 60;
    let kitchen = Kitchen::open();
    kitchen.create("a");
    let arguments = ["watch", "configmaps", "-o", "json"];
    let (watching, stdout) = Running::unread(kitchen.cluster.kubeconfig_path(), &arguments);
    for round in 0..CHANGES {
        kitchen.change("a", &format!("{round} {}", "x".repeat(20_000))); // far more than a pipe holds
    }
    let mut lines = BufReader::new(stdout).lines();
    let mut versions: Vec<u64> = Vec::new();
    while !lines.next().unwrap().unwrap().contains(&format!("\"key\":\"{} x", CHANGES - 21)) {}
    for _ in 0..20 {
        let event: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        assert_eq!(event["type"], "MODIFIED");
        versions.push(event["object"]["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap());
    }
    assert!(versions.windows(2).all(|pair| pair[1] == pair[0] + 1), "{versions:?}");
    drop(lines);
    kitchen.delete("a");
    let (status, _, errors) = watching.ended();
    assert_eq!((status.code(), errors), (Some(0), vec![]));
}

#[test]
fn blocked_reader_does_not_prevent_an_interrupt() {
    let kitchen = Kitchen::open();
    kitchen.create("a");
    let (watching, stdout) =
        Running::unread(kitchen.cluster.kubeconfig_path(), &["watch", "configmaps", "-o", "json"]);
    let mut read = BufReader::with_capacity(1, stdout);
    read.read_until(b'{', &mut Vec::new()).unwrap(); // the first event has been written
    for round in 0..20 {
        kitchen.change("a", &format!("{round} {}", "x".repeat(20_000)));
    }
    let (status, _) = watching.interrupt();
    assert_eq!(status.code(), Some(0));
}

#[test]
fn invalid_watches_are_reported_on_one_line() {
    let kitchen = Kitchen::open();
    let complaint = |arguments: &[&str]| {
        let (status, out, errors) =
            Running::start(kitchen.cluster.kubeconfig_path(), &[&["watch"], arguments].concat()).ended();
        assert_eq!((status.code(), out), (Some(1), vec![]), "{arguments:?}: {errors:?}");
        errors.join("\n")
    };
    let unknown = complaint(&["configmapz"]);
    assert!(unknown.contains("the server doesn't have a resource type \"configmapz\""), "{unknown}");
    assert_eq!(
        complaint(&["pods,configmaps"]),
        "error: watch is only supported on individual resources and resource collections"
    );
    assert!(complaint(&["pods", "-o", "xml"]).starts_with("error: unable to match a printer"));
    let away = complaint(&["pods", "--server", "https://127.0.0.1:1"]);
    assert_eq!(
        away,
        "The connection to the server 127.0.0.1:1 was refused - did you specify the right host or port?"
    );
    let refused = complaint(&["configmaps", "--token", "wrong"]);
    assert_eq!(refused, "error: You must be logged in to the server (Unauthorized)");
}

#[test]
fn timeout_ends_the_watch() {
    let kitchen = Kitchen::open();
    kitchen.create("a");
    let (status, out, errors) = kitchen.watch(&["--timeout", "2s"]).ended();
    assert_eq!((status.code(), out, errors), (Some(0), vec!["ADDED : a".to_owned()], vec![]));
}

#[test]
fn events_can_be_table_rows() {
    let kitchen = Kitchen::open();
    kitchen.create("a");
    let rows = kitchen.watch(&["-o", "table"]);
    let everywhere = kitchen.watch(&["-o", "wide", "-A"]);
    assert_eq!(rows.line(), "EVENT      NAME   DATA   AGE");
    assert!(rows.line().starts_with("ADDED      a      0      "));
    assert!(everywhere.line().starts_with("EVENT      NAMESPACE "));
    assert!(everywhere.line().starts_with(&format!("ADDED      {}", kitchen.cluster.namespace())));
    kitchen.change("a", "1");
    kitchen.cluster.faults().cut_watches(&Requests::any());
    kitchen.delete("a");
    let printed = rows.lines(2);
    assert!(printed[0].starts_with("MODIFIED   a      1      "), "{printed:?}");
    assert!(printed[1].starts_with("DELETED    a      1      "), "{printed:?}");
    kitchen.create("b");
    let columns = kitchen.watch(&["-o", "custom-columns=N:.metadata.name,K:.data.key"]);
    let paths = kitchen.watch(&["-o", "jsonpath={.metadata.name}:{.data.key}{\"\\n\"}"]);
    assert_eq!(
        (columns.lines(2), paths.line()),
        (vec!["N     K".to_owned(), "b     <none>".to_owned()], "b:".to_owned())
    );
    kitchen.change("b", "2");
    assert_eq!((columns.line(), paths.line()), ("b     2".to_owned(), "b:2".to_owned()));
}

#[test]
fn managed_fields_are_printed_on_request() {
    let kitchen = Kitchen::open();
    let map =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"key": "1"}});
    let options = ApplyOptions { field_manager: "cook".to_owned(), force: false, dry_run: false };
    kitchen.cluster.block_on(kitchen.maps.apply_object(&map, &options)).unwrap();
    let manager = |more: &[&str]| {
        let event: Value =
            serde_json::from_str(&kitchen.watch(&[&["-o", "json"], more].concat()).line()).unwrap();
        event["object"]["metadata"]["managedFields"][0]["manager"].clone()
    };
    assert_eq!(manager(&["--show-managed-fields"]), "cook");
    assert_eq!(manager(&[]), Value::Null);
}
