//! `watchkeeper watch` as a user meets it, in good weather and in bad.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod running;

use std::io::{BufRead, BufReader};

use running::Running;
use serde_json::{Value, json};
use watchkeeper::client::dynamic::{DynamicApi, DynamicObject};
use watchkeeper::client::kubeconfig::{Overrides, Sources};
use watchkeeper::client::resource::{ApplyOptions, DeleteOptions, WriteOptions};
use watchkeeper::client::rest::PatchKind;
use watchkeeper::client::{Client, Config};
use watchkeeper::core::GroupVersion;
use watchkeeper_testkit::{BlockingCluster, FaultProxy, Requests, TestCluster, Trouble};

/// A cluster whose config maps are written, one way or the other.
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
fn every_event_is_a_line_until_it_is_interrupted() {
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
fn what_is_watched_can_be_narrowed() {
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
    assert_eq!(labelled.line(), "ADDED : a", "it has begun to be selected");
}

#[test]
fn events_are_documents_if_they_are_asked_for() {
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
fn watches_that_break_off_lose_nothing_and_tell_nothing_twice() {
    let kitchen = Kitchen::open();
    kitchen.create("a");
    let watching = kitchen.watch(&[]);
    let mut truth = vec!["ADDED : a".to_owned()];
    let mut story = vec![watching.line()];
    for round in 0..8 {
        let name = format!("m{round}");
        kitchen.create(&name);
        kitchen.change("a", &name);
        // Some break off within what was just written, some after it.
        if round % 2 == 0 {
            story.push(watching.line());
        }
        kitchen.cluster.faults().cut_watches(&Requests::any());
        kitchen.delete(&name);
        truth.extend([format!("ADDED : {name}"), "MODIFIED : a".to_owned(), format!("DELETED : {name}")]);
    }
    story.extend(watching.lines(truth.len() - story.len()));
    assert_eq!(story, truth);
    watching.says("the connection broke off: watching again from there");
    let (status, rest) = watching.interrupt();
    assert_eq!((status.code(), rest), (Some(0), vec![]));
}

#[test]
fn a_server_that_was_away_tells_what_happened_meanwhile() {
    let kitchen = Kitchen::open();
    let proxy = kitchen.cluster.block_on(FaultProxy::start(kitchen.cluster.server().address())).unwrap();
    let kubeconfig = kitchen.cluster.block_on(kitchen.cluster.kubeconfig_through(&proxy)).unwrap();
    kitchen.create("a");
    let watching = Running::start(&kubeconfig, &["watch", "configmaps"]);
    assert_eq!(watching.line(), "ADDED : a");
    kitchen.cluster.block_on(proxy.refuse()).unwrap();
    proxy.now(Trouble::reset());
    kitchen.create("b");
    kitchen.change("a", "1");
    watching.says("trying again in");
    kitchen.cluster.block_on(proxy.accept()).unwrap();
    let mut told = watching.lines(2);
    told.sort(); // whether it watches again or lists again depends on how it found the server gone
    assert_eq!(told, ["ADDED : b", "MODIFIED : a"]);
    watching.says("watching");
    kitchen.delete("b");
    assert_eq!(watching.line(), "DELETED : b");
    kitchen.cluster.block_on(proxy.stop());
}

#[test]
fn what_the_server_has_forgotten_is_told_from_a_list_and_it_says_so() {
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
    // Of `a` only that it is another; `c` is another object of the same name; nothing of `same`.
    let mut told = watching.lines(5);
    told.sort();
    assert_eq!(told, ["ADDED : c", "ADDED : d", "DELETED : b", "DELETED : c", "MODIFIED : a"]);
    watching.says("the server has forgotten what happened since: listing again");
    watching.says("listed again (4 objects), watching");
    kitchen.delete("d");
    assert_eq!(watching.line(), "DELETED : d");
}

#[test]
fn a_reader_that_is_slow_gets_every_event_and_one_that_goes_ends_it() {
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
fn a_reader_that_does_not_read_does_not_keep_it_from_ending() {
    let kitchen = Kitchen::open();
    kitchen.create("a");
    let (watching, stdout) =
        Running::unread(kitchen.cluster.kubeconfig_path(), &["watch", "configmaps", "-o", "json"]);
    let mut read = BufReader::with_capacity(1, stdout);
    read.read_until(b'{', &mut Vec::new()).unwrap(); // it has begun
    for round in 0..20 {
        kitchen.change("a", &format!("{round} {}", "x".repeat(20_000)));
    }
    let (status, _) = watching.interrupt();
    assert_eq!(status.code(), Some(0));
}

#[test]
fn what_cannot_be_watched_is_one_clear_line() {
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
fn its_time_can_be_limited() {
    let kitchen = Kitchen::open();
    kitchen.create("a");
    let (status, out, errors) = kitchen.watch(&["--timeout", "2s"]).ended();
    assert_eq!((status.code(), out, errors), (Some(0), vec!["ADDED : a".to_owned()], vec![]));
}

#[test]
fn events_are_rows_if_they_are_asked_for() {
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
    let told = rows.lines(2);
    assert!(told[0].starts_with("MODIFIED   a      1      "), "{told:?}");
    assert!(told[1].starts_with("DELETED    a      1      "), "{told:?}");
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
fn who_has_written_what_is_told_if_it_is_asked_for() {
    let kitchen = Kitchen::open();
    let map =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"key": "1"}});
    let options = ApplyOptions { field_manager: "cook".to_owned(), force: false, dry_run: false };
    kitchen.cluster.block_on(kitchen.maps.apply(&map, &options)).unwrap();
    let told = |more: &[&str]| {
        let event: Value =
            serde_json::from_str(&kitchen.watch(&[&["-o", "json"], more].concat()).line()).unwrap();
        event["object"]["metadata"]["managedFields"][0]["manager"].clone()
    };
    assert_eq!(told(&["--show-managed-fields"]), "cook");
    assert_eq!(told(&[]), Value::Null);
}
