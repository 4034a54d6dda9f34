//! Load: connections that repeat the same request.

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

use super::ServiceProcess;
use crate::server::{Outcome, Usage};

/// The request to send, and the size of its result.
#[derive(Debug, Clone, Copy)]
pub struct Query {
    /// Path and query.
    pub path: &'static str,
    /// Expected number of objects in the response.
    pub objects: usize,
}

/// The result of a run.
#[derive(Debug, Clone, Copy)]
pub struct Measurement {
    /// Number of responses.
    pub responses: usize,
    /// Length of one response body.
    pub bytes: usize,
    /// Elapsed time.
    pub wall: Duration,
    /// CPU time of the service and of the load generator.
    pub usage: Usage,
}

impl Measurement {
    /// Returns the responses per second.
    pub fn rate(&self) -> f64 {
        self.responses as f64 / self.wall.as_secs_f64()
    }
}

impl Query {
    /// Sends the request on `connections` connections until the time is over (`web.W1`).
    ///
    /// # Errors
    /// If a response is not as expected (`web.W2`).
    pub async fn measure(
        self,
        service: &ServiceProcess,
        connections: usize,
        duration: Duration,
    ) -> Outcome<Measurement> {
        let mut opened = Vec::new();
        for _ in 0..connections {
            let mut connection = open(service.address()).await?;
            let bytes = self.check(&mut connection, service.address()).await?;
            opened.push((connection, bytes));
        }
        let before = Usage::now(&[service.pid()])?;
        let (start, mut workers) = (Instant::now(), JoinSet::new());
        let mut length = 0;
        for (mut connection, bytes) in opened {
            length = bytes;
            let address = service.address().to_owned();
            workers.spawn(async move {
                let mut responses = 0;
                while start.elapsed() < duration {
                    let mut body = send(&mut connection, &address, self.path).await?;
                    let mut length = 0;
                    while let Some(frame) = body.frame().await {
                        length += frame?.data_ref().map_or(0, Bytes::len);
                    }
                    if length != bytes {
                        return Err(
                            format!("{}: response of {length} bytes, expected {bytes}", self.path).into()
                        );
                    }
                    responses += 1;
                }
                Ok(responses)
            });
        }
        let mut responses = 0;
        while let Some(worker) = workers.join_next().await {
            let counted: Outcome<usize> = worker?;
            responses += counted?;
        }
        let wall = start.elapsed();
        Ok(Measurement { responses, bytes: length, wall, usage: Usage::now(&[service.pid()])? - before })
    }

    /// Sends the request once, checks the number of objects, and returns the length of the response.
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
            false => Err(format!(
                "{address}{}: {} objects, expected {}",
                self.path,
                envelope.data.len(),
                self.objects
            )
            .into()),
        }
    }
}

type Sender = SendRequest<Empty<Bytes>>;

async fn open(address: &str) -> Outcome<Sender> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection); // ends with its sender; requests return its errors
    Ok(sender)
}

async fn send(connection: &mut Sender, address: &str, path: &str) -> Outcome<hyper::body::Incoming> {
    connection.ready().await?;
    let request = Request::get(path).header(HOST, address).body(Empty::new())?;
    let response = connection.send_request(request).await?;
    match response.status() {
        StatusCode::OK => Ok(response.into_body()),
        code => {
            let text = response.into_body().collect().await?.to_bytes();
            Err(format!("{address}{path}: {code}: {}", String::from_utf8_lossy(&text)).into())
        }
    }
}
