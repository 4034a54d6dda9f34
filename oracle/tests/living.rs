//! Our controllers compared with kube-controller-manager.
//!
//! One side runs kube-apiserver and kube-controller-manager with our scheduler and simulated nodes, since there are
//! no kubelets here; the other side runs the embedded server with our controllers, scheduler and nodes. The
//! transcripts under `living/` are played on both sides, and kubectl must print the same once everything has settled.

use std::fs;
use std::path::Path;

use tempfile::TempDir;
use watchkeeper_apiserver::http::{Credentials, Kubeconfig};
use watchkeeper_apiserver::server::ApiServer;
use watchkeeper_client::config::{Authorities, Authorization};
use watchkeeper_client::{Client, Config};
use watchkeeper_cluster::Cluster as SimulatedCluster;
use watchkeeper_oracle::Cluster;

#[path = "kubectl/normal.rs"]
mod normal;
#[path = "living/rollout.rs"]
mod rollout;
#[path = "kubectl/session.rs"]
mod session;
#[path = "kubectl/transcript.rs"]
mod transcript;

use session::Session;
use transcript::{Step, Transcript};

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

const TRANSCRIPTS: [&str; 2] = ["01-rollout.txt", "02-deleting.txt"];

/// Both clusters.
struct Clusters {
    theirs: (Cluster, SimulatedCluster),
    ours: (ApiServer, SimulatedCluster),
    home: TempDir,
}

impl Clusters {
    async fn start() -> Outcome<Self> {
        let cluster = Cluster::builder().controller_manager(true).start().await?;
        let nodes = SimulatedCluster::builder().nodes_only().attach(&client(&cluster)?);
        let server = ApiServer::builder().start().await?;
        let controllers = SimulatedCluster::builder().start(&server).await?;
        Ok(Self { theirs: (cluster, nodes), ours: (server, controllers), home: TempDir::new()? })
    }

    /// Creates a kubectl session for each cluster.
    fn sessions(&self) -> Outcome<[Session; 2]> {
        let cluster = &self.theirs.0;
        let theirs = Kubeconfig {
            server: cluster.url(),
            authority: Some(cluster.certificate_authority().to_owned()),
            credentials: Credentials::Token(cluster.token().to_owned()),
            namespace: None,
        };
        let session =
            |name: &str, config: &Kubeconfig| Session::new(&self.home.path().join(name), &config.render());
        Ok([session("theirs", &theirs)?, session("ours", &self.ours.0.kubeconfig())?])
    }

    async fn stop(self) {
        self.theirs.1.stop().await;
        self.ours.1.stop().await;
        self.ours.0.stop().await;
    }
}

fn client(cluster: &Cluster) -> Outcome<Client> {
    let mut config = Config::new(cluster.url().parse()?);
    config.authorities = Authorities::Pem(cluster.certificate_authority().to_owned());
    config.authorization = Authorization::Token(cluster.token().into());
    Ok(Client::new(&config)?)
}

#[tokio::test(flavor = "multi_thread")]
async fn rollouts_and_deletions_end_as_on_a_real_cluster() -> Outcome {
    let clusters = Clusters::start().await?;
    let [theirs, ours] = clusters.sessions()?;
    let mut different = Vec::new();
    let mut commands = 0;
    for name in TRANSCRIPTS {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/living").join(name);
        let script = Transcript::read(&fs::read_to_string(&path)?)?;
        let (theirs, ours) = tokio::try_join!(theirs.play(&script), ours.play(&script))?;
        for (theirs, ours) in theirs.steps.iter().zip(&ours.steps) {
            let (theirs, ours) = (without_timing(theirs), without_timing(ours));
            if std::env::var_os("WATCHKEEPER_SHOW").is_some() {
                println!("{}\n{}", theirs.line(), theirs.output.join("\n"));
            }
            if theirs.output != ours.output {
                different.push(format!("{name}: {}", theirs.difference(&ours)));
            }
            commands += 1;
        }
    }
    clusters.stop().await;
    println!("{commands} commands");
    assert!(
        different.is_empty(),
        "our cluster ends differently from the real one (-theirs +ours)\n{}",
        different.join("\n")
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn pods_of_a_rollout_go_through_the_same_states_as_on_a_real_cluster() -> Outcome {
    let clusters = Clusters::start().await?;
    let [theirs, ours] = clusters.sessions()?;
    let (theirs, ours) = tokio::try_join!(rollout::observe(&theirs), rollout::observe(&ours))?;
    clusters.stop().await;
    assert_eq!(ours.pod_states, theirs.pod_states, "left: ours, right: theirs");
    for rollout in [&theirs, &ours] {
        assert!((3..=5).contains(&rollout.min_ready), "fewer than 3 of 4 pods ready: {rollout:?}");
        assert!(rollout.max_pods <= 5, "more than 5 pods: {rollout:?}");
    }
    Ok(())
}

/// Removes output that depends on timing.
fn without_timing(step: &Step) -> Step {
    let mut step = step.clone();
    // Which progress messages a rollout prints depends on timing.
    step.output.retain(|line| !line.trim_start().starts_with("Waiting for deployment"));
    for line in &mut step.output {
        *line = without_generated_names(line);
    }
    // `kubectl wait` prints nothing for an object that is already gone.
    if step.line().contains("--for=delete") {
        step.output.retain(|line| !line.ends_with("condition met"));
    }
    // The number of steps of a rollout depends on how fast its pods become ready.
    if step.line().contains("get events") {
        step.output.dedup();
    }
    // The order in which pods terminate is random.
    if step.line().contains("delete pod") || step.line().contains("wait ") {
        step.output.sort_unstable();
    }
    step
}

/// Replaces pod template hashes and the suffixes of generated names with placeholders.
fn without_generated_names(line: &str) -> String {
    let is_safe = |letter: char| "bcdfghjklmnpqrstvwxz2456789".contains(letter);
    let mut text = String::new();
    let mut rest = line;
    while let Some(dash) = rest.find(['-', '=', ':', '"']) {
        let (before, after) = rest.split_at(dash + 1);
        text.push_str(before);
        let length = after.find(|letter: char| !is_safe(letter)).unwrap_or(after.len());
        let ends = !after[length..].starts_with(|letter: char| letter.is_ascii_alphanumeric());
        let is_hash = (6..=10).contains(&length) || length == 5;
        rest = match ends
            && is_hash
            && before.ends_with(['-', '=', '"', ':'])
            && after[..length].contains(is_safe)
        {
            true => {
                text.push_str(if length == 5 { "<suffix>" } else { "<hash>" });
                &after[length..]
            }
            false => after,
        };
    }
    text + rest
}
