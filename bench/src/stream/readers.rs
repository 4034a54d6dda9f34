//! Readers: clients that each follow a stream and record the latency of updates.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::now_micros;
use crate::server::Outcome;

/// The text before the timestamp in a row.
const TIMESTAMP: &[u8] = br#""written":""#;
/// The event after the initial rows.
const SYNCED: &[u8] = b"event: synced";

/// An open stream.
#[derive(Debug)]
pub struct Reader {
    connection: TcpStream,
    /// The end of the data read so far, which may contain an incomplete row.
    tail: Vec<u8>,
    /// Number of bytes received.
    pub bytes: usize,
}

/// Open streams, each read by its own task.
#[derive(Debug, Default)]
pub struct Readers {
    tasks: JoinSet<()>,
    latencies: Arc<Mutex<Vec<Duration>>>,
}

impl Reader {
    /// Opens a stream with one subscription, given as JSON, and reads the initial rows.
    ///
    /// # Errors
    /// If the request fails or the stream ends.
    pub async fn open(address: &str, subscription: &str) -> Outcome<Self> {
        let escaped: String = subscription.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let request = format!("GET /v1/stream?sub={escaped} HTTP/1.1\r\nHost: {address}\r\n\r\n");
        let mut connection = TcpStream::connect(address).await?;
        connection.write_all(request.as_bytes()).await?;
        let mut reader = Self { connection, tail: Vec::new(), bytes: 0 };
        let mut has_status = false;
        loop {
            let is_synced = find(&reader.tail, SYNCED).is_some();
            if !has_status && !reader.tail.is_empty() {
                if !reader.tail.starts_with(b"HTTP/1.1 200") {
                    return Err(String::from_utf8_lossy(&reader.tail).into());
                }
                has_status = true;
            }
            if is_synced {
                return Ok(reader);
            }
            if reader.read().await? == 0 {
                return Err("the stream ended before the initial rows were complete".into());
            }
        }
    }

    /// Reads the next chunk. Of the data before it, keeps only the last 64 bytes, which may be an incomplete match.
    async fn read(&mut self) -> Outcome<usize> {
        let keep = self.tail.len().saturating_sub(64);
        self.tail.drain(..keep);
        let read = self.connection.read_buf(&mut self.tail).await?;
        self.bytes += read;
        Ok(read)
    }

    /// Reads until the stream ends, and records the latency of every row.
    async fn follow(mut self, latencies: &Mutex<Vec<Duration>>) {
        loop {
            let now = now_micros();
            let mut from = 0;
            let mut seen = Vec::new();
            while let Some(at) = find(&self.tail[from..], TIMESTAMP) {
                let digits = &self.tail[from + at + TIMESTAMP.len()..];
                let Some(end) = digits.iter().position(|byte| *byte == b'"') else { break };
                let written = std::str::from_utf8(&digits[..end]).ok().and_then(|text| text.parse().ok());
                seen.extend(written.map(|written| Duration::from_micros(now.saturating_sub(written))));
                from += at + TIMESTAMP.len() + end;
            }
            self.tail.drain(..from);
            latencies.lock().append(&mut seen);
            if !matches!(self.read().await, Ok(1..)) {
                return;
            }
        }
    }
}

impl Readers {
    /// Reads a stream in a new task.
    pub fn add(&mut self, reader: Reader) {
        let latencies = Arc::clone(&self.latencies);
        self.tasks.spawn(async move { reader.follow(&latencies).await });
    }

    /// Returns the number of rows with a timestamp received so far.
    pub fn count(&self) -> usize {
        self.latencies.lock().len()
    }

    /// Closes all streams. Returns the latencies of all rows received.
    pub async fn stop(mut self) -> Vec<Duration> {
        self.tasks.shutdown().await;
        std::mem::take(&mut *self.latencies.lock())
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
