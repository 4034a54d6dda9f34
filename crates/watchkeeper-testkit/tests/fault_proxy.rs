//! A fault proxy in front of an echo server.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::time::Instant;
use watchkeeper_testkit::{Direction, FaultProxy, NetworkFault, TestCluster};

/// Starts an echo server; returns its address and how each connection ended.
async fn echo() -> (SocketAddr, mpsc::UnboundedReceiver<Result<(), ErrorKind>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (ended, ends) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let ended = ended.clone();
            tokio::spawn(async move {
                let (mut read, mut write) = stream.split();
                let outcome = tokio::io::copy(&mut read, &mut write).await;
                let _ = ended.send(outcome.map(drop).map_err(|error| error.kind()));
            });
        }
    });
    (address, ends)
}

async fn exchange(stream: &mut TcpStream, text: &[u8]) -> Vec<u8> {
    stream.write_all(text).await.unwrap();
    let mut answer = vec![0; text.len()];
    stream.read_exact(&mut answer).await.unwrap();
    answer
}

#[tokio::test]
async fn bytes_are_forwarded_unchanged_and_counted() {
    let (server, mut ends) = echo().await;
    let proxy = FaultProxy::start(server).await.unwrap();
    assert_ne!(proxy.address(), server);
    let mut client = TcpStream::connect(proxy.address()).await.unwrap();
    let big: Vec<u8> = (0..3_000_000u32).map(|number| (number % 251) as u8).collect();
    let (mut read, mut write) = client.split();
    let mut back = Vec::new();
    let send = async {
        write.write_all(&big).await.unwrap();
        write.shutdown().await.unwrap(); // the other direction stays open
    };
    let (_, received) = tokio::join!(send, read.read_to_end(&mut back));
    received.unwrap();
    assert!(back == big);
    assert_eq!(ends.recv().await.unwrap(), Ok(()));
    proxy.until(|counts| counts.open == 0).await;
    let counts = proxy.counts();
    assert_eq!((counts.connections, counts.client_closed, counts.injected), (1, 1, 0));
    assert_eq!((counts.request_bytes, counts.response_bytes), (3_000_000, 3_000_000));
}

#[tokio::test]
async fn a_connection_is_refused_until_the_proxy_accepts_again_on_the_same_port() {
    let proxy = FaultProxy::start(echo().await.0).await.unwrap();
    let mut old = TcpStream::connect(proxy.address()).await.unwrap();
    assert_eq!(exchange(&mut old, b"before").await, b"before");
    for _ in 0..3 {
        proxy.refuse().await.unwrap();
        proxy.refuse().await.unwrap();
        let refused = TcpStream::connect(proxy.address()).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
        assert_eq!(exchange(&mut old, b"still there").await, b"still there");
        proxy.accept().await.unwrap();
        proxy.accept().await.unwrap();
        let mut new = TcpStream::connect(proxy.address()).await.unwrap();
        assert_eq!(exchange(&mut new, b"again").await, b"again");
    }
    assert_eq!(proxy.counts().connections, 4);
}

#[tokio::test]
async fn a_reset_comes_after_exactly_this_many_bytes_on_both_sides() {
    let (server, mut ends) = echo().await;
    let proxy = FaultProxy::start(server).await.unwrap();
    proxy.inject_on_connect(NetworkFault::reset().after(4).times(1));
    let mut client = TcpStream::connect(proxy.address()).await.unwrap();
    client.write_all(b"abcdefgh").await.unwrap();
    let mut got = Vec::new();
    let error = client.read_to_end(&mut got).await.unwrap_err();
    assert_eq!((error.kind(), got.as_slice()), (ErrorKind::ConnectionReset, b"abcd".as_slice()));
    assert_eq!(ends.recv().await.unwrap(), Err(ErrorKind::ConnectionReset));
    proxy.injected(1).await;
    let mut spared = TcpStream::connect(proxy.address()).await.unwrap();
    assert_eq!(exchange(&mut spared, b"abcdefgh").await, b"abcdefgh");

    // For an open connection, bytes count from now on.
    assert_eq!(proxy.inject(NetworkFault::reset().after(2)), 1);
    spared.write_all(b"abcdefgh").await.unwrap();
    got.clear();
    spared.read_to_end(&mut got).await.unwrap_err();
    assert_eq!(got, b"ab");
}

