//! What kubectl says of our server is what it says of the real one.
//!
//! The transcripts under `kubectl/` are scripts and recordings in one: commands, and what kubectl printed when
//! they ran against the real server. Here every script runs against both servers. The real server must still
//! say what is recorded, and ours must say the same, but for what [`differences`] lists: and a difference that is
//! listed must be there.
//!
//! To record again, run this with `WATCHKEEPER_WRITE_TABLES=1`.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use watchkeeper_apiserver::http::{Credentials, Kubeconfig};
use watchkeeper_apiserver::server::ApiServer;
use watchkeeper_oracle::Cluster;

#[path = "kubectl/differences.rs"]
mod differences;
#[path = "kubectl/normal.rs"]
mod normal;
#[path = "kubectl/session.rs"]
mod session;
#[path = "kubectl/transcript.rs"]
mod transcript;

use differences::{DIFFERENCES, Difference};
use session::Session;
use transcript::Transcript;

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

const TRANSCRIPTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/kubectl");

/// The reason of the events that the real server makes when its own caches are late.
const RACE: &str = "ClusterIPNotAllocated";

/// How often the transcripts are played, at most.
const ATTEMPTS: usize = 3;

/// A transcript, and where it lies.
struct Recorded {
    path: PathBuf,
    name: String,
    transcript: Transcript,
}

#[tokio::test(flavor = "multi_thread")]
async fn what_kubectl_says_is_what_it_says_of_the_real_server() -> Outcome {
    let recorded = recorded()?;
    for Difference { script, line, .. } in DIFFERENCES {
        let lines = recorded.iter().filter(|it| it.name == *script).flat_map(|it| &it.transcript.steps);
        assert_eq!(lines.filter(|step| step.line() == *line).count(), 1, "which is meant? {script}: {line}");
    }
    let [theirs, ours] = play(&recorded).await?;

    let record = std::env::var_os("WATCHKEEPER_WRITE_TABLES").is_some();
    let (mut stale, mut wrong, mut commands) = (Vec::new(), Vec::new(), 0);
    let mut seen = vec![false; DIFFERENCES.len()];
    for ((recorded, theirs), ours) in recorded.iter().zip(&theirs).zip(&ours) {
        if record {
            fs::write(&recorded.path, theirs.to_string())?;
        } else {
            let steps = recorded.transcript.steps.iter().zip(&theirs.steps);
            for (before, now) in steps.filter(|(before, now)| before.said != now.said) {
                stale.push(format!("{}: {}", recorded.name, before.difference(now)));
            }
        }
        commands += theirs.steps.len();
        for (theirs, ours) in theirs.steps.iter().zip(&ours.steps) {
            let line = theirs.line();
            let listed = DIFFERENCES.iter().position(|listed| listed.is(&recorded.name, &line));
            if let Some(listed) = listed {
                seen[listed] |= theirs.said != ours.said;
            } else if theirs.said != ours.said {
                wrong.push(format!("{}: {}", recorded.name, theirs.difference(ours)));
            }
        }
    }
    let gone = DIFFERENCES.iter().zip(&seen).filter(|(_, seen)| !**seen);
    let gone: Vec<_> = gone
        .map(|(Difference { script, line, why }, _)| format!("{script}: {line}\n    because {why}"))
        .collect();
    println!("{commands} commands in {} scripts, {} differences", recorded.len(), DIFFERENCES.len());
    let stale = told("the real server does not say what is recorded (-recorded +now)", &stale);
    let wrong = told("ours does not say what the real server says (-theirs +ours)", &wrong);
    let gone = told("listed, and no longer a difference", &gone);
    let all = [stale, wrong, gone].concat();
    assert!(all.is_empty(), "to record anew, set WATCHKEEPER_WRITE_TABLES=1\n{all}");
    Ok(())
}

/// Plays all transcripts against the real server and against ours.
///
/// The real server repairs what it remembers of addresses in the background. When a service is there before its
/// caches have the address of it, it makes an event of that, which no script asked for and nobody recorded. What
/// was played then is thrown away and played again on servers that are new, all of it, for the transcripts build
/// on each other. The last time counts, whatever it says.
async fn play(recorded: &[Recorded]) -> Outcome<[Vec<Transcript>; 2]> {
    for _ in 1..ATTEMPTS {
        let played = play_once(recorded).await?;
        let mut said = played[0].iter().flat_map(|it| &it.steps).flat_map(|step| &step.said);
        let Some(line) = said.find(|line| line.contains(RACE)) else { return Ok(played) };
        println!("played again, for the real server said: {line}");
    }
    play_once(recorded).await
}

async fn play_once(recorded: &[Recorded]) -> Outcome<[Vec<Transcript>; 2]> {
    let cluster = Cluster::start().await?;
    let server = ApiServer::builder().start().await?;
    let home = TempDir::new()?;
    let kubeconfig = Kubeconfig {
        server: cluster.url(),
        authority: Some(cluster.certificate_authority().to_owned()),
        credentials: Credentials::Token(cluster.token().to_owned()),
        namespace: None,
    };
    let theirs = Session::new(&home.path().join("theirs"), &kubeconfig.render())?;
    let ours = Session::new(&home.path().join("ours"), &server.kubeconfig().render())?;
    let play = async |session: &Session| {
        let mut played = Vec::new();
        for script in recorded {
            played.push(session.play(&script.transcript).await?);
        }
        Outcome::Ok(played)
    };
    let (theirs, ours) = tokio::try_join!(play(&theirs), play(&ours))?;
    server.stop().await;
    Ok([theirs, ours])
}

/// What is wrong in one way, for a message.
fn told(what: &str, lines: &[String]) -> String {
    if lines.is_empty() { String::new() } else { format!("{}, {what}:\n{}\n", lines.len(), lines.join("\n")) }
}

/// The transcripts, in the order of their names.
fn recorded() -> Outcome<Vec<Recorded>> {
    let mut paths = fs::read_dir(Path::new(TRANSCRIPTS))?
        .map(|entry| Ok(entry?.path()))
        .collect::<std::io::Result<Vec<_>>>()?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "txt"));
    paths.sort();
    paths
        .into_iter()
        .map(|path| {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let transcript = Transcript::read(&fs::read_to_string(&path)?)
                .map_err(|error| format!("{}: {error}", path.display()))?;
            Ok(Recorded { path, name, transcript })
        })
        .collect()
}
