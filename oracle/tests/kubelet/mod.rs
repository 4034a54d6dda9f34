//! A fake kubelet, which uses the streaming library of the real one but runs no containers.

use std::process::Stdio;

use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};
use watchkeeper_oracle::Binaries;

/// The process of the kubelet, which is killed on drop.
pub(crate) struct Kubelet {
    pub(crate) port: u16,
    _process: Child,
}

impl Kubelet {
    /// Starts the kubelet on a free port.
    pub(crate) async fn start() -> Self {
        let binaries = tokio::task::spawn_blocking(Binaries::get).await.unwrap().unwrap();
        let mut process = Command::new(binaries.path("kubelet"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).await.unwrap();
        Self { port: line.trim().parse().unwrap(), _process: process }
    }
}
