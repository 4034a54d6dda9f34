//! Runs a credential plugin and collects its output.

use std::fmt::Write as _;
use std::io::{self, IsTerminal as _};
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::json;
use tokio::io::AsyncReadExt as _;
use tokio::process::Command;
use tokio::time::Instant;

use super::super::AuthError;
use crate::config::Exec;
use crate::kubeconfig::InteractiveMode;
use crate::metrics::{Metrics, PluginCall};

/// Time limit for a non-interactive plugin. An interactive one may wait for its user without limit.
pub const PLUGIN_TIMEOUT: Duration = Duration::from_secs(60);

/// Maximum size of a plugin's output, in bytes.
pub const OUTPUT_LIMIT: usize = 1 << 20;

/// Number of times per hour that an install hint is added to the error for a missing plugin.
pub const MAX_HINTS_PER_HOUR: u32 = 10;

/// The environment variable that carries the request to the plugin.
const EXEC_INFO: &str = "KUBERNETES_EXEC_INFO";

/// Returns the plugin's standard output. Dropping the future kills the plugin (`exec.E1`).
pub(super) async fn run(
    exec: &Exec,
    program: &Path,
    hints: &Hints,
    metrics: &dyn Metrics,
) -> Result<Vec<u8>, AuthError> {
    let mode = exec.command.interactive_mode.unwrap_or(InteractiveMode::IfAvailable);
    let is_interactive = is_interactive(mode, io::stdin().is_terminal())?;
    let mut command = Command::new(program);
    command.args(&exec.command.args).env(EXEC_INFO, info(exec, is_interactive));
    for variable in exec.command.env.iter().filter(|it| it.name != EXEC_INFO) {
        command.env(&variable.name, variable.value.reveal());
    }
    command.stdout(Stdio::piped()).stderr(Stdio::inherit()).kill_on_drop(true);
    command.stdin(if is_interactive { Stdio::inherit() } else { Stdio::null() });
    let run = output(command, exec, hints);
    let outcome = if is_interactive {
        run.await
    } else {
        tokio::time::timeout(PLUGIN_TIMEOUT, run).await.unwrap_or_else(|_| {
            let message = format!("timed out after {}s", PLUGIN_TIMEOUT.as_secs());
            Err(AuthError::new(message).into())
        })
    };
    match &outcome {
        Ok(_) => metrics.exec_plugin_call(0, PluginCall::NoError),
        Err(failure) => metrics.exec_plugin_call(failure.exit_code, failure.call),
    }
    outcome.map_err(|failure| failure.error)
}

/// A failed run.
struct Failure {
    call: PluginCall,
    exit_code: i32,
    error: AuthError,
}

impl From<AuthError> for Failure {
    fn from(error: AuthError) -> Self {
        Self { call: PluginCall::InternalError, exit_code: 1, error }
    }
}

async fn output(mut command: Command, exec: &Exec, hints: &Hints) -> Result<Vec<u8>, Failure> {
    let mut child = command.spawn().map_err(|error| {
        let error = match error.kind() {
            io::ErrorKind::NotFound => AuthError::new(format!("executable not found{}", hints.next(exec))),
            _ => AuthError::with_source("failed to start", error),
        };
        Failure { call: PluginCall::NotFound, exit_code: 1, error }
    })?;
    let mut stdout_bytes = Vec::new();
    if let Some(stdout) = child.stdout.take() {
        let read = stdout.take(OUTPUT_LIMIT as u64 + 1).read_to_end(&mut stdout_bytes).await;
        read.map_err(|error| AuthError::with_source("failed to read output", error))?;
    }
    if stdout_bytes.len() > OUTPUT_LIMIT {
        return Err(AuthError::new(format!("output exceeds {OUTPUT_LIMIT} bytes")).into());
    }
    let status =
        child.wait().await.map_err(|error| AuthError::with_source("failed to wait for exit", error))?;
    if status.success() {
        return Ok(stdout_bytes);
    }
    Err(Failure {
        call: PluginCall::ExecutionError,
        exit_code: status.code().unwrap_or(-1), // killed by a signal
        error: AuthError::new(describe(status)),
    })
}

fn describe(status: ExitStatus) -> String {
    match status.code() {
        Some(code) => format!("failed with exit code {code}"),
        None => format!("was terminated: {status}"),
    }
}

fn is_interactive(mode: InteractiveMode, is_terminal: bool) -> Result<bool, AuthError> {
    match mode {
        InteractiveMode::Never => Ok(false),
        InteractiveMode::IfAvailable => Ok(is_terminal),
        InteractiveMode::Always if is_terminal => Ok(true),
        InteractiveMode::Always => {
            Err(AuthError::new("requires interactive mode, but standard input is not a terminal"))
        }
    }
}

/// Returns the `ExecCredential` passed to the plugin.
fn info(exec: &Exec, is_interactive: bool) -> String {
    let mut spec = json!({"interactive": is_interactive});
    if let Some(cluster) = &exec.cluster {
        spec["cluster"] = cluster.clone();
    }
    json!({"apiVersion": exec.command.api_version, "kind": "ExecCredential", "spec": spec}).to_string()
}

/// A limit on how often an install hint is shown.
#[derive(Debug, Default)]
pub(super) struct Hints(Mutex<HintWindow>);

#[derive(Debug, Default)]
struct HintWindow {
    started: Option<Instant>,
    shown: u32,
}

impl Hints {
    /// Returns the text to append to an error: the hint, or nothing when the limit is reached.
    fn next(&self, exec: &Exec) -> String {
        if exec.command.install_hint.is_empty() || !self.0.lock().is_due(Instant::now()) {
            return String::new();
        }
        format!(": {}", sanitize(&exec.command.install_hint))
    }
}

impl HintWindow {
    fn is_due(&mut self, now: Instant) -> bool {
        if self.started.is_none_or(|started| now.duration_since(started) >= Duration::from_secs(3600)) {
            *self = Self { started: Some(now), shown: 0 };
        }
        self.shown += 1;
        self.shown <= MAX_HINTS_PER_HOUR
    }
}

/// Escapes control characters as `U+001B`: the hint comes from an untrusted file and must not drive the terminal.
fn sanitize(hint: &str) -> String {
    let mut text = String::new();
    for c in hint.chars() {
        if c == '\n' || watchkeeper_core::is_printable(c) {
            text.push(c);
        } else {
            _ = write!(text, "U+{:04X}", u32::from(c));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kubeconfig::ExecCommand;

    #[test]
    fn a_plugin_is_interactive_if_allowed_and_possible() {
        use InteractiveMode::{Always, IfAvailable, Never};
        for (mode, is_terminal, expected) in [
            (Never, true, Some(false)),
            (Never, false, Some(false)),
            (IfAvailable, true, Some(true)),
            (IfAvailable, false, Some(false)),
            (Always, true, Some(true)),
            (Always, false, None),
        ] {
            assert_eq!(is_interactive(mode, is_terminal).ok(), expected, "{mode:?} {is_terminal}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn hints_are_limited_to_ten_per_hour_and_cannot_drive_the_terminal() {
        let command = ExecCommand { install_hint: "get\n\u{1b}[2Jit é".to_owned(), ..Default::default() };
        let exec = Exec { command, cluster: None };
        let hints = Hints::default();
        for _ in 0..2 {
            for _ in 0..10 {
                assert_eq!(hints.next(&exec), ": get\nU+001B[2Jit é");
            }
            assert_eq!(hints.next(&exec), "");
            tokio::time::advance(Duration::from_secs(3599)).await;
            assert_eq!(hints.next(&exec), "");
            tokio::time::advance(Duration::from_secs(1)).await;
        }
    }
}
