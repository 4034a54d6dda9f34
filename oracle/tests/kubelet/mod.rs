//! A kubelet that speaks with the real one's streaming library, and runs nothing.

use std::process::Stdio;

use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};
use watchkeeper_oracle::Binaries;

/// The kubelet, which ends with this.
pub(crate) struct Kubelet {
    pub(crate) port: u16,
    _process: Child,
}

impl Kubelet {
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
