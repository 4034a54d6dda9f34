//! A server over HTTP.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

mod discovery;
mod encodings;
mod identity;
mod kubelet;
mod start;
mod versions;
mod watches;
#[path = "../world/mod.rs"]
mod world;

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use serde_json::{Value, json};
use watchkeeper_core::Encoded;
use watchkeeper_wire::Kind;
use watchkeeper_wire::protobuf::Envelope;
use watchkeeper_wire::transcode::{self, Types};

use world::World;

const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";

impl World {
    async fn bytes(&self, path: &str, accept: &str) -> (StatusCode, HeaderMap, Bytes) {
        let (head, body) = self.send("GET", path, &[("accept", accept)], String::new()).await.into_parts();
        (head.status, head.headers, body.collect().await.unwrap().to_bytes())
    }

    async fn get(&self, path: &str, accept: &str) -> (u16, Value) {
        let (code, _, body) = self.bytes(path, accept).await;
        (
            code.as_u16(),
            serde_json::from_slice(&body)
                .unwrap_or_else(|_| String::from_utf8_lossy(&body).into_owned().into()),
        )
    }

    async fn write(&self, method: &str, path: &str, body: Value) -> (u16, Value) {
        let headers = match method {
            "PATCH" => [("content-type", "application/merge-patch+json")],
            _ => [("content-type", "application/json")],
        };
        let text = if body.is_null() { String::new() } else { body.to_string() };
        let (head, body) = self.send(method, path, &headers, text).await.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        (
            head.status.as_u16(),
            serde_json::from_slice(&body)
                .unwrap_or_else(|_| String::from_utf8_lossy(&body).into_owned().into()),
        )
    }

    /// Creates three config maps, and returns the version of the last.
    async fn maps() -> (Self, String) {
        let world = Self::start().await;
        let mut version = String::new();
        for name in ["a", "b", "c"] {
            let map = json!({"metadata": {"name": name, "labels": {"name": name}}, "data": {"k": name}});
            let (code, stored) = world.write("POST", MAPS, map).await;
            assert_eq!(
                (code, &stored["kind"], &stored["apiVersion"]),
                (201, &json!("ConfigMap"), &json!("v1"))
            );
            version = stored["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
        }
        (world, version)
    }

    async fn watch(&self, query: &str, accept: &str) -> Lines {
        let response = self
            .send("GET", &format!("{MAPS}?watch=true&{query}"), &[("accept", accept)], String::new())
            .await;
        assert_eq!(response.status(), StatusCode::OK);
        Lines { body: response.into_body(), read: Vec::new() }
    }
}

/// The events of a watch.
struct Lines {
    body: Incoming,
    read: Vec<u8>,
}

impl Lines {
    /// Reads more bytes; returns false at the end.
    async fn more(&mut self) -> bool {
        match self.body.frame().await {
            Some(frame) => {
                self.read.extend_from_slice(frame.unwrap().data_ref().unwrap());
                true
            }
            None => false,
        }
    }

    async fn json(&mut self) -> Option<Value> {
        loop {
            if let Some(end) = self.read.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.read.drain(..=end).collect();
                return Some(serde_json::from_slice(&line).unwrap());
            }
            if !self.more().await {
                return None;
            }
        }
    }

    async fn message(&mut self) -> Vec<u8> {
        loop {
            if let Some(head) = self.read.first_chunk::<4>() {
                let length = u32::from_be_bytes(*head) as usize;
                if self.read.len() >= 4 + length {
                    return self.read.drain(..4 + length).skip(4).collect();
                }
            }
            assert!(self.more().await, "the watch has ended");
        }
    }
}

fn names(list: &Value) -> Vec<&str> {
    list["items"].as_array().unwrap().iter().map(|item| item["metadata"]["name"].as_str().unwrap()).collect()
}

fn decoded(body: &[u8], kind: &Kind) -> Value {
    let envelope = Envelope::open(body).unwrap();
    let mut out = Vec::new();
    transcode::to_json(&Encoded::protobuf(envelope.message), kind, Types::Omitted, &mut out).unwrap();
    serde_json::from_slice(&out).unwrap()
}
