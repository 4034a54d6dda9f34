//! Story: what kubectl tells of the pods of a deployment while it rolls.

use std::collections::{BTreeMap, BTreeSet};

use crate::Outcome;
use crate::session::Session;

/// What happened.
#[derive(Debug, Default)]
pub(crate) struct Story {
    /// The lives of all pods, each as the states that it went through, in the order of these texts.
    pub(crate) lives: Vec<String>,
    /// How many pods were ready at once, at least, from when all first were.
    pub(crate) fewest_ready: usize,
    /// How many pods there were at once, at most, less those that were asked to go.
    pub(crate) most: usize,
}

const WATCH: &str = "kubectl get pods -n story -w --output-watch-events --no-headers \"-o=custom-columns=EVENT:.type,\
                     NAME:.object.metadata.name,PHASE:.object.status.phase,\
                     READY:.object.status.conditions[?(@.type=='Ready')].status,\
                     GOES:.object.metadata.deletionTimestamp,IMAGE:.object.spec.containers[0].image\"";

const DEPLOYMENT: &str = r#"{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": {
    "replicas": 4,
    "strategy": {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}},
    "selector": {"matchLabels": {"app": "web"}},
    "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"terminationGracePeriodSeconds": 1,
        "containers": [{"name": "main", "image": "web:1"}]}}}}"#;

/// Rolls a deployment of four pods to another image, and tells what `kubectl get pods -w` printed meanwhile.
pub(crate) async fn of_a_rollout(session: &Session) -> Outcome<Story> {
    let run = async |line: &str| Outcome::Ok(session.run(line, &[]).await?.join("\n"));
    run("kubectl create namespace story").await?;
    session.run("kubectl create -n story -f -", &[DEPLOYMENT.replace('\n', " ")]).await?;
    run("kubectl rollout status -n story deployment/web --timeout=50s").await?;
    let mut watch = session.start(WATCH).await?;
    run("kubectl set image -n story deployment/web main=web:2").await?;
    let ended = run("kubectl rollout status -n story deployment/web --timeout=50s").await?;
    assert!(ended.contains("successfully rolled out"), "{ended}");
    // The four old pods are gone, and the four new ones are ready, whichever is told first.
    let is_over = |lines: &[String]| {
        let gone = lines.iter().filter(|line| line.starts_with("DELETED")).count();
        let is_ready = |line: &&String| line.contains("web:2") && line.contains("True");
        let ready = lines.iter().filter(is_ready).filter_map(|line| line.split_whitespace().nth(1));
        gone == 4 && ready.collect::<BTreeSet<_>>().len() == 4
    };
    Ok(told(watch.read(is_over).await?))
}

fn told(lines: &[String]) -> Story {
    let mut story = Story { fewest_ready: usize::MAX, ..Story::default() };
    let mut lives: BTreeMap<String, Vec<String>> = BTreeMap::new();
    // Name to whether it is ready and whether it was asked to go.
    let mut now: BTreeMap<String, (bool, bool)> = BTreeMap::new();
    for line in lines {
        let [event, name, phase, ready, goes, image] = line.split_whitespace().collect::<Vec<_>>()[..] else {
            continue;
        };
        let goes = goes != "<none>";
        if event == "DELETED" {
            now.remove(name);
        } else {
            now.insert(name.to_owned(), (ready == "True" && !goes, goes));
        }
        let life = lives.entry(name.to_owned()).or_default();
        let state = match (event, goes) {
            ("DELETED", _) => "DELETED".to_owned(),
            (_, true) => format!("{image} going"),
            (event, false) if life.is_empty() => format!("{event} {image} {phase}"),
            (_, false) => format!("{image} {phase} ready={}", ready == "True"),
        };
        // How often something was written that kubectl does not show is nobody's business.
        if life.last() != Some(&state) {
            life.push(state);
        }
        if now.len() >= 4 {
            story.fewest_ready = story.fewest_ready.min(now.values().filter(|(ready, _)| *ready).count());
        }
        story.most = story.most.max(now.values().filter(|(_, goes)| !goes).count());
    }
    story.lives = lives.into_values().map(|life| life.join(", ")).collect();
    story.lives.sort_unstable();
    story
}
