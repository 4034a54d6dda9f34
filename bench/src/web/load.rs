//! Load: connections that ask the same again and again.

use std::time::{Duration, Instant};

use bytes::Bytes;
use http::header::HOST;
use http::{Request, StatusCode};
use http_body_util::{BodyExt as _, Empty};
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::Served;
use crate::server::{Outcome, Usage};

/// What is asked.
#[derive(Debug, Clone, Copy)]
pub struct Question {
    /// Path and query.
    pub path: &'static str,
    /// How many objects the answer has.
    pub objects: usize,
}

/// What came of it.
#[derive(Debug, Clone, Copy)]
pub struct Answered {
    /// Answers.
    pub answers: usize,
    /// Bytes of one.
    pub bytes: usize,
    /// How long it took.
    pub wall: Duration,
    /// What it cost the program and the loader.
    pub usage: Usage,
}

impl Answered {
    /// Answers a second.
    pub fn rate(&self) -> f64 {
        self.answers as f64 / self.wall.as_secs_f64()
    }
}

impl Question {
    /// Asks over so many connections for so long (Y1).
    ///
    /// # Errors
    /// Where an answer is not what it should be (Y2).
    pub async fn ask(self, served: &Served, connections: usize, lasts: Duration) -> Outcome<Answered> {
        let mut opened = Vec::new();
        for _ in 0..connections {
            let mut connection = open(served.address()).await?;
            let bytes = self.check(&mut connection, served.address()).await?;
            opened.push((connection, bytes));
        }
        let before = Usage::now(&[served.pid()])?;
        let (begun, mut workers) = (Instant::now(), JoinSet::new());
        let mut one = 0;
        for (mut connection, bytes) in opened {
            one = bytes;
            let address = served.address().to_owned();
            workers.spawn(async move {
                let mut answers = 0;
                while begun.elapsed() < lasts {
                    let mut body = send(&mut connection, &address, self.path).await?;
                    let mut length = 0;
                    while let Some(frame) = body.frame().await {
                        length += frame?.data_ref().map_or(0, Bytes::len);
                    }
                    if length != bytes {
                        return Err(format!("{}: {length} bytes after {bytes}", self.path).into());
                    }
                    answers += 1;
                }
                Ok(answers)
            });
        }
        let mut answers = 0;
        while let Some(worker) = workers.join_next().await {
            let counted: Outcome<usize> = worker?;
            answers += counted?;
        }
        let wall = begun.elapsed();
        Ok(Answered { answers, bytes: one, wall, usage: Usage::now(&[served.pid()])? - before })
    }

    /// Asks once, counts the objects, and returns how long the answer was.
    async fn check(self, connection: &mut Sender, address: &str) -> Outcome<usize> {
        #[derive(Deserialize)]
        struct Envelope<'a> {
            #[serde(borrow)]
            data: Vec<&'a RawValue>,
        }
        let body = send(connection, address, self.path).await?.collect().await?.to_bytes();
        let envelope: Envelope<'_> = serde_json::from_slice(&body)?;
        match envelope.data.len() == self.objects {
            true => Ok(body.len()),
            false => {
                Err(format!("{address}{}: {} objects, not {}", self.path, envelope.data.len(), self.objects)
                    .into())
            }
        }
    }
}

type Sender = SendRequest<Empty<Bytes>>;

async fn open(address: &str) -> Outcome<Sender> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection); // it ends with its sender; what goes wrong the requests say
    Ok(sender)
}

async fn send(connection: &mut Sender, address: &str, path: &str) -> Outcome<hyper::body::Incoming> {
    connection.ready().await?;
    let request = Request::get(path).header(HOST, address).body(Empty::new())?;
    let answer = connection.send_request(request).await?;
    match answer.status() {
        StatusCode::OK => Ok(answer.into_body()),
        code => {
            let text = answer.into_body().collect().await?.to_bytes();
            Err(format!("{address}{path}: {code}: {}", String::from_utf8_lossy(&text)).into())
        }
    }
}