#[tokio::test]
async fn a_cut_is_a_clean_end_after_this_many_bytes() {
    let (server, mut ends) = echo().await;
    let proxy = FaultProxy::start(server).await.unwrap();
    proxy.inject_on_connect(NetworkFault::cut().after(3));
    let mut client = TcpStream::connect(proxy.address()).await.unwrap();
    client.write_all(b"abcdefgh").await.unwrap();
    let mut got = Vec::new();
    client.read_to_end(&mut got).await.unwrap();
    assert_eq!(got, b"abc");
    assert_eq!(ends.recv().await.unwrap(), Ok(()));
    drop(client);
    proxy.until(|counts| counts.open == 0).await;
}

#[tokio::test]
async fn a_stalled_connection_is_silent_and_continues_once_healed() {
    let (server, mut ends) = echo().await;
    let proxy = FaultProxy::start(server).await.unwrap();
    let mut client = TcpStream::connect(proxy.address()).await.unwrap();
    assert_eq!(exchange(&mut client, b"one").await, b"one");
    for (direction, reaches_server) in
        [(Direction::Both, false), (Direction::Requests, false), (Direction::Responses, true)]
    {
        let before = proxy.counts();
        proxy.inject(NetworkFault::stall(direction));
        proxy.stalled(1).await;
        client.write_all(b"two").await.unwrap();
        if reaches_server {
            proxy.until(|counts| counts.request_bytes == before.request_bytes + 3).await;
        }
        let mut answer = [0; 3];
        tokio::time::pause(); // the timeout passes at once
        let silent = tokio::time::timeout(Duration::from_secs(60), client.read_exact(&mut answer)).await;
        tokio::time::resume();
        assert!(silent.is_err(), "{direction:?}: something came");
        assert_eq!(proxy.counts().response_bytes, before.response_bytes);
        proxy.heal();
        client.read_exact(&mut answer).await.unwrap();
        assert_eq!((&answer, proxy.counts().stalled), (b"two", 0), "{direction:?}");
    }

    // The end of a client is counted, but not forwarded to the server.
    proxy.inject(NetworkFault::stall(Direction::Both));
    proxy.stalled(1).await;
    drop(client);
    proxy.client_closed(1).await;
    assert!(ends.try_recv().is_err());
    assert_eq!(proxy.counts().open, 1);
    proxy.heal();
    assert_eq!(ends.recv().await.unwrap(), Ok(()));
}

#[tokio::test(start_paused = true)]
async fn a_response_trickles_by_tokios_clock() {
    let proxy = FaultProxy::start(echo().await.0).await.unwrap();
    proxy.inject_on_connect(NetworkFault::trickle(2, Duration::from_secs(10)));
    let mut client = TcpStream::connect(proxy.address()).await.unwrap();
    let begun = Instant::now();
    assert_eq!(exchange(&mut client, b"abcdefgh").await, b"abcdefgh");
    assert!(begun.elapsed() >= Duration::from_secs(30), "{:?}: four chunks, three waits", begun.elapsed());
}

#[tokio::test]
async fn a_stopped_proxy_leaves_nothing_behind() {
    let (server, mut ends) = echo().await;
    let proxy = FaultProxy::start(server).await.unwrap();
    let mut client = TcpStream::connect(proxy.address()).await.unwrap();
    exchange(&mut client, b"x").await;
    proxy.inject(NetworkFault::stall(Direction::Both));
    let address = proxy.address();
    proxy.stop().await;
    assert_eq!(client.read_u8().await.unwrap_err().kind(), ErrorKind::ConnectionReset);
    assert_eq!(ends.recv().await.unwrap(), Err(ErrorKind::ConnectionReset));
    assert_eq!(TcpStream::connect(address).await.unwrap_err().kind(), ErrorKind::ConnectionRefused);
}

#[tokio::test]
async fn an_unreachable_server_is_a_reset() {
    let gone = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let proxy = FaultProxy::start(gone).await.unwrap();
    let mut client = TcpStream::connect(proxy.address()).await.unwrap();
    assert_eq!(client.read_u8().await.unwrap_err().kind(), ErrorKind::ConnectionReset);
}

#[tokio::test]
async fn a_kubeconfig_connects_through_the_proxy() {
    let cluster = TestCluster::start().await.unwrap();
    let proxy = FaultProxy::start(cluster.server().address()).await.unwrap();
    let path = cluster.kubeconfig_through(&proxy).await.unwrap();
    let (text, own) = (
        std::fs::read_to_string(&path).unwrap(),
        std::fs::read_to_string(cluster.kubeconfig_path()).unwrap(),
    );
    assert_eq!(text, own.replace(cluster.url(), &format!("https://{}", proxy.address())));
    assert_ne!(text, own);
    proxy.stop().await;
    cluster.stop().await;
    assert!(!path.exists());
}
