//! Watchkeeper's server in a process of its own, as a user runs it.
//!
//! - O1: the server ends when this process does, however that ends: a shell beside it waits for the end of
//!   a pipe from us, and then kills it.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Method, StatusCode};
use tempfile::TempDir;

use super::{Connection, Endpoint, Outcome};

/// How long it may take, on a machine that has much else to do.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often it is asked.
const PERIOD: Duration = Duration::from_millis(1);

/// O1: the process of the shell becomes the server's, so that its id is the child's.
const SCRIPT: &str = r#"exec 3<&0; (read -r _ <&3; kill -9 $$) & exec 3<&- "$@" </dev/null"#;

/// A server that ends when this is dropped.
#[derive(Debug)]
pub struct OwnServer {
    child: Child,
    kubeconfig: PathBuf,
    /// From the start of the process to `ok` at `/readyz`.
    pub ready_after: Duration,
    _directory: TempDir,
}

impl OwnServer {
    /// Starts the command, and returns once the server is ready.
    ///
    /// # Errors
    /// Where it ends instead, or takes too long.
    pub async fn start(command: &Path) -> Outcome<Self> {
        let directory = TempDir::with_prefix("watchkeeper-bench-")?;
        let kubeconfig = directory.path().join("kubeconfig");
        let begun = Instant::now();
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
                return Err(format!("{} ended with {status}", command.display()).into());
            }
            if begun.elapsed() > PATIENCE {
                return Err(format!("{} is not ready after {PATIENCE:?}", command.display()).into());
            }
            tokio::time::sleep(PERIOD).await;
        }
        server.ready_after = begun.elapsed();
        Ok(server)
    }

    async fn is_ready(&self) -> bool {
        let asked = async {
            let connection = Connection::open(&self.endpoint()?).await?;
            connection.exchange(Method::GET, "/readyz", Bytes::new(), StatusCode::OK).await
        };
        self.kubeconfig.exists() && asked.await.is_ok()
    }

    /// The file that says where it listens.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// Where it listens.
    ///
    /// # Errors
    /// Where its kubeconfig is gone.
    pub fn endpoint(&self) -> Outcome<Endpoint> {
        Endpoint::read(&self.kubeconfig)
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for OwnServer {
    fn drop(&mut self) {
        drop(self.child.stdin.take()); // O1
        let _ = self.child.wait(); // fails only if it was waited for already, and then it has ended
    }
}
