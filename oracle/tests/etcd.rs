//! The etcd client and the etcd source against a real etcd, which is also asked by its JSON gateway, without any of
//! Watchkeeper in between.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "etcd/client.rs"]
mod client;
#[path = "etcd/informer.rs"]
mod informer;
#[path = "etcd/list.rs"]
mod list;
#[path = "etcd/security.rs"]
mod security;

use std::collections::BTreeMap;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use watchkeeper_core::Object;
use watchkeeper_etcd::{Etcd, Put};
use watchkeeper_oracle::EtcdServer;

/// What does not happen by then does not happen.
const LIMIT: Duration = Duration::from_secs(60);

/// Key to create revision, mod revision and value.
type Keys = BTreeMap<String, (String, String, String)>;

fn client(server: &EtcdServer) -> Etcd {
    Etcd::builder([server.url()]).build().unwrap()
}

/// Waits, but not for ever.
async fn soon<T>(what: &str, happens: impl Future<Output = T>) -> T {
    tokio::time::timeout(LIMIT, happens).await.unwrap_or_else(|_| panic!("{what} has not happened"))
}

/// Writes a JSON value and returns the revision.
async fn put(etcd: &Etcd, key: &str, turn: u64) -> u64 {
    let value = json!({ "turn": turn }).to_string();
    let written = etcd.put(Put::new(key.to_owned(), value)).await.unwrap();
    u64::try_from(written.header.revision).unwrap()
}

async fn ask(server: &EtcdServer, path: &str, token: &str, body: &Value) -> Value {
    let answer = server.ask(path, token, body.to_string()).await.unwrap();
    assert!(answer.status().is_success(), "{path} {body}: {answer:?}");
    serde_json::from_slice(answer.body()).unwrap()
}

/// What the gateway says is there, below `/c/` at a revision; 0 for the newest.
async fn gateway_range(server: &EtcdServer, revision: u64) -> Keys {
    let encode = |text: &str| STANDARD.encode(text);
    let body = json!({ "key": encode("/c/"), "range_end": encode("/c0"), "revision": revision.to_string() });
    let answer = ask(server, "/v3/kv/range", "", &body).await;
    let decode = |text: &Value| {
        String::from_utf8(STANDARD.decode(text.as_str().unwrap_or_default()).unwrap()).unwrap()
    };
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let kvs = answer["kvs"].as_array().cloned().unwrap_or_default();
    kvs.iter()
        .map(|kv| {
            let key = decode(&kv["key"]).strip_prefix("/c/").unwrap().to_owned();
            (key, (text(&kv["create_revision"]), text(&kv["mod_revision"]), decode(&kv["value"])))
        })
        .collect()
}

/// The same of objects.
fn held<'a>(objects: impl IntoIterator<Item = &'a Object>) -> Keys {
    let row = |object: &Object| {
        let body = String::from_utf8(object.encoded.body.to_vec()).unwrap();
        let head = &object.metadata;
        (head.key().to_string(), (head.uid().to_owned(), head.resource_version().to_string(), body))
    };
    objects.into_iter().map(row).collect()
}
