//! Rollout: the states of a deployment's pods during a rollout, as printed by `kubectl get pods -w`.

use std::collections::{BTreeMap, BTreeSet};

use crate::Outcome;
use crate::session::Session;

/// The observed rollout.
#[derive(Debug, Default)]
pub(crate) struct Rollout {
    /// The sequence of states of each pod, sorted.
    pub(crate) pod_states: Vec<String>,
    /// The minimum number of ready pods, once there were four pods.
    pub(crate) min_ready: usize,
    /// The maximum number of pods, not counting terminating ones.
    pub(crate) max_pods: usize,
}

const WATCH: &str = "kubectl get pods -n rollout -w --output-watch-events --no-headers \"-o=custom-columns=EVENT:.type,\
                     NAME:.object.metadata.name,PHASE:.object.status.phase,\
                     READY:.object.status.conditions[?(@.type=='Ready')].status,\
                     TERMINATING:.object.metadata.deletionTimestamp,IMAGE:.object.spec.containers[0].image\"";

const DEPLOYMENT: &str = r#"{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": {
    "replicas": 4,
    "strategy": {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}},
    "selector": {"matchLabels": {"app": "web"}},
    "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"terminationGracePeriodSeconds": 1,
        "containers": [{"name": "main", "image": "web:1"}]}}}}"#;

/// Updates the image of a deployment of four pods, and observes the rollout.
pub(crate) async fn observe(session: &Session) -> Outcome<Rollout> {
    let run = async |line: &str| Outcome::Ok(session.run(line, &[]).await?.join("\n"));
    run("kubectl create namespace rollout").await?;
    session.run("kubectl create -n rollout -f -", &[DEPLOYMENT.replace('\n', " ")]).await?;
    run("kubectl rollout status -n rollout deployment/web --timeout=50s").await?;
    let mut watch = session.start(WATCH).await?;
    run("kubectl set image -n rollout deployment/web main=web:2").await?;
    let status = run("kubectl rollout status -n rollout deployment/web --timeout=50s").await?;
    assert!(status.contains("successfully rolled out"), "{status}");
    // The four old pods are deleted and the four new ones are ready, in either order.
    let is_complete = |lines: &[String]| {
        let deleted = lines.iter().filter(|line| line.starts_with("DELETED")).count();
        let is_ready = |line: &&String| line.contains("web:2") && line.contains("True");
        let ready = lines.iter().filter(is_ready).filter_map(|line| line.split_whitespace().nth(1));
        deleted == 4 && ready.collect::<BTreeSet<_>>().len() == 4
    };
    Ok(parse(watch.read(is_complete).await?))
}

fn parse(lines: &[String]) -> Rollout {
    let mut rollout = Rollout { min_ready: usize::MAX, ..Rollout::default() };
    let mut states: BTreeMap<String, Vec<String>> = BTreeMap::new();
    // Pod name to (ready, terminating).
    let mut current: BTreeMap<String, (bool, bool)> = BTreeMap::new();
    for line in lines {
        let [event, name, phase, ready, terminating, image] = line.split_whitespace().collect::<Vec<_>>()[..]
        else {
            continue;
        };
        let terminating = terminating != "<none>";
        if event == "DELETED" {
            current.remove(name);
        } else {
            current.insert(name.to_owned(), (ready == "True" && !terminating, terminating));
        }
        let of_pod = states.entry(name.to_owned()).or_default();
        let state = match (event, terminating) {
            ("DELETED", _) => "DELETED".to_owned(),
            (_, true) => format!("{image} terminating"),
            (event, false) if of_pod.is_empty() => format!("{event} {image} {phase}"),
            (_, false) => format!("{image} {phase} ready={}", ready == "True"),
        };
        // Writes that change nothing in these columns are not compared.
        if of_pod.last() != Some(&state) {
            of_pod.push(state);
        }
        if current.len() >= 4 {
            let ready = current.values().filter(|(ready, _)| *ready).count();
            rollout.min_ready = rollout.min_ready.min(ready);
        }
        let running = current.values().filter(|(_, terminating)| !terminating).count();
        rollout.max_pods = rollout.max_pods.max(running);
    }
    rollout.pod_states = states.into_values().map(|of_pod| of_pod.join(", ")).collect();
    rollout.pod_states.sort_unstable();
    rollout
}
