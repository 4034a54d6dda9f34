//! `watchkeeper events`.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod running;

use running::Running;
use serde_json::json;
use watchkeeper_testkit::TestCluster;

#[test]
fn events_are_sorted_by_last_seen() {
    let cluster = TestCluster::blocking().unwrap();
    let kubeconfig = cluster.kubeconfig_path();
    let event = |name: &str, kind: &str, about: &str, last: &str| {
        let namespace = cluster.namespace();
        let about = json!({"kind": "Pod", "apiVersion": "v1", "name": about, "namespace": namespace});
        let event = json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": name}, "involvedObject": about, "type": kind, "reason": "Because", "message": format!("{name} \n"),
            "firstTimestamp": "2020-01-01T00:00:00Z", "lastTimestamp": last, "count": 2});
        cluster.block_on(cluster.create(event)).unwrap();
    };
    event("late", "Warning", "web-2-a", "2020-01-03T00:00:00Z");
    event("early", "Normal", "web-2-b", "2020-01-02T00:00:00Z");
    let events = |more: &[&str]| {
        let (status, out, errors) = Running::start(kubeconfig, &[&["events"], more].concat()).ended();
        assert_eq!(status.code(), Some(0), "{errors:?}");
        let cells = |line: &String| {
            line.split("   ")
                .map(str::trim)
                .filter(|cell| !cell.is_empty())
                .skip(1)
                .collect::<Vec<_>>()
                .join("|")
        };
        (out.iter().map(cells).collect::<Vec<_>>(), errors)
    };
    let (early, late) = ("Normal|Because|Pod/web-2-b|early", "Warning|Because|Pod/web-2-a|late");
    assert_eq!(events(&[]).0, ["TYPE|REASON|OBJECT|MESSAGE", early, late]);
    assert_eq!(events(&["--types", "warning"]).0[1..], [late]);
    assert_eq!(events(&["--for", "pod/web-2-b", "--no-headers"]).0, [early]);
    assert!(events(&["-A"]).0[0].starts_with("LAST SEEN|TYPE"));
    let nothing = format!("No events found in {} namespace.", "nowhere");
    assert_eq!(events(&["-n", "nowhere"]), (vec![], vec![nothing]));

    let watching = Running::start(kubeconfig, &["events", "-w", "--types=Warning"]);
    assert!(watching.line().starts_with("LAST SEEN"));
    assert!(watching.line().ends_with("late"));
    event("next", "Normal", "web-2-a", "2020-01-04T00:00:00Z");
    event("last", "Warning", "web-2-a", "2020-01-05T00:00:00Z");
    assert!(watching.line().ends_with("last"));
    let (status, rest) = watching.interrupt();
    assert_eq!((status.code(), rest), (Some(0), vec![]));
    let complaint = |arguments: &[&str]| {
        let (status, out, errors) = Running::start(kubeconfig, arguments).ended();
        assert_eq!((status.code(), out), (Some(1), vec![]), "{errors:?}");
        errors.join("\n")
    };
    assert_eq!(complaint(&["events", "--types", "Bad"]), "error: valid --types are Normal or Warning");
    assert_eq!(complaint(&["events", "--for", "web"]), "error: --for must be in resource/name form");
}
