//! Running a plugin.

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

/// How long a plugin may take that cannot ask the user. One that can has all the time it needs.
pub const PLUGIN_TIMEOUT: Duration = Duration::from_secs(60);

/// How much a plugin may print.
pub const OUTPUT_LIMIT: usize = 1 << 20;

/// How many times an hour a user is told how to get a plugin that is not there.
pub const HINTS_AN_HOUR: u32 = 10;

/// The variable that tells a plugin what is wanted of it.
const EXEC_INFO: &str = "KUBERNETES_EXEC_INFO";

/// What it prints. Dropped half-way, it is killed (E1).
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
    let outcome = match is_interactive {
        true => run.await,
        false => tokio::time::timeout(PLUGIN_TIMEOUT, run).await.unwrap_or_else(|_| {
            let what = format!("has not ended within {} s", PLUGIN_TIMEOUT.as_secs());
            Err(AuthError::new(what).into())
        }),
    };
    match &outcome {
        Ok(_) => metrics.exec_plugin_call(0, PluginCall::NoError),
        Err(failure) => metrics.exec_plugin_call(failure.exit_code, failure.call),
    }
    outcome.map_err(|failure| failure.error)
}

/// A run that came to nothing.
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
            io::ErrorKind::NotFound => AuthError::new(format!("is not found{}", hints.give(exec))),
            _ => AuthError::because("cannot be run", error),
        };
        Failure { call: PluginCall::NotFound, exit_code: 1, error }
    })?;
    let mut printed = Vec::new();
    if let Some(stdout) = child.stdout.take() {
        let read = stdout.take(OUTPUT_LIMIT as u64 + 1).read_to_end(&mut printed).await;
        read.map_err(|error| AuthError::because("cannot be read from", error))?;
    }
    if printed.len() > OUTPUT_LIMIT {
        return Err(AuthError::new(format!("has printed more than {OUTPUT_LIMIT} bytes")).into());
    }
    let status = child.wait().await.map_err(|error| AuthError::because("is lost", error))?;
    match status.success() {
        true => Ok(printed),
        false => Err(Failure {
            call: PluginCall::ExecutionError,
            exit_code: status.code().unwrap_or(-1), // ended by a signal
            error: AuthError::new(failed(status)),
        }),
    }
}

fn failed(status: ExitStatus) -> String {
    match status.code() {
        Some(code) => format!("has failed with exit code {code}"),
        None => format!("was ended: {status}"),
    }
}

fn is_interactive(mode: InteractiveMode, is_terminal: bool) -> Result<bool, AuthError> {
    match mode {
        InteractiveMode::Never => Ok(false),
        InteractiveMode::IfAvailable => Ok(is_terminal),
        InteractiveMode::Always if is_terminal => Ok(true),
        InteractiveMode::Always => {
            Err(AuthError::new("must be able to ask the user, and standard input is no terminal"))
        }
    }
}

/// The `ExecCredential` that a plugin gets to see.
fn info(exec: &Exec, is_interactive: bool) -> String {
    let mut spec = json!({"interactive": is_interactive});
    if let Some(cluster) = &exec.cluster {
        spec["cluster"] = cluster.clone();
    }
    json!({"apiVersion": exec.command.api_version, "kind": "ExecCredential", "spec": spec}).to_string()
}

/// How often a user has been told how to get a plugin.
#[derive(Debug, Default)]
pub(super) struct Hints(Mutex<Given>);

#[derive(Debug, Default)]
struct Given {
    since: Option<Instant>,
    times: u32,
}

impl Hints {
    /// What is to be added to an error.
    fn give(&self, exec: &Exec) -> String {
        if exec.command.install_hint.is_empty() || !self.0.lock().is_due(Instant::now()) {
            return String::new();
        }
        format!(": {}", sanitised(&exec.command.install_hint))
    }
}

impl Given {
    fn is_due(&mut self, now: Instant) -> bool {
        if self.since.is_none_or(|since| now.duration_since(since) >= Duration::from_secs(3600)) {
            *self = Self { since: Some(now), times: 0 };
        }
        self.times += 1;
        self.times <= HINTS_AN_HOUR
    }
}

/// A hint comes from a file of anybody's: what a terminal would obey is shown as `U+001B`.
fn sanitised(hint: &str) -> String {
    let mut text = String::new();
    for c in hint.chars() {
        match c == '\n' || watchkeeper_core::is_printable(c) {
            true => text.push(c),
            false => _ = write!(text, "U+{:04X}", u32::from(c)),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kubeconfig::ExecCommand;

    #[test]
    fn a_plugin_asks_the_user_where_it_may_and_can() {
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
    async fn a_hint_is_given_ten_times_an_hour_and_cannot_command_a_terminal() {
        let command = ExecCommand { install_hint: "get\n\u{1b}[2Jit é".to_owned(), ..Default::default() };
        let exec = Exec { command, cluster: None };
        let hints = Hints::default();
        for _ in 0..2 {
            for _ in 0..10 {
                assert_eq!(hints.give(&exec), ": get\nU+001B[2Jit é");
            }
            assert_eq!(hints.give(&exec), "");
            tokio::time::advance(Duration::from_secs(3599)).await;
            assert_eq!(hints.give(&exec), "");
            tokio::time::advance(Duration::from_secs(1)).await;
        }
    }
}
