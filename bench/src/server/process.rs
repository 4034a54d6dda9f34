//! Watchkeeper's server in a separate process, as users run it.
//!
//! - `process.P1`: the server stops when this process exits, for whatever reason: a subshell waits for the end of a
//!   pipe from this process, and then kills the server.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Method, StatusCode};
use tempfile::TempDir;

use super::{Connection, Endpoint, Outcome};

/// Time limit for the start, generous enough for a busy machine.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Interval between readiness checks.
const PERIOD: Duration = Duration::from_millis(1);

/// `process.P1`: the shell execs the server, so that the PID of the child is that of the server.
const SCRIPT: &str = r#"exec 3<&0; (read -r _ <&3; kill -9 $$) & exec 3<&- "$@" </dev/null"#;

/// A server process, killed on drop.
#[derive(Debug)]
pub struct ServerProcess {
    child: Child,
    kubeconfig: PathBuf,
    /// Time from the start of the process until `/readyz` returned ok.
    pub ready_after: Duration,
    _directory: TempDir,
}

impl ServerProcess {
    /// Starts the command, and waits until the server is ready.
    ///
    /// # Errors
    /// If the process exits, or is not ready in time.
    pub async fn start(command: &Path) -> Outcome<Self> {
        let directory = TempDir::with_prefix("watchkeeper-bench-")?;
        let kubeconfig = directory.path().join("kubeconfig");
        let start = Instant::now();
        let child = Command::new("sh")
            .args(["-c", SCRIPT, "sh"])
            .arg(command)
            .args([
                "apiserver",
                "--memory",
                "--no-controllers",
                "--listen",
                "127.0.0.1:0",
                "--write-kubeconfig",
            ])
            .arg(&kubeconfig)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .map_err(|error| format!("{}: {error}", command.display()))?;
        let mut server = Self { child, kubeconfig, ready_after: Duration::ZERO, _directory: directory };
        while !server.is_ready().await {
            if let Some(status) = server.child.try_wait()? {
                return Err(format!("{} exited with {status}", command.display()).into());
            }
            if start.elapsed() > TIMEOUT {
                return Err(format!("{} is not ready after {TIMEOUT:?}", command.display()).into());
            }
            tokio::time::sleep(PERIOD).await;
        }
        server.ready_after = start.elapsed();
        Ok(server)
    }

    async fn is_ready(&self) -> bool {
        let ready = async {
            let connection = Connection::open(&self.endpoint()?).await?;
            connection.exchange(Method::GET, "/readyz", Bytes::new(), StatusCode::OK).await
        };
        self.kubeconfig.exists() && ready.await.is_ok()
    }

    /// Returns the path of the kubeconfig.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// Returns the address and credentials.
    ///
    /// # Errors
    /// If the kubeconfig cannot be read.
    pub fn endpoint(&self) -> Outcome<Endpoint> {
        Endpoint::read(&self.kubeconfig)
    }

    /// Returns the process ID.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        drop(self.child.stdin.take()); // process.P1
        let _ = self.child.wait(); // fails only if the process has been reaped already
    }
}
