//! A small, strict client of server-sent events.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Time limit of every wait.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// An open stream; dropping it cuts the connection.
pub(crate) struct Reader {
    connection: TcpStream,
    /// Received bytes that are not split into events yet.
    text: Vec<u8>,
    raw: Vec<u8>,
    pub(crate) stream: String,
    pub(crate) resumed: bool,
    /// Number of the last event.
    pub(crate) last: u64,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Event {
    pub(crate) event: String,
    pub(crate) id: String,
    pub(crate) data: Value,
}

impl Reader {
    /// Opens a stream; panics if it is rejected.
    pub(crate) async fn open(server: SocketAddr, query: &str, last: Option<&str>) -> Self {
        match Self::try_open(server, query, last).await {
            Ok(reader) => reader,
            Err((status, body)) => panic!("{status}: {body}"),
        }
    }

    pub(crate) async fn try_open(
        server: SocketAddr,
        query: &str,
        last: Option<&str>,
    ) -> Result<Self, (u16, String)> {
        let last = last.map(|last| format!("Last-Event-ID: {last}\r\n")).unwrap_or_default();
        Self::ask(server, query, &last).await
    }

    /// Opens a stream with these header lines.
    pub(crate) async fn ask(server: SocketAddr, query: &str, lines: &str) -> Result<Self, (u16, String)> {
        let request = format!("GET /v1/stream{query} HTTP/1.1\r\nHost: localhost\r\n{lines}\r\n");
        let mut connection = TcpStream::connect(server).await.unwrap();
        connection.write_all(request.as_bytes()).await.unwrap();
        let (mut text, mut raw, (stream, resumed)) = (Vec::new(), Vec::new(), Default::default());
        let head = loop {
            if let Some(end) = raw.windows(4).position(|window| window == b"\r\n\r\n") {
                let head = String::from_utf8(raw.drain(..end + 4).collect()).unwrap();
                break head.to_lowercase();
            }
            assert!(connection.read_buf(&mut raw).await.unwrap() > 0, "connection closed in the head");
        };
        let status: u16 = head.split(' ').nth(1).unwrap().parse().unwrap();
        if status != 200 {
            let length = head.split("content-length: ").nth(1).unwrap().split("\r\n").next().unwrap();
            while raw.len() < length.parse().unwrap() {
                connection.read_buf(&mut raw).await.unwrap();
            }
            return Err((status, String::from_utf8(raw).unwrap()));
        }
        assert!(head.contains("content-type: text/event-stream\r\n"), "{head}");
        dechunk(&mut raw, &mut text);
        let mut reader = Self { connection, text, raw, stream, resumed, last: 0 };
        let hello = reader.event().await.unwrap();
        assert_eq!(hello.event, "hello");
        reader.stream = hello.data["stream"].as_str().unwrap().to_owned();
        reader.resumed = hello.data["resumed"].as_bool().unwrap();
        reader.last = reader.number(&hello);
        Ok(reader)
    }

    /// Returns the id of the last event.
    pub(crate) fn id(&self) -> String {
        format!("{}.{}", self.stream, self.last)
    }

    /// Waits for the next event, and checks its number. Skips comments.
    pub(crate) async fn next(&mut self) -> Event {
        let mut event = self.event().await.expect("the stream has ended");
        while is_unnumbered(&event.event) {
            event = self.event().await.expect("the stream has ended");
        }
        assert_eq!(self.number(&event), self.last + 1, "an event is missing or repeated: {event:?}");
        self.last += 1;
        event
    }

    /// Reads into a view until an event with this name.
    pub(crate) async fn until(&mut self, name: &str, view: &mut View) -> Event {
        loop {
            let event = self.next().await;
            view.see(&event);
            if event.event == name {
                return event;
            }
        }
    }

    /// Reads until the view satisfies a predicate.
    pub(crate) async fn until_seen(&mut self, view: &mut View, is_it: impl Fn(&View) -> bool) {
        while !is_it(view) {
            let event = self.next().await;
            view.see(&event);
        }
    }

