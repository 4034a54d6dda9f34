//! A server with scripted reactions.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use watchkeeper_client::Config;
use watchkeeper_client::config::Proxy;

/// The server's reaction to a request.
#[derive(Clone)]
pub(crate) enum Act {
    /// Sends these bytes and closes the connection.
    Send(Vec<u8>),
    /// Resets the connection.
    Reset,
    /// Sends the first bytes, then repeats the second until the client stops reading.
    Repeat(Vec<u8>, Vec<u8>),
    /// Never responds.
    Hang,
}

/// A response with a content length, after which the connection is closed.
pub(crate) fn response(code: u16, headers: &str, body: impl AsRef<[u8]>) -> Act {
    let body = body.as_ref();
    let length = body.len();
    let head = format!("HTTP/1.1 {code} X\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n");
    Act::Send([head.as_bytes(), body].concat())
}

/// A plain HTTP/1.1 server.
pub(crate) struct Scripted {
    pub(crate) address: SocketAddr,
    requests: Arc<AtomicUsize>,
    sent: Arc<AtomicUsize>,
}

impl Scripted {
    /// Performs one act per request, and repeats the last one.
    pub(crate) async fn start(acts: Vec<Act>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (requests, sent) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (count, bytes) = (requests.clone(), sent.clone());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (acts, count, bytes) = (acts.clone(), count.clone(), bytes.clone());
                tokio::spawn(serve(stream, acts, count, bytes));
            }
        });
        Self { address, requests, sent }
    }

    /// Returns the number of requests received.
    pub(crate) fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }

    /// Returns the number of repeated bytes sent.
    pub(crate) fn sent(&self) -> usize {
        self.sent.load(Ordering::SeqCst)
    }

    pub(crate) fn config(&self) -> Config {
        plain(self.address)
    }
}

/// A config for a plain HTTP server.
pub(crate) fn plain(address: SocketAddr) -> Config {
    let mut config = Config::new(format!("http://{address}").parse().unwrap());
    config.proxy = Proxy::Direct;
    config
}

async fn serve(mut stream: TcpStream, acts: Vec<Act>, count: Arc<AtomicUsize>, sent: Arc<AtomicUsize>) {
    if !read_request(&mut stream).await {
        return;
    }
    let number = count.fetch_add(1, Ordering::SeqCst);
    match &acts[number.min(acts.len() - 1)] {
        Act::Send(bytes) => {
            let _ = stream.write_all(bytes).await; // the client may be gone
            let _ = stream.shutdown().await;
            while stream.read(&mut [0; 1024]).await.is_ok_and(|count| count > 0) {}
        }
        Act::Repeat(head, piece) => {
            let _ = stream.write_all(head).await;
            while stream.write_all(piece).await.is_ok() {
                sent.fetch_add(piece.len(), Ordering::SeqCst);
            }
        }
        Act::Reset => stream.set_zero_linger().unwrap(),
        Act::Hang => std::future::pending().await,
    }
}

/// Reads a request and its body; returns false if there is none.
pub(crate) async fn read_request(stream: &mut (impl AsyncRead + Unpin)) -> bool {
    let mut text = Vec::new();
    loop {
        let mut piece = [0; 4096];
        match stream.read(&mut piece).await {
            Ok(count) if count > 0 => text.extend_from_slice(&piece[..count]),
            _ => return false,
        }
        let Some(end) = text.windows(4).position(|four| four == b"\r\n\r\n") else { continue };
        let head = String::from_utf8_lossy(&text[..end]).to_lowercase();
        let length = head.split("content-length: ").nth(1).and_then(|rest| rest.split("\r\n").next());
        let length: usize = length.map_or(0, |length| length.parse().unwrap());
        if text.len() >= end + 4 + length {
            return true;
        }
    }
}
