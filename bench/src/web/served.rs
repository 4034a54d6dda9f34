//! Served: a program that serves cached objects, in a process of its own.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use crate::server::Outcome;

/// How long its first lists may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// A program that serves, and ends when this is dropped.
#[derive(Debug)]
pub struct Served {
    _child: Child,
    pid: u32,
    address: String,
}

impl Served {
    /// Starts a program, which prints `http://ADDRESS` somewhere in its first lines.
    ///
    /// # Errors
    /// Where it ends instead, or takes too long.
    pub async fn start(program: &Path, arguments: &[&str], kubeconfig: &Path) -> Outcome<Self> {
        let mut child = Command::new(program)
            .args(arguments)
            .arg("--kubeconfig")
            .arg(kubeconfig)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| format!("{}: {error}", program.display()))?;
        let mut lines = BufReader::new(child.stdout.take().ok_or("no stdout")?).lines();
        let told = async {
            while let Some(line) = lines.next_line().await? {
                if let Some((_, rest)) = line.split_once("http://") {
                    let address = rest.split(['/', ' ']).next().unwrap_or_default();
                    return Ok(address.to_owned());
                }
            }
            Err(format!("{} has ended", program.display()).into())
        };
        let address: Outcome<String> = timeout(PATIENCE, told).await?;
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} }); // a full pipe would stop it
        let pid = child.id().ok_or("it has ended")?;
        Ok(Self { _child: child, pid, address: address? })
    }

    /// Where it listens.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.pid
    }
}