    /// Waits for the next event; `None` at the end.
    pub(crate) async fn event(&mut self) -> Option<Event> {
        loop {
            if let Some(end) = self.text.windows(2).position(|window| window == b"\n\n") {
                let text = String::from_utf8(self.text.drain(..end + 2).collect()).unwrap();
                if text.starts_with(':') {
                    continue;
                }
                let mut lines = text.trim_end().lines();
                let mut field = |name: &str| lines.next().unwrap().strip_prefix(name).unwrap().to_owned();
                let event = field("event: ");
                let id = if is_unnumbered(&event) { String::new() } else { field("id: ") };
                let data = field("data: ");
                assert_eq!(lines.next(), None, "one line of data");
                return Some(Event { event, id, data: serde_json::from_str(&data).unwrap() });
            }
            let read = timeout(PATIENCE, self.connection.read_buf(&mut self.raw)).await;
            match read.expect("nothing comes") {
                Ok(0) | Err(_) => return None,
                Ok(_) if dechunk(&mut self.raw, &mut self.text) => return None,
                Ok(_) => {}
            }
        }
    }

    /// Returns the number of an event in the history of the stream.
    fn number(&self, event: &Event) -> u64 {
        let (stream, number) = event.id.rsplit_once('.').unwrap();
        assert_eq!(stream, self.stream);
        number.parse().unwrap()
    }
}

/// Returns whether events with this name are not part of the history.
fn is_unnumbered(event: &str) -> bool {
    matches!(event, "status" | "ping")
}

/// Decodes complete chunks. Returns whether the last, empty chunk was among them.
fn dechunk(raw: &mut Vec<u8>, text: &mut Vec<u8>) -> bool {
    loop {
        let Some(line) = raw.windows(2).position(|window| window == b"\r\n") else { return false };
        let size = usize::from_str_radix(std::str::from_utf8(&raw[..line]).unwrap(), 16).unwrap();
        if raw.len() < line + 2 + size + 2 {
            return false;
        }
        if size == 0 {
            return true;
        }
        text.extend_from_slice(&raw[line + 2..line + 2 + size]);
        raw.drain(..line + 2 + size + 2);
    }
}

/// The content that a client knows after all events: rows or objects by subscription and key.
#[derive(Debug, Default, PartialEq, Clone)]
pub(crate) struct View {
    pub(crate) subs: BTreeMap<String, BTreeMap<String, Value>>,
    /// Messages of failures, by subscription.
    pub(crate) failed: BTreeMap<String, (u64, String)>,
    pub(crate) synced: BTreeMap<String, u64>,
    pub(crate) columns: BTreeMap<String, Value>,
}

impl View {
    pub(crate) fn see(&mut self, event: &Event) {
        let data = &event.data;
        let sub = data["sub"].as_str().unwrap().to_owned();
        let known = self.subs.entry(sub.clone()).or_default();
        match event.event.as_str() {
            "columns" => drop(self.columns.insert(sub, data["columns"].clone())),
            "reset" => {
                known.clear();
                self.synced.remove(&sub);
            }
            "rows" => {
                let rows = data["rows"].as_array().unwrap();
                assert!(rows.len() + data["gone"].as_array().unwrap().len() <= 500, "a batch is small");
                known.extend(rows.iter().map(|row| (row[0].as_str().unwrap().to_owned(), row.clone())));
                remove(known, data);
            }
            "objects" => {
                let key = |object: &Value| match object["metadata"]["namespace"].as_str() {
                    Some(namespace) => {
                        format!("{namespace}/{}", object["metadata"]["name"].as_str().unwrap())
                    }
                    None => object["metadata"]["name"].as_str().unwrap().to_owned(),
                };
                let objects = data["objects"].as_array().unwrap();
                known.extend(objects.iter().map(|object| (key(object), object.clone())));
                remove(known, data);
            }
            "synced" => {
                let count = data["count"].as_u64().unwrap();
                assert_eq!(count, known.len() as u64, "count differs from what was sent");
                self.synced.insert(sub, count);
            }
            "failed" => {
                let failure =
                    (data["status"].as_u64().unwrap(), data["message"].as_str().unwrap().to_owned());
                self.failed.insert(sub, failure);
            }
            other => panic!("what is {other}?"),
        }
    }

    /// Returns the keys of a subscription.
    pub(crate) fn keys(&self, sub: &str) -> Vec<&str> {
        self.subs.get(sub).into_iter().flatten().map(|(key, _)| key.as_str()).collect()
    }
}

fn remove(known: &mut BTreeMap<String, Value>, data: &Value) {
    for key in data["gone"].as_array().unwrap() {
        assert!(known.remove(key.as_str().unwrap()).is_some(), "{key} is gone, but was never there");
    }
}
