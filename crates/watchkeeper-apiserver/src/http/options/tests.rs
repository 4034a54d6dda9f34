//! Options against recorded responses of kube-apiserver.

use super::*;
use crate::http::negotiate::PatchType;

/// Compares a status with a recorded response: code, reason, message, details.
fn assert_recorded(what: &str, status: Result<(), Status>, recorded: &[&str]) {
    let shown = match status {
        Ok(()) => "200".to_owned(),
        Err(status) => {
            let text = |value: serde_json::Value| value.to_string();
            let details = text(serde_json::to_value(&status.details).unwrap());
            format!("{}\t{}\t{}\t{details}", status.code, status.reason, text(status.message.into()))
        }
    };
    let recorded = match recorded {
        [code, reason, message, details] => {
            let details: serde_json::Value = serde_json::from_str(details).unwrap();
            let message: serde_json::Value = serde_json::from_str(message).unwrap();
            format!("{code}\t{reason}\t{message}\t{details}")
        }
        [code, ..] => (*code).to_owned(),
        [] => panic!("{what}: nothing was recorded"),
    };
    assert_eq!(shown, recorded, "{what}");
}

#[test]
fn list_options_are_checked_like_kube_apiserver() {
    let mut checked = 0;
    for line in include_str!("../testdata/list_options.tsv").lines() {
        let (query, recorded) = line.split_once('\t').unwrap();
        let recorded: Vec<&str> = recorded.split('\t').collect();
        let query = Query::parse(query);
        let timeout = request_timeout(&query, Duration::from_secs(60));
        let outcome = timeout.and_then(|_| ListOptions::read(&query)).map(|_| ());
        assert_recorded(line, outcome, &recorded);
        checked += 1;
    }
    assert!(checked > 60, "{checked} lines");
}

#[test]
fn write_options_are_checked_like_kube_apiserver() {
    let mut checked = 0;
    for line in include_str!("../testdata/write_options.tsv").lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let [request, query, ref recorded @ ..] = fields[..] else { panic!("{line}") };
        let query = Query::parse(query);
        let outcome = match request {
            "POST" => WriteOptions::of_create(&query).map(|_| ()),
            "PUT" => WriteOptions::of_update(&query).map(|_| ()),
            "PATCH merge" => WriteOptions::of_patch(&query, PatchType::Merge).map(|_| ()),
            "PATCH apply" => WriteOptions::of_patch(&query, PatchType::Apply).map(|_| ()),
            "DELETE" => DeleteOptions::of_query(&query).map(|_| ()),
            "GET" => GetOptions::read(&query).map(|_| ()),
            other => panic!("{other}"),
        };
        assert_recorded(line, outcome, recorded);
        checked += 1;
    }
    assert!(checked > 30, "{checked} lines");
}

#[test]
fn a_watch_without_a_version_sends_initial_events() {
    let read = |query| ListOptions::read(&Query::parse(query)).unwrap();
    for query in ["watch=1", "watch=1&resourceVersion=0"] {
        let options = read(query);
        assert_eq!(options.send_initial_events, Some(true));
        assert_eq!(options.resource_version_match, Some(VersionMatch::NotOlderThan));
    }
    assert_eq!(read("watch=1&resourceVersion=5").send_initial_events, None);
    assert!(!read("watch=1").is_watch_list());
    assert!(read("watch=1&allowWatchBookmarks=true").is_watch_list());
}

#[test]
fn values_are_typed() {
    let options =
        ListOptions::read(&Query::parse("limit=5&timeoutSeconds=7&resourceVersion=12&continue=x")).unwrap();
    assert_eq!((options.limit, options.timeout), (Some(5), Some(Duration::from_secs(7))));
    assert_eq!(options.resource_version, AtVersion::At(12));
    assert_eq!(options.continue_token, "x");
    assert_eq!(ListOptions::read(&Query::parse("limit=-1")).unwrap().limit, None);
    let options = ListOptions::read(&Query::parse("resourceVersion=00")).unwrap();
    assert_eq!(options.resource_version, AtVersion::Any);
}

#[test]
fn delete_options_can_be_in_the_body() {
    let body = serde_json::json!({
        "gracePeriodSeconds": 5, "propagationPolicy": "Orphan", "dryRun": ["All"],
        "preconditions": {"uid": "u", "resourceVersion": "7"}
    });
    let options = DeleteOptions::of_body(body).unwrap();
    let expected = DeleteOptions {
        grace_period_seconds: Some(5),
        propagation: Some(Propagation::Orphan),
        orphan_dependents: None,
        uid: Some("u".into()),
        resource_version: Some("7".into()),
        dry_run: true,
    };
    assert_eq!(options, expected);
    assert_eq!(DeleteOptions::of_body(serde_json::Value::Null).unwrap(), DeleteOptions::default());
    let status = DeleteOptions::of_body(serde_json::json!({"propagationPolicy": "Bogus"})).unwrap_err();
    assert_eq!(status.code, 422);
}

#[test]
fn timeouts_have_a_maximum() {
    let read = |query| request_timeout(&Query::parse(query), Duration::from_secs(60)).unwrap();
    assert_eq!(read(""), Duration::from_secs(60));
    assert_eq!(read("timeout=0s"), Duration::from_secs(60));
    assert_eq!(read("timeout=5s"), Duration::from_secs(5));
    assert_eq!(read("timeout=1h"), Duration::from_secs(60));
}
