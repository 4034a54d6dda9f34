//! What becomes of what is written: our controllers beside the real ones.
//!
//! On one side kube-apiserver and kube-controller-manager, with our scheduler and our simulated nodes, since there
//! are no kubelets here; on the other side the embedded server with all of our cluster. The transcripts under `living/`
//! are played on both, and what kubectl says must be the same in the end.

use std::fs;
use std::path::Path;

use tempfile::TempDir;
use watchkeeper_apiserver::http::{Credentials, Kubeconfig};
use watchkeeper_apiserver::server::ApiServer;
use watchkeeper_client::config::{Authorities, Authorization};
use watchkeeper_client::{Client, Config};
use watchkeeper_cluster::Cluster as Living;
use watchkeeper_oracle::Cluster;

#[path = "kubectl/normal.rs"]
mod normal;
#[path = "kubectl/session.rs"]
mod session;
#[path = "living/story.rs"]
mod story;
#[path = "kubectl/transcript.rs"]
mod transcript;

use session::Session;
use transcript::{Step, Transcript};

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

const TRANSCRIPTS: [&str; 2] = ["01-rollout.txt", "02-deleting.txt"];

/// Both clusters.
struct World {
    theirs: (Cluster, Living),
    ours: (ApiServer, Living),
    home: TempDir,
}

impl World {
    async fn start() -> Outcome<Self> {
        let cluster = Cluster::builder().controller_manager(true).start().await?;
        let nodes = Living::builder().nodes_only().attach(&client(&cluster)?);
        let server = ApiServer::builder().start().await?;
        let living = Living::builder().start(&server).await?;
        Ok(Self { theirs: (cluster, nodes), ours: (server, living), home: TempDir::new()? })
    }

    /// Somebody at a terminal of each.
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
    let world = World::start().await?;
    let [theirs, ours] = world.sessions()?;
    let mut wrong = Vec::new();
    let mut commands = 0;
    for name in TRANSCRIPTS {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/living").join(name);
        let script = Transcript::read(&fs::read_to_string(&path)?)?;
        let (theirs, ours) = tokio::try_join!(theirs.play(&script), ours.play(&script))?;
        for (theirs, ours) in theirs.steps.iter().zip(&ours.steps) {
            let (theirs, ours) = (settled(theirs), settled(ours));
            if std::env::var_os("WATCHKEEPER_SHOW").is_some() {
                println!("{}\n{}", theirs.line(), theirs.said.join("\n"));
            }
            if theirs.said != ours.said {
                wrong.push(format!("{name}: {}", theirs.difference(&ours)));
            }
            commands += 1;
        }
    }
    world.stop().await;
    println!("{commands} commands");
    assert!(wrong.is_empty(), "ours does not end as the real one (-theirs +ours)\n{}", wrong.join("\n"));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_pods_of_a_rollout_live_as_on_a_real_cluster() -> Outcome {
    let world = World::start().await?;
    let [theirs, ours] = world.sessions()?;
    let (theirs, ours) = tokio::try_join!(story::of_a_rollout(&theirs), story::of_a_rollout(&ours))?;
    world.stop().await;
    assert_eq!(ours.lives, theirs.lives, "-ours +theirs");
    for story in [&theirs, &ours] {
        assert!((3..=5).contains(&story.fewest_ready), "three of four at least: {story:?}");
        assert!(story.most <= 5, "one more than four at most: {story:?}");
    }
    Ok(())
}

/// What is left of an answer when all that comes and goes on the way is left out.
fn settled(step: &Step) -> Step {
    let mut step = step.clone();
    // Which of these a rollout shows depends on when one looks.
    step.said.retain(|line| !line.trim_start().starts_with("Waiting for deployment"));
    for line in &mut step.said {
        *line = nameless(line);
    }
    // What is gone already is not waited for.
    if step.line().contains("--for=delete") {
        step.said.retain(|line| !line.ends_with("condition met"));
    }
    // In how many steps a rollout is made depends on how quick its pods are.
    if step.line().contains("get events") {
        step.said.dedup();
    }
    // Which of several pods ends first is chance.
    if step.line().contains("delete pod") || step.line().contains("wait ") {
        step.said.sort_unstable();
    }
    step
}

/// Hashes of templates, and the ends of generated names, replaced by a name for them.
fn nameless(line: &str) -> String {
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
