//! Service process: a program that serves cached objects.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use crate::server::Outcome;

/// Time limit for the start, including the first lists.
const TIMEOUT: Duration = Duration::from_secs(120);

/// A running service, killed on drop.
#[derive(Debug)]
pub struct ServiceProcess {
    _child: Child,
    pid: u32,
    address: String,
}

impl ServiceProcess {
    /// Starts a program, and waits until it prints `http://ADDRESS`.
    ///
    /// # Errors
    /// If the program exits, or prints no address in time.
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
        let printed = async {
            while let Some(line) = lines.next_line().await? {
                if let Some((_, rest)) = line.split_once("http://") {
                    let address = rest.split(['/', ' ']).next().unwrap_or_default();
                    return Ok(address.to_owned());
                }
            }
            Err(format!("{} exited", program.display()).into())
        };
        let address: Outcome<String> = timeout(TIMEOUT, printed).await?;
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} }); // a full pipe would block the program
        let pid = child.id().ok_or("the service exited")?;
        Ok(Self { _child: child, pid, address: address? })
    }

    /// Returns the address that it listens on.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Returns the process ID.
    pub fn pid(&self) -> u32 {
        self.pid
    }
}
