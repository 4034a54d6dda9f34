//! kubectl prints the same for our server as for the real one.
//!
//! The transcripts under `kubectl/` contain commands and the output that kubectl printed for the real server. The
//! test runs every transcript against both servers. The output for the real server must still equal the recording,
//! and the output for ours must be the same, except for the entries of [`differences`]. An entry that no longer
//! differs fails the test.
//!
//! To update the recordings, run this test with `WATCHKEEPER_WRITE_TABLES=1`.

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

/// Reason of an event that the real server creates when its caches lag behind.
const RACE: &str = "ClusterIPNotAllocated";

/// The maximum number of runs of all transcripts.
const ATTEMPTS: usize = 3;

/// A transcript and its file.
struct Recorded {
    path: PathBuf,
    name: String,
    transcript: Transcript,
}

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_prints_the_same_for_our_server_as_for_the_real_one() -> Outcome {
    let recorded = recorded()?;
    for Difference { script, line, .. } in DIFFERENCES {
        let lines = recorded.iter().filter(|it| it.name == *script).flat_map(|it| &it.transcript.steps);
        assert_eq!(
            lines.filter(|step| step.line() == *line).count(),
            1,
            "not exactly one command matches {script}: {line}"
        );
    }
    let [theirs, ours] = play(&recorded).await?;

    let record = std::env::var_os("WATCHKEEPER_WRITE_TABLES").is_some();
    let (mut stale, mut different, mut commands) = (Vec::new(), Vec::new(), 0);
    let mut differs = vec![false; DIFFERENCES.len()];
    for ((recorded, theirs), ours) in recorded.iter().zip(&theirs).zip(&ours) {
        if record {
            fs::write(&recorded.path, theirs.to_string())?;
        } else {
            let steps = recorded.transcript.steps.iter().zip(&theirs.steps);
            for (before, now) in steps.filter(|(before, now)| before.output != now.output) {
                stale.push(format!("{}: {}", recorded.name, before.difference(now)));
            }
        }
        commands += theirs.steps.len();
        for (theirs, ours) in theirs.steps.iter().zip(&ours.steps) {
            let line = theirs.line();
            let listed = DIFFERENCES.iter().position(|listed| listed.is(&recorded.name, &line));
            if let Some(listed) = listed {
                differs[listed] |= theirs.output != ours.output;
            } else if theirs.output != ours.output {
                different.push(format!("{}: {}", recorded.name, theirs.difference(ours)));
            }
        }
    }
    let obsolete = DIFFERENCES.iter().zip(&differs).filter(|(_, differs)| !**differs);
    let obsolete: Vec<_> = obsolete
        .map(|(Difference { script, line, why }, _)| format!("{script}: {line}\n    because {why}"))
        .collect();
    println!("{commands} commands in {} scripts, {} differences", recorded.len(), DIFFERENCES.len());
    let stale = section("the output for the real server differs from the recording (-recorded +now)", &stale);
    let different =
        section("the output for our server differs from the real one's (-theirs +ours)", &different);
    let obsolete = section("listed differences that no longer exist", &obsolete);
    let all = [stale, different, obsolete].concat();
    assert!(all.is_empty(), "to update the recordings, set WATCHKEEPER_WRITE_TABLES=1\n{all}");
    Ok(())
}

/// Plays all transcripts against the real server and against ours.
///
/// The real server repairs its IP allocations in the background. If a service exists before the server's caches have
/// its IP address, the server creates an event that is not in the recordings. In that case all transcripts, which
/// build on each other, are played again on new servers. The last attempt counts in any case.
async fn play(recorded: &[Recorded]) -> Outcome<[Vec<Transcript>; 2]> {
    for _ in 1..ATTEMPTS {
        let played = play_once(recorded).await?;
        let mut output = played[0].iter().flat_map(|it| &it.steps).flat_map(|step| &step.output);
        let Some(line) = output.find(|line| line.contains(RACE)) else { return Ok(played) };
        println!("playing again, because the real server printed: {line}");
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

/// Formats one section of the failure message.
fn section(title: &str, lines: &[String]) -> String {
    if lines.is_empty() {
        String::new()
    } else {
        format!("{} x {title}:\n{}\n", lines.len(), lines.join("\n"))
    }
}

/// Reads the transcripts, sorted by file name.
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
