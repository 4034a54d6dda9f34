//! The command line: transcoding, the API server, error messages.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output, Stdio};

fn watchkeeper(arguments: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_watchkeeper"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    child.wait_with_output().unwrap()
}

fn complaint(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(output.stdout.is_empty(), "{output:?}");
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn transcode_converts_json_to_protobuf_and_back() {
    let json = br#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"v"}}"#;
    let protobuf = watchkeeper(&["transcode"], json);
    assert!(protobuf.status.success(), "{protobuf:?}");
    assert!(protobuf.stdout.starts_with(b"k8s\0"));

    let back = watchkeeper(&["transcode"], &protobuf.stdout);
    assert!(back.status.success(), "{back:?}");
    let back: serde_json::Value = serde_json::from_slice(&back.stdout).unwrap();
    assert_eq!(back, serde_json::from_slice::<serde_json::Value>(json).unwrap());
}

#[test]
fn invalid_input_is_reported_on_one_line() {
    let cases: [(&[u8], &str); 5] = [
        (b"", "error: failed to read apiVersion and kind: at byte 0: unexpected end of input\n"),
        (b"hello", "error: failed to read apiVersion and kind: at byte 0: expected an object\n"),
        (
            br#"{"apiVersion":"example.com/v1","kind":"Widget"}"#,
            "error: failed to transcode example.com/v1, Kind=Widget: \
             no protobuf encoding for example.com/v1, Kind=Widget; request JSON instead\n",
        ),
        (
            br#"{"apiVersion":"v1","kind":"Pod","spec":{"hostNetwork":"yes"}}"#,
            "error: failed to transcode v1, Kind=Pod: malformed body: at byte 54: expected true or false\n",
        ),
        (
            b"k8s\0\x0a\x7f",
            "error: invalid protobuf envelope: at byte 5: length 127 exceeds the remaining 0 bytes\n",
        ),
    ];
    for (input, expected) in cases {
        assert_eq!(complaint(&watchkeeper(&["transcode"], input)), expected);
    }
}

#[test]
fn missing_file_is_named() {
    let text = complaint(&watchkeeper(&["transcode", "no-such-file.json"], b""));
    assert!(text.starts_with("error: failed to read no-such-file.json: "), "{text}");
}

#[test]
fn unknown_command_gets_a_suggestion() {
    let output = watchkeeper(&["transcod"], b"");
    assert_eq!(output.status.code(), Some(1), "as kubectl's");
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("transcode"), "{text}");
}

#[test]
fn api_server_prints_its_address_and_stops_on_sigterm() {
    let directory = tempfile::tempdir().unwrap();
    let kubeconfig = directory.path().join("kube.yaml");
    let mut server = Command::new(env!("CARGO_BIN_EXE_watchkeeper"))
        .args([
            "apiserver",
            "--memory",
            "--fault-endpoint",
            "--event-ttl",
            "30m",
            "--listen",
            "127.0.0.1:0",
            "--write-kubeconfig",
        ])
        .arg(&kubeconfig)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(server.stdout.take().unwrap()).lines().map(Result::unwrap);
    let url = lines.next().unwrap();
    assert!(url.starts_with("API server  https://127.0.0.1:"), "{url}");
    assert_eq!(lines.next().unwrap(), format!("kubeconfig  {}", kubeconfig.display()));
    assert_eq!(fs::metadata(&kubeconfig).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(fs::read_to_string(&kubeconfig).unwrap().contains(&url["API server  ".len()..]));

    let killed = Command::new("kill").arg(server.id().to_string()).status().unwrap();
    assert!(killed.success());
    assert!(server.wait().unwrap().success());
}

#[test]
fn invalid_duration_is_rejected() {
    let arguments = ["apiserver", "--write-kubeconfig", "unused.yaml", "--event-ttl", "5x"];
    let output = watchkeeper(&arguments, b"");
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(text.contains("--event-ttl") && text.contains("unknown unit"), "{text}");
}

#[test]
fn address_in_use_is_reported_on_one_line() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let text = complaint(&watchkeeper(
        &["apiserver", "--listen", &address, "--write-kubeconfig", "unused.yaml"],
        b"",
    ));
    assert_eq!(text, format!("error: {address} is already in use; choose another address with --listen\n"));
}
