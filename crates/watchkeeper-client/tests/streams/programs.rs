//! Exec and attach.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use watchkeeper_client::streams::{ExecOptions, Exit, PIPE_BYTES, Protocol, StreamError, TerminalSize};
use watchkeeper_testkit::kubelet::Channels;

use crate::world::{World, all, some};

fn with_stdin() -> ExecOptions {
    ExecOptions { stdin: true, ..Default::default() }
}

fn with_terminal() -> ExecOptions {
    ExecOptions { stdin: true, tty: true, ..Default::default() }
}

#[tokio::test]
async fn stdout_and_stderr_are_separate() {
    let world = World::start().await;
    let mut process = world.pod.exec(["echo", "hello", "w\u{f6}rld"], &ExecOptions::default()).await.unwrap();
    assert!(process.stdin().is_none(), "not requested");
    let (stdout, stderr) = (process.stdout().unwrap(), process.stderr().unwrap());
    let (out, err, exit) = tokio::join!(all(stdout), all(stderr), process.wait());
    assert_eq!((out.as_str(), err.as_str(), exit.unwrap()), ("hello w\u{f6}rld\n", "", Exit::Success));

    let mut process = world.pod.exec(["complain", "oh"], &ExecOptions::default()).await.unwrap();
    let (stdout, stderr) = (process.stdout().unwrap(), process.stderr().unwrap());
    let (out, err, exit) = tokio::join!(all(stdout), all(stderr), process.wait());
    assert_eq!((out.as_str(), err.as_str(), exit.unwrap()), ("", "oh\n", Exit::Success));
    world.wait_until_idle().await;
    world.stop().await;
}

#[tokio::test]
async fn the_exit_status_is_known_without_reading_the_outputs() {
    let world = World::start().await;
    let exit = async |command: &[&str]| {
        let process = world.pod.exec(command.iter().copied(), &ExecOptions::default()).await.unwrap();
        process.wait().await.unwrap()
    };
    assert_eq!(exit(&["exit", "0"]).await, Exit::Success);
    assert_eq!(exit(&["exit", "3"]).await, Exit::Code(3));
    let Exit::Failed(status) = exit(&["rm", "-rf"]).await else { panic!("expected a failure") };
    assert_eq!(status.message, "Internal error occurred: there is no program \"rm\"");
    world.stop().await;
}

#[tokio::test]
async fn stdin_can_be_closed_while_the_output_continues() {
    let world = World::start().await;
    let mut process = world.pod.exec(["cat"], &with_stdin()).await.unwrap();
    assert_eq!(process.protocol(), Protocol::V5);
    let (mut stdin, mut stdout) = (process.stdin().unwrap(), process.stdout().unwrap());
    stdin.write_all(b"to and fro").await.unwrap();
    assert_eq!(some(&mut stdout, 10).await, "to and fro");
    stdin.write_all(b", once more").await.unwrap();
    stdin.shutdown().await.unwrap();
    assert_eq!(all(stdout).await, ", once more");
    assert_eq!(process.wait().await.unwrap(), Exit::Success);
    world.stop().await;
}

#[tokio::test]
async fn wait_closes_an_unused_stdin() {
    let world = World::start().await;
    let process = world.pod.exec(["cat"], &with_stdin()).await.unwrap();
    assert_eq!(process.wait().await.unwrap(), Exit::Success);
    world.stop().await;
}

/// Many times the size of all buffers: reading and writing must not block each other.
#[tokio::test]
async fn much_data_is_sent_in_both_directions_at_once() {
    let world = World::start().await;
    let mut process = world.pod.exec(["cat"], &with_stdin()).await.unwrap();
    let (mut stdin, mut stdout) = (process.stdin().unwrap(), process.stdout().unwrap());
    let sent: Vec<u8> = (0..PIPE_BYTES * 40).map(|at| (at % 251) as u8).collect();
    let writing = async {
        stdin.write_all(&sent).await.unwrap();
        stdin.shutdown().await.unwrap();
    };
    let mut read = Vec::new();
    let (_, read_bytes) = tokio::join!(writing, stdout.read_to_end(&mut read));
    assert_eq!(read_bytes.unwrap(), sent.len());
    assert!(read == sent, "the echo differs");
    assert_eq!(process.wait().await.unwrap(), Exit::Success);
    world.stop().await;
}

