//! Misbehaving and silent servers.

use std::future::Future;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::{SinkExt as _, StreamExt as _};
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role};
use watchkeeper_client::streams::{
    ExecOptions, Exit, PING_INTERVAL, PodStreams, Protocol, SILENCE_TIMEOUT, StreamError,
};
use watchkeeper_client::{Client, Config};

const MAGIC: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// The response head of a server with the newer protocol.
const V5: &str = "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
    sec-websocket-accept: {accept}\r\nsec-websocket-protocol: v5.channel.k8s.io\r\n\r\n";

const V4: &str = "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
    sec-websocket-accept: {accept}\r\nsec-websocket-protocol: v4.channel.k8s.io\r\n\r\n";

type Socket = WebSocketStream<TcpStream>;

/// A pod behind a server that sends this response head, with `{accept}` replaced by the value for the client's key, and
/// then runs the script.
async fn server<S, F>(head: &'static str, script: S) -> (PodStreams, JoinHandle<()>)
where
    S: FnOnce(Socket) -> F + Send + 'static,
    F: Future<Output = ()> + Send,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let task = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = Vec::new();
        while !request.ends_with(b"\r\n\r\n") {
            request.push(stream.read_u8().await.unwrap());
        }
        let request = String::from_utf8(request).unwrap();
        let key = request.lines().find_map(|line| line.strip_prefix("sec-websocket-key: ")).unwrap();
        let accept = STANDARD.encode(digest(&SHA1_FOR_LEGACY_USE_ONLY, format!("{key}{MAGIC}").as_bytes()));
        stream.write_all(head.replace("{accept}", &accept).as_bytes()).await.unwrap();
        script(WebSocketStream::from_raw_socket(stream, Role::Server, None).await).await;
    });
    let client = Client::new(&Config::new(url.parse().unwrap())).unwrap();
    (client.pod("default", "web"), task)
}

fn binary(bytes: &'static [u8]) -> Message {
    Message::Binary(bytes.into())
}

fn normal_close() -> Message {
    Message::Close(Some(CloseFrame { code: CloseCode::Normal, reason: "".into() }))
}

/// Sends these messages and waits until the client disconnects.
async fn send_all(mut socket: Socket, messages: Vec<Message>) {
    for message in messages {
        socket.send(message).await.unwrap();
    }
    while let Some(Ok(_)) = socket.next().await {}
}

/// Runs a process whose server sends these messages; returns its stdout and its exit status.
async fn outcome(messages: Vec<Message>) -> (std::io::Result<String>, Result<Exit, StreamError>) {
    let (pod, server) = server(V5, |socket| send_all(socket, messages)).await;
    let mut process = pod.exec(["cat"], &ExecOptions::default()).await.unwrap();
    let mut stdout = process.stdout().unwrap();
    let mut text = String::new();
    let read = stdout.read_to_string(&mut text).await.map(|_| text);
    let exit = process.wait().await;
    drop(pod);
    server.await.unwrap();
    (read, exit)
}

#[tokio::test]
async fn a_status_may_be_split_and_unknown_channels_are_ignored() {
    let messages = vec![
        binary(b"\x01"),
        binary(b"\x01out"),
        binary(b"\x07what is this"),
        binary(b"\x03{\"status\":\"Failure\",\"reason\":\"NonZeroExitCode\","),
        binary(b"\x03\"details\":{\"causes\":[{\"reason\":\"ExitCode\",\"message\":\"9\"}]}}"),
        normal_close(),
    ];
    let (stdout, exit) = outcome(messages).await;
    assert_eq!((stdout.unwrap().as_str(), exit.unwrap()), ("out", Exit::Code(9)));
}

#[tokio::test]
async fn an_end_without_a_status_is_an_error() {
    let (stdout, exit) = outcome(vec![binary(b"\x01out"), normal_close()]).await;
    assert_eq!(stdout.unwrap(), "out", "closed cleanly, nothing was lost");
    assert!(matches!(exit.unwrap_err(), StreamError::NoStatus { .. }));
}

