//! Compares Watchkeeper with its peers: `bench [server|unread|client|informer|queue|web] [ARGUMENT...]`.
//!
//! - `server` (the default): our API server and kube-apiserver with etcd.
//! - `unread`: the memory of our API server and of kube-apiserver while clients do not read their responses.
//! - `client`: our client, client-go and kube-client, against kube-apiserver.
//! - `informer`: our informer, client-go's and kube-rs's, against kube-apiserver.
//! - `web`: our web service and one built on client-go and encoding/json, against our server.
//! - `queue`: our work queue, client-go's and kube-rs's scheduler, against our server.
//!
//! Builds the measured programs and the load generator (from `watchkeeper-bench`) with the profile `dist`, starts
//! kube-apiserver with etcd if the comparison needs it, and runs the load generator with the given arguments.
//! `docs/benchmarks.md` shows the results.
//!
//! `keeper` stops the load generator and all servers when this program ends for any reason.

use std::error::Error;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use tempfile::TempDir;
use tokio::process::Command;
use watchkeeper_oracle::{Binaries, Cluster};

/// The comparison to run.
#[derive(Debug, Clone, Copy)]
enum Comparison {
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
    let name = arguments.next_if(|argument| !argument.to_string_lossy().starts_with('-'));
    let comparison = match name.as_ref().map(|name| name.to_string_lossy()).as_deref() {
        None | Some("server") => Comparison::Server,
        Some("unread") => Comparison::Unread,
        Some("client") => Comparison::Client,
        Some("informer") => Comparison::Informer,
        Some("queue") => Comparison::Queue,
        Some("web") => Comparison::Web,
        Some(name) => {
            eprintln!(
                "error: invalid comparison {name:?}: expected server, unread, client, informer, queue or web"
            );
            return ExitCode::FAILURE;
        }
    };
    match compare(comparison, arguments).await {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn compare(
    comparison: Comparison,
    arguments: impl Iterator<Item = OsString>,
) -> Result<ExitCode, Box<dyn Error>> {
    let workspace =
        Path::new(env!("CARGO_MANIFEST_DIR")).parent().ok_or("the oracle has no parent directory")?;
    let oracle = workspace.join("oracle"); // a separate workspace
    let (executables, peers) = match comparison {
        Comparison::Server => {
            let ours = [("watchkeeper-cli", "watchkeeper"), ("watchkeeper-bench", "server")];
            (build(workspace, &ours).await?, PathBuf::new())
        }
        Comparison::Unread => {
            let ours = [("watchkeeper-cli", "watchkeeper"), ("watchkeeper-bench", "unread")];
            (build(workspace, &ours).await?, PathBuf::new())
        }
        Comparison::Client => {
            let ours = [("watchkeeper-bench", "client"), ("watchkeeper-bench", "clients")];
            let peers = [("watchkeeper-oracle", "kube_client")];
            (build(workspace, &ours).await?, build(&oracle, &peers).await?)
        }
        Comparison::Informer => {
            let ours = ["informer", "floor", "informers"].map(|name| ("watchkeeper-bench", name));
            let peers = [("watchkeeper-oracle", "kube_informer")];
            (build(workspace, &ours).await?, build(&oracle, &peers).await?)
        }
        Comparison::Queue => {
            let bench = ["queue", "queues"].map(|name| ("watchkeeper-bench", name));
            let ours = [&[("watchkeeper-cli", "watchkeeper")][..], &bench].concat();
            let peers = [("watchkeeper-oracle", "kube_queue")];
            (build(workspace, &ours).await?, build(&oracle, &peers).await?)
        }
        Comparison::Web => {
            let ours = [("watchkeeper-cli", "watchkeeper"), ("watchkeeper-bench", "webs")];
            (build(workspace, &ours).await?, PathBuf::new())
        }
    };
    let cluster = match comparison {
        Comparison::Queue | Comparison::Web => None,
        Comparison::Server | Comparison::Unread | Comparison::Client | Comparison::Informer => {
            Some(Cluster::start().await?)
        }
    };
    let directory = TempDir::with_prefix("watchkeeper-bench-")?;
    let binaries = Binaries::get()?;
    let mut loader = Command::new(binaries.path("keeper"));
    loader.arg(directory.path());
    match (comparison, &cluster) {
        (Comparison::Server, Some(cluster)) => {
            let processes: Vec<String> = cluster.processes()?.iter().map(ToString::to_string).collect();
            loader
                .arg(executables.join("server"))
                .arg("--peer-kubeconfig")
                .arg(cluster.kubeconfig())
                .args(["--peer-pids", &processes.join(",")])
                .args(["--peer-start-ms", &cluster.startup_time().as_millis().to_string()]);
        }
        (Comparison::Unread, Some(cluster)) => {
            let apiserver = *cluster.processes()?.get(1).ok_or("kube-apiserver is not running")?; // after etcd
            loader
                .arg(executables.join("unread"))
                .arg("--large")
                .arg("--peer-kubeconfig")
                .arg(cluster.kubeconfig())
                .args(["--peer-pid", &apiserver.to_string()]);
        }
        (Comparison::Client, Some(cluster)) => {
            loader
                .arg(executables.join("clients"))
                .arg("--kubeconfig")
                .arg(cluster.kubeconfig())
                .arg("--client-go")
                .arg(binaries.path("client"))
                .arg("--kube-client")
                .arg(peers.join("kube_client"));
        }
        (Comparison::Informer, Some(cluster)) => {
            loader
                .arg(executables.join("informers"))
                .arg("--kubeconfig")
                .arg(cluster.kubeconfig())
                .arg("--client-go")
                .arg(binaries.path("informer"))
                .arg("--kube-rs")
                .arg(peers.join("kube_informer"));
        }
        (Comparison::Web, _) => {
            loader.arg(executables.join("webs")).arg("--client-go").arg(binaries.path("web"));
        }
        (Comparison::Queue, _) | (_, None) => {
            loader
                .arg(executables.join("queues"))
                .arg("--client-go")
                .arg(binaries.path("queue"))
                .arg("--kube-rs")
                .arg(peers.join("kube_queue"));
        }
    }
    let mut loader = loader
        .args(arguments)
        .stdin(std::process::Stdio::piped()) // keeper kills the load generator when this pipe closes
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

/// Builds the `(package, binary)` pairs with the profile `dist`, and returns the directory of the executables.
async fn build(workspace: &Path, binaries: &[(&str, &str)]) -> Result<PathBuf, Box<dyn Error>> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.current_dir(workspace).args(["build", "--profile", "dist"]);
    for (package, name) in binaries {
        command.args(["-p", package, "--bin", name]);
    }
    if !command.status().await?.success() {
        return Err(format!("failed to build {binaries:?}").into());
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| workspace.join("target"), PathBuf::from);
    Ok(workspace.join(target).join("dist"))
}