/// Backpressure: writes block when nothing is read.
#[tokio::test]
async fn an_unread_output_blocks_the_input() {
    let world = World::start().await;
    let mut process = world.pod.exec(["cat"], &with_stdin()).await.unwrap();
    let (mut stdin, mut stdout) = (process.stdin().unwrap(), process.stdout().unwrap());
    let (mut written, block) = (0, vec![0; PIPE_BYTES]);
    // The buffers in between, of two sockets and four tasks, hold a few megabytes each at most.
    while tokio::time::timeout(Duration::from_secs(1), stdin.write_all(&block)).await.is_ok() {
        written += block.len();
        assert!(written < 64 << 20, "{written} bytes were buffered");
    }
    assert_eq!(stdout.read_u8().await.unwrap(), 0);
    drop(process);
    drop((stdin, stdout));
    world.wait_until_idle().await;
    world.stop().await;
}

#[tokio::test]
async fn an_older_server_gets_the_older_protocol() {
    let world = World::speaking(Channels::V4).await;
    let mut process = world.pod.exec(["cat"], &with_stdin()).await.unwrap();
    assert_eq!(process.protocol(), Protocol::V4);
    let (mut stdin, mut stdout) = (process.stdin().unwrap(), process.stdout().unwrap());
    stdin.write_all(b"hello").await.unwrap();
    assert_eq!(some(&mut stdout, 5).await, "hello");
    let error = stdin.shutdown().await.unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::Unsupported);
    assert_eq!(world.kubelet.open_streams(), 1, "the process waits for more input");
    drop(process);
    world.wait_until_idle().await;

    let process = world.pod.exec(["exit", "7"], &ExecOptions::default()).await.unwrap();
    assert_eq!(process.wait().await.unwrap(), Exit::Code(7));
    let newer = ExecOptions { protocols: vec![Protocol::V5], ..Default::default() };
    let error = world.pod.exec(["exit", "7"], &newer).await.unwrap_err();
    assert_eq!(error.status().unwrap().code, 403, "{error}");
    world.stop().await;
}

#[tokio::test]
async fn a_terminal_has_a_size_and_a_single_output() {
    let world = World::start().await;
    let mut process = world.pod.exec(["size"], &with_terminal()).await.unwrap();
    assert!(process.stderr().is_none());
    process.resize(TerminalSize { width: 80, height: 24 }).await.unwrap();
    let stdout = process.stdout().unwrap();
    assert_eq!(all(stdout).await, "80x24\n");
    assert_eq!(process.wait().await.unwrap(), Exit::Success);

    let process = world.pod.exec(["hang"], &ExecOptions::default()).await.unwrap();
    let error = process.resize(TerminalSize { width: 80, height: 24 }).await.unwrap_err();
    assert!(matches!(error, StreamError::NoTerminal { .. }), "{error}");
    drop(process);
    world.stop().await;
}

#[tokio::test]
async fn attach_joins_a_running_process() {
    let world = World::start().await;
    let mut process = world.pod.attach(&with_stdin()).await.unwrap();
    let (mut stdin, stdout) = (process.stdin().unwrap(), process.stdout().unwrap());
    stdin.write_all(b"hello").await.unwrap();
    drop(stdin);
    assert_eq!(all(stdout).await, "hello");
    assert_eq!(process.wait().await.unwrap(), Exit::Success);
    world.stop().await;
}

#[tokio::test]
async fn dropping_a_process_closes_its_streams() {
    let world = World::start().await;
    let mut process = world.pod.exec(["hang"], &ExecOptions::default()).await.unwrap();
    let mut stdout = process.stdout().unwrap();
    crate::world::until(|| world.kubelet.open_streams() == 1).await;
    assert!(world.client.transport().connections() >= 1);
    drop(process);
    let error = stdout.read_u8().await.unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionAborted, "not the end of the output");
    world.wait_until_idle().await;
    world.stop().await;
}