#[tokio::test]
async fn invalid_messages_break_the_stream() {
    let going_away = Message::Close(Some(CloseFrame { code: CloseCode::Away, reason: "tired".into() }));
    for (message, why) in [
        (Message::Text("hello".into()), "unexpected text message"),
        (binary(b""), "message has no channel"),
        (binary(b"\xff"), "invalid close message"),
        (binary(b"\x03{]"), "invalid exit status: "),
        (going_away, "server closed the stream with code 1001: \"tired\""),
    ] {
        let (stdout, exit) = outcome(vec![binary(b"\x01out"), message]).await;
        assert_eq!(stdout.unwrap_err().kind(), std::io::ErrorKind::InvalidData, "{why}");
        let error = exit.unwrap_err().to_string();
        let request = "GET /api/v1/namespaces/default/pods/web/exec";
        assert!(error.starts_with(&format!("{request}: {why}")), "{error}");
    }
}

#[tokio::test]
async fn an_output_closed_by_the_server_ends_before_the_process() {
    let messages = vec![binary(b"\x01out"), binary(b"\xff\x01")];
    let (pod, server) = server(V5, |socket| send_all(socket, messages)).await;
    let mut process = pod.exec(["daemon"], &ExecOptions::default()).await.unwrap();
    let mut text = String::new();
    let error = process.stdout().unwrap().read_to_string(&mut text).await;
    assert_eq!((error.unwrap(), text.as_str()), (3, "out"));
    drop(process);
    server.await.unwrap();
}

#[tokio::test]
async fn an_unrequested_port_breaks_the_forward() {
    let (pod, server) = server(V4, |socket| send_all(socket, vec![binary(b"\x00\x51\x00")])).await;
    let mut forward = pod.port_forward(&[80]).await.unwrap();
    let mut port = forward.port(80).unwrap();
    assert_eq!(port.read_u8().await.unwrap_err().kind(), std::io::ErrorKind::InvalidData);
    let error = forward.wait().await.unwrap_err().to_string();
    assert!(error.ends_with("server opened a port other than 80"), "{error}");
    server.await.unwrap();
}

#[tokio::test]
async fn a_silent_server_is_pinged_and_then_given_up() {
    let (pings, mut received) = tokio::sync::mpsc::unbounded_channel();
    let (pod, server) = server(V5, |socket| async move {
        // Reads without responding; a WebSocket would respond to pings by itself.
        let mut stream = socket.into_inner();
        let mut bytes = [0; 6];
        while stream.read_exact(&mut bytes).await.is_ok() {
            assert_eq!(bytes[..2], [0x89, 0x80], "an empty ping");
            pings.send(()).unwrap();
        }
    })
    .await;
    let process = pod.exec(["hang"], &ExecOptions::default()).await.unwrap();
    assert_eq!(process.protocol(), Protocol::V5);
    tokio::time::pause(); // from here on only timers run
    let error = process.wait().await.unwrap_err();
    assert!(matches!(error, StreamError::Silent { after: SILENCE_TIMEOUT, .. }), "{error}");
    server.await.unwrap();
    let mut count = 0;
    while received.recv().await.is_some() {
        count += 1;
    }
    assert_eq!(count, SILENCE_TIMEOUT.as_secs() / PING_INTERVAL.as_secs());
}

#[tokio::test]
async fn a_server_that_does_not_close_after_the_status_is_not_waited_for() {
    let status = binary(b"\x03{\"metadata\":{},\"status\":\"Success\"}");
    let (pod, server) = server(V5, |socket| send_all(socket, vec![status])).await;
    let process = pod.exec(["true"], &ExecOptions::default()).await.unwrap();
    tokio::time::pause();
    assert_eq!(process.wait().await.unwrap(), Exit::Success);
    server.await.unwrap();
}

#[tokio::test]
async fn an_invalid_websocket_handshake_is_an_error() {
    let fails = async |head: &'static str, why: &str| {
        let (pod, server) = server(head, |socket| async move { drop(socket) }).await;
        let error = pod.exec(["cat"], &ExecOptions::default()).await.unwrap_err();
        let request = "GET /api/v1/namespaces/default/pods/web/exec";
        assert_eq!(error.to_string(), format!("{request}: {why}"));
        server.await.unwrap();
    };
    let ok = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
    fails(ok, "failed to decode the response: expected 101 Switching Protocols, got 200 OK").await;
    let head = "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: SPDY/3.1\r\n\r\n";
    fails(head, "server did not switch to the WebSocket protocol").await;
    let head = "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
        sec-websocket-accept: x\r\n\r\n";
    fails(head, "server sent an invalid Sec-WebSocket-Accept").await;
    let head = "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
        sec-websocket-accept: {accept}\r\n\r\n";
    fails(head, "server chose the protocol \"\", which was not offered").await;
}
