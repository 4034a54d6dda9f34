//! Compares Watchkeeper with its peers, at the real server: `bench [server|unread|client|informer|queue|web] [ARGUMENT...]`.
//!
//! - `server`, which may be left out: our API server beside kube-apiserver with etcd.
//! - `unread`: the memory of our API server beside kube-apiserver's, under responses that nobody reads.
//! - `client`: our client beside client-go and kube-client.
//! - `informer`: our informer beside client-go's and kube-rs's.
//! - `web`: our service over a cache beside one of client-go and encoding/json; its server is ours.
//! - `queue`: our work queue beside client-go's and kube-rs's scheduler; its server is ours.
//!
//! Builds for release what is measured and the loader (of `watchkeeper-bench`), starts kube-apiserver with
//! etcd where it is wanted, and has the loader measure; arguments are the loader's. What it prints is in
//! `docs/benchmarks.md`.
//!
//! However it ends, the loader and all servers end with it: `keeper` sees to that.

use std::error::Error;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use tempfile::TempDir;
use tokio::process::Command;
use watchkeeper_oracle::{Binaries, Cluster};

/// What is compared.
#[derive(Debug, Clone, Copy)]
enum Question {
    Server,
    Unread,
    Client,
    Informer,
    Queue,
    Web,
}

#[tokio::main]
async fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1).peekable();
    let word = arguments.next_if(|argument| !argument.to_string_lossy().starts_with('-'));
    let question = match word.as_ref().map(|word| word.to_string_lossy()).as_deref() {
        None | Some("server") => Question::Server,
        Some("unread") => Question::Unread,
        Some("client") => Question::Client,
        Some("informer") => Question::Informer,
        Some("queue") => Question::Queue,
        Some("web") => Question::Web,
        Some(word) => {
            eprintln!(
                "error: {word:?} is none of \"server\", \"unread\", \"client\", \"informer\", \"queue\" and \"web\""
            );
            return ExitCode::FAILURE;
        }
    };
    match compare(question, arguments).await {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn compare(
    question: Question,
    arguments: impl Iterator<Item = OsString>,
) -> Result<ExitCode, Box<dyn Error>> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent().ok_or("the oracle is in no checkout")?;
    let oracle = workspace.join("oracle"); // a workspace of its own
    let (release, peers) = match question {
        Question::Server => {
            let ours = [("watchkeeper-cli", "watchkeeper"), ("watchkeeper-bench", "server")];
            (build(workspace, &ours).await?, PathBuf::new())
        }
        Question::Unread => {
            let ours = [("watchkeeper-cli", "watchkeeper"), ("watchkeeper-bench", "unread")];
            (build(workspace, &ours).await?, PathBuf::new())
        }
        Question::Client => {
            let ours = [("watchkeeper-bench", "client"), ("watchkeeper-bench", "clients")];
            let peers = [("watchkeeper-oracle", "kube_client")];
            (build(workspace, &ours).await?, build(&oracle, &peers).await?)
        }
        Question::Informer => {
            let ours = ["informer", "floor", "informers"].map(|name| ("watchkeeper-bench", name));
            let peers = [("watchkeeper-oracle", "kube_informer")];
            (build(workspace, &ours).await?, build(&oracle, &peers).await?)
        }
        Question::Queue => {
            let bench = ["queue", "queues"].map(|name| ("watchkeeper-bench", name));
            let ours = [&[("watchkeeper-cli", "watchkeeper")][..], &bench].concat();
            let peers = [("watchkeeper-oracle", "kube_queue")];
            (build(workspace, &ours).await?, build(&oracle, &peers).await?)
        }
        Question::Web => {
            let ours = [("watchkeeper-cli", "watchkeeper"), ("watchkeeper-bench", "webs")];
            (build(workspace, &ours).await?, PathBuf::new())
        }
    };
    let cluster = match question {
        Question::Queue | Question::Web => None,
        Question::Server | Question::Unread | Question::Client | Question::Informer => {
            Some(Cluster::start().await?)
        }
    };
    let directory = TempDir::with_prefix("watchkeeper-bench-")?;
    let binaries = Binaries::get()?;
    let mut loader = Command::new(binaries.path("keeper"));
    loader.arg(directory.path());
    match (question, &cluster) {
        (Question::Server, Some(cluster)) => {
            let processes: Vec<String> = cluster.processes()?.iter().map(ToString::to_string).collect();
            loader
                .arg(release.join("server"))
                .arg("--peer-kubeconfig")
                .arg(cluster.kubeconfig())
                .args(["--peer-pids", &processes.join(",")])
                .args(["--peer-start-ms", &cluster.ready_after().as_millis().to_string()]);
        }
        (Question::Unread, Some(cluster)) => {
            let apiserver = *cluster.processes()?.get(1).ok_or("kube-apiserver is not running")?; // after etcd
            loader
                .arg(release.join("unread"))
                .arg("--large")
                .arg("--peer-kubeconfig")
                .arg(cluster.kubeconfig())
                .args(["--peer-pid", &apiserver.to_string()]);
        }
        (Question::Client, Some(cluster)) => {
            loader
                .arg(release.join("clients"))
                .arg("--kubeconfig")
                .arg(cluster.kubeconfig())
                .arg("--client-go")
                .arg(binaries.path("client"))
                .arg("--kube-client")
                .arg(peers.join("kube_client"));
        }
        (Question::Informer, Some(cluster)) => {
            loader
                .arg(release.join("informers"))
                .arg("--kubeconfig")
                .arg(cluster.kubeconfig())
                .arg("--client-go")
                .arg(binaries.path("informer"))
                .arg("--kube-rs")
                .arg(peers.join("kube_informer"));
        }
        (Question::Web, _) => {
            loader.arg(release.join("webs")).arg("--client-go").arg(binaries.path("web"));
        }
        (Question::Queue, _) | (_, None) => {
            loader
                .arg(release.join("queues"))
                .arg("--client-go")
                .arg(binaries.path("queue"))
                .arg("--kube-rs")
                .arg(peers.join("kube_queue"));
        }
    }
    let mut loader = loader
        .args(arguments)
        .stdin(std::process::Stdio::piped()) // it ends the loader and what it has started when we end
        .spawn()?;
    let pipe = loader.stdin.take();
    tokio::select! {
        _ = loader.wait() => {}
        _ = tokio::signal::ctrl_c() => {}
    }
    drop(pipe);
    let status = loader.wait().await?;
    if !status.success() {
        if let Some(cluster) = &cluster {
            eprintln!("{}", cluster.logs());
        }
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}

/// Builds binaries of packages of a workspace, and returns where they are.
async fn build(workspace: &Path, binaries: &[(&str, &str)]) -> Result<PathBuf, Box<dyn Error>> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.current_dir(workspace).args(["build", "--release"]);
    for (package, name) in binaries {
        command.args(["-p", package, "--bin", name]);
    }
    if !command.status().await?.success() {
        return Err(format!("{binaries:?} cannot be built").into());
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| workspace.join("target"), PathBuf::from);
    Ok(workspace.join(target).join("release"))
}
