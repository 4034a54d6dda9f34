//! Runs the command and reads its output while it runs.

#![allow(dead_code, reason = "not every test uses all of it")]

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// Time limit for any expected output.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running command, killed on drop.
pub(crate) struct Running {
    child: Child,
    out: Receiver<String>,
    errors: Receiver<String>,
}

fn start(kubeconfig: &Path, arguments: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_watchkeeper"))
        .args(arguments)
        .arg("--kubeconfig")
        .arg(kubeconfig)
        .env("LC_ALL", "C")
        .env("KUBECACHEDIR", kubeconfig.parent().unwrap().join("cache"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn lines(from: impl Read + Send + 'static) -> Receiver<String> {
    let (send, receive) = channel();
    thread::spawn(move || {
        for line in BufReader::new(from).lines().map_while(Result::ok) {
            if send.send(line).is_err() {
                break;
            }
        }
    });
    receive
}

impl Running {
    /// Starts the command against a cluster.
    pub(crate) fn start(kubeconfig: &Path, arguments: &[&str]) -> Self {
        let mut child = start(kubeconfig, arguments);
        let out = lines(child.stdout.take().unwrap());
        let errors = lines(child.stderr.take().unwrap());
        Self { child, out, errors }
    }

    /// Starts the command and returns its unread standard output.
    pub(crate) fn unread(kubeconfig: &Path, arguments: &[&str]) -> (Self, ChildStdout) {
        let mut child = start(kubeconfig, arguments);
        let stdout = child.stdout.take().unwrap();
        let errors = lines(child.stderr.take().unwrap());
        (Self { child, out: channel().1, errors }, stdout)
    }

    /// Waits for the next line of standard output.
    pub(crate) fn line(&self) -> String {
        match self.out.recv_timeout(PATIENCE) {
            Ok(line) => line,
            Err(error) => {
                panic!("{error}; on standard error: {:?}", self.errors.try_iter().collect::<Vec<_>>())
            }
        }
    }

    /// Waits for the next `count` lines of standard output.
    pub(crate) fn lines(&self, count: usize) -> Vec<String> {
        (0..count).map(|_| self.line()).collect()
    }

    /// Waits for a line of standard error that contains `text`.
    pub(crate) fn wait_for_error(&self, text: &str) -> String {
        let mut seen = Vec::new();
        loop {
            match self.errors.recv_timeout(PATIENCE) {
                Ok(line) if line.contains(text) => return line,
                Ok(line) => seen.push(line),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    panic!("{text:?} not found in {seen:?}")
                }
            }
        }
    }

    /// Sends SIGINT and waits for the exit; returns the status and the remaining output.
    pub(crate) fn interrupt(mut self) -> (ExitStatus, Vec<String>) {
        let killed = Command::new("kill").args(["-INT", &self.child.id().to_string()]).status().unwrap();
        assert!(killed.success());
        let status = self.child.wait().unwrap();
        (status, self.out.iter().collect())
    }

    /// Waits for the exit; returns the status and what is left of both outputs.
    pub(crate) fn ended(mut self) -> (ExitStatus, Vec<String>, Vec<String>) {
        let status = self.child.wait().unwrap();
        (status, self.out.iter().collect(), self.errors.iter().collect())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill(); // it may have ended
        let _ = self.child.wait();
    }
}
