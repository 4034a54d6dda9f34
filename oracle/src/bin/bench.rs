//! Compares Watchkeeper's API server with a real one: `bench [ARGUMENT...]`, arguments being the loader's.
//!
//! Builds the command and the loader (`watchkeeper-bench`, binary `server`) for release, starts kube-apiserver
//! with etcd, and has the loader start ours and measure both. What it prints is in `docs/benchmarks.md`.
//!
//! However it ends, the loader and all servers end with it: `keeper` sees to that.

use std::error::Error;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use tempfile::TempDir;
use tokio::process::Command;
use watchkeeper_oracle::{Binaries, Cluster};

#[tokio::main]
async fn main() -> ExitCode {
    match compare(std::env::args_os().skip(1)).await {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn compare(arguments: impl Iterator<Item = OsString>) -> Result<ExitCode, Box<dyn Error>> {
    let release = build().await?;
    let cluster = Cluster::start().await?;
    let processes: Vec<String> = cluster.processes()?.iter().map(ToString::to_string).collect();
    let directory = TempDir::with_prefix("watchkeeper-bench-")?;
    let keeper = Binaries::get()?.path("keeper");
    let mut loader = Command::new(keeper)
        .arg(directory.path())
        .arg(release.join("server"))
        .arg("--peer-kubeconfig")
        .arg(cluster.kubeconfig())
        .args(["--peer-pids", &processes.join(",")])
        .args(["--peer-start-ms", &cluster.ready_after().as_millis().to_string()])
        .args(arguments)
        .stdin(std::process::Stdio::piped()) // it ends the loader and our server when we end
        .spawn()?;
    let pipe = loader.stdin.take();
    tokio::select! {
        _ = loader.wait() => {}
        _ = tokio::signal::ctrl_c() => {}
    }
    drop(pipe);
    let status = loader.wait().await?;
    if !status.success() {
        eprintln!("{}", cluster.logs());
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}

/// Builds what is measured, and what measures, and returns where they are.
async fn build() -> Result<PathBuf, Box<dyn Error>> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent().ok_or("the oracle is in no checkout")?;
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .current_dir(workspace)
        .args(["build", "--release", "-p", "watchkeeper", "-p", "watchkeeper-bench"])
        .args(["--bin", "watchkeeper", "--bin", "server"])
        .status()
        .await?;
    if !status.success() {
        return Err("Watchkeeper cannot be built".into());
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| workspace.join("target"), PathBuf::from);
    Ok(workspace.join(target).join("release"))
}
