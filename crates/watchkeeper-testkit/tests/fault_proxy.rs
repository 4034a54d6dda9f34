//! A fault proxy before a server that says what it was told.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::time::Instant;
use watchkeeper_testkit::{FaultProxy, TestCluster, Trouble, Way};

/// Sends back what it gets, and tells how each connection has ended.
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
async fn what_is_passed_on_is_what_came_and_is_counted() {
    let (server, mut ends) = echo().await;
    let proxy = FaultProxy::start(server).await.unwrap();
    assert_ne!(proxy.address(), server);
    let mut client = TcpStream::connect(proxy.address()).await.unwrap();
    let big: Vec<u8> = (0..3_000_000u32).map(|number| (number % 251) as u8).collect();
    let (mut read, mut write) = client.split();
    let mut back = Vec::new();
    let send = async {
        write.write_all(&big).await.unwrap();
        write.shutdown().await.unwrap(); // the other way stays open
    };
    let (_, received) = tokio::join!(send, read.read_to_end(&mut back));
    received.unwrap();
    assert!(back == big);
    assert_eq!(ends.recv().await.unwrap(), Ok(()));
    proxy.until(|counts| counts.open == 0).await;
    let counts = proxy.counts();
    assert_eq!((counts.connections, counts.hung_up, counts.struck), (1, 1, 0));
    assert_eq!((counts.request_bytes, counts.answer_bytes), (3_000_000, 3_000_000));
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
async fn a_reset_comes_after_exactly_so_many_bytes_and_reaches_both_sides() {
    let (server, mut ends) = echo().await;
    let proxy = FaultProxy::start(server).await.unwrap();
    proxy.to_come(Trouble::reset().after(4).times(1));
    let mut client = TcpStream::connect(proxy.address()).await.unwrap();
    client.write_all(b"abcdefgh").await.unwrap();
    let mut got = Vec::new();
    let error = client.read_to_end(&mut got).await.unwrap_err();
    assert_eq!((error.kind(), got.as_slice()), (ErrorKind::ConnectionReset, b"abcd".as_slice()));
    assert_eq!(ends.recv().await.unwrap(), Err(ErrorKind::ConnectionReset));
    proxy.struck(1).await;
    let mut spared = TcpStream::connect(proxy.address()).await.unwrap();
    assert_eq!(exchange(&mut spared, b"abcdefgh").await, b"abcdefgh");

    // Of a connection that is open, bytes count from now on.
    assert_eq!(proxy.now(Trouble::reset().after(2)), 1);
    spared.write_all(b"abcdefgh").await.unwrap();
    got.clear();
    spared.read_to_end(&mut got).await.unwrap_err();
    assert_eq!(got, b"ab");
}

#[tokio::test]
async fn a_cut_is_a_clean_end_after_so_many_bytes() {
    let (server, mut ends) = echo().await;
    let proxy = FaultProxy::start(server).await.unwrap();
    proxy.to_come(Trouble::cut().after(3));
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
async fn a_stalled_connection_is_silent_and_goes_on_where_it_stood_once_healed() {
    let (server, mut ends) = echo().await;
    let proxy = FaultProxy::start(server).await.unwrap();
    let mut client = TcpStream::connect(proxy.address()).await.unwrap();
    assert_eq!(exchange(&mut client, b"one").await, b"one");
    for (way, goes_up) in [(Way::Both, false), (Way::Requests, false), (Way::Answers, true)] {
        let before = proxy.counts();
        proxy.now(Trouble::stall(way));
        proxy.stalled(1).await;
        client.write_all(b"two").await.unwrap();
        if goes_up {
            proxy.until(|counts| counts.request_bytes == before.request_bytes + 3).await;
        }
        let mut answer = [0; 3];
        tokio::time::pause(); // nobody waits in vain
        let silent = tokio::time::timeout(Duration::from_secs(60), client.read_exact(&mut answer)).await;
        tokio::time::resume();
        assert!(silent.is_err(), "{way:?}: something came");
        assert_eq!(proxy.counts().answer_bytes, before.answer_bytes);
        proxy.heal();
        client.read_exact(&mut answer).await.unwrap();
        assert_eq!((&answer, proxy.counts().stalled), (b"two", 0), "{way:?}");
    }

    // A client that gives up is noticed, but the server is not told.
    proxy.now(Trouble::stall(Way::Both));
    proxy.stalled(1).await;
    drop(client);
    proxy.hung_up(1).await;
    assert!(ends.try_recv().is_err());
    assert_eq!(proxy.counts().open, 1);
    proxy.heal();
    assert_eq!(ends.recv().await.unwrap(), Ok(()));
}

#[tokio::test(start_paused = true)]
async fn an_answer_trickles_by_the_clock_of_tokio() {
    let proxy = FaultProxy::start(echo().await.0).await.unwrap();
    proxy.to_come(Trouble::trickle(2, Duration::from_secs(10)));
    let mut client = TcpStream::connect(proxy.address()).await.unwrap();
    let begun = Instant::now();
    assert_eq!(exchange(&mut client, b"abcdefgh").await, b"abcdefgh");
    assert!(
        begun.elapsed() >= Duration::from_secs(30),
        "{:?}: four times two, thrice waited",
        begun.elapsed()
    );
}

#[tokio::test]
async fn a_proxy_that_is_stopped_leaves_nothing() {
    let (server, mut ends) = echo().await;
    let proxy = FaultProxy::start(server).await.unwrap();
    let mut client = TcpStream::connect(proxy.address()).await.unwrap();
    exchange(&mut client, b"x").await;
    proxy.now(Trouble::stall(Way::Both));
    let address = proxy.address();
    proxy.stop().await;
    assert_eq!(client.read_u8().await.unwrap_err().kind(), ErrorKind::ConnectionReset);
    assert_eq!(ends.recv().await.unwrap(), Err(ErrorKind::ConnectionReset));
    assert_eq!(TcpStream::connect(address).await.unwrap_err().kind(), ErrorKind::ConnectionRefused);
}

#[tokio::test]
async fn a_server_that_is_not_there_is_a_reset() {
    let gone = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let proxy = FaultProxy::start(gone).await.unwrap();
    let mut client = TcpStream::connect(proxy.address()).await.unwrap();
    assert_eq!(client.read_u8().await.unwrap_err().kind(), ErrorKind::ConnectionReset);
}

#[tokio::test]
async fn a_kubeconfig_leads_through_the_proxy() {
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
