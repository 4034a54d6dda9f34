//! Readers: as many as like, each of a stream of its own, who note how old the news is.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::stamp;
use crate::server::Outcome;

/// What stands before a stamp in a row.
const STAMP: &[u8] = br#""written":""#;
/// What says that the initial content has come.
const SYNCED: &[u8] = b"event: synced";

/// One stream that is being read.
#[derive(Debug)]
pub struct Reader {
    connection: TcpStream,
    /// What was read and may hold the beginning of something.
    tail: Vec<u8>,
    /// Bytes that have come.
    pub bytes: usize,
}

/// Streams that are being read, each in a task of its own.
#[derive(Debug, Default)]
pub struct Readers {
    tasks: JoinSet<()>,
    lags: Arc<Mutex<Vec<Duration>>>,
}

impl Reader {
    /// Opens a stream of one subscription, which is JSON, and reads on until its initial content has come.
    ///
    /// # Errors
    /// Where it is not opened, or breaks.
    pub async fn open(address: &str, subscription: &str) -> Outcome<Self> {
        let escaped: String = subscription.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let request = format!("GET /v1/stream?sub={escaped} HTTP/1.1\r\nHost: {address}\r\n\r\n");
        let mut connection = TcpStream::connect(address).await?;
        connection.write_all(request.as_bytes()).await?;
        let mut reader = Self { connection, tail: Vec::new(), bytes: 0 };
        let mut has_begun = false;
        loop {
            let is_synced = find(&reader.tail, SYNCED).is_some();
            if !has_begun && !reader.tail.is_empty() {
                if !reader.tail.starts_with(b"HTTP/1.1 200") {
                    return Err(String::from_utf8_lossy(&reader.tail).into());
                }
                has_begun = true;
            }
            if is_synced {
                return Ok(reader);
            }
            if reader.read().await? == 0 {
                return Err("the stream has ended".into());
            }
        }
    }

    /// Reads what comes next, and keeps of what came before only what may be continued.
    async fn read(&mut self) -> Outcome<usize> {
        let keep = self.tail.len().saturating_sub(64);
        self.tail.drain(..keep);
        let read = self.connection.read_buf(&mut self.tail).await?;
        self.bytes += read;
        Ok(read)
    }

    /// Reads until the stream ends.
    async fn follow(mut self, lags: &Mutex<Vec<Duration>>) {
        loop {
            let now = stamp();
            let mut from = 0;
            let mut seen = Vec::new();
            while let Some(at) = find(&self.tail[from..], STAMP) {
                let digits = &self.tail[from + at + STAMP.len()..];
                let Some(end) = digits.iter().position(|byte| *byte == b'"') else { break };
                let written = std::str::from_utf8(&digits[..end]).ok().and_then(|text| text.parse().ok());
                seen.extend(written.map(|written| Duration::from_micros(now.saturating_sub(written))));
                from += at + STAMP.len() + end;
            }
            self.tail.drain(..from);
            lags.lock().append(&mut seen);
            if !matches!(self.read().await, Ok(1..)) {
                return;
            }
        }
    }
}

impl Readers {
    /// Another that goes on being read.
    pub fn add(&mut self, reader: Reader) {
        let lags = Arc::clone(&self.lags);
        self.tasks.spawn(async move { reader.follow(&lags).await });
    }

    /// How many rows with a stamp have come.
    pub fn count(&self) -> usize {
        self.lags.lock().len()
    }

    /// Ends all of them. How old the news was that came.
    pub async fn stop(mut self) -> Vec<Duration> {
        self.tasks.shutdown().await;
        std::mem::take(&mut *self.lags.lock())
    }
}

fn find(text: &[u8], word: &[u8]) -> Option<usize> {
    let (first, rest) = word.split_first()?;
    let mut from = 0;
    loop {
        let at = from + text[from..].iter().position(|byte| byte == first)?;
        if text[at + 1..].starts_with(rest) {
            return Some(at);
        }
        from = at + 1;
    }
}
