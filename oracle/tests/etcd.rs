//! The etcd client and the etcd source against a real etcd. Expected values come from etcd's JSON gateway, without any
//! Watchkeeper code.

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

/// Time limit of every wait.
const LIMIT: Duration = Duration::from_secs(60);

/// Key to create revision, mod revision and value.
type Keys = BTreeMap<String, (String, String, String)>;

fn client(server: &EtcdServer) -> Etcd {
    Etcd::builder([server.url()]).build().unwrap()
}

/// Waits for a future with a time limit.
async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(LIMIT, future).await.unwrap_or_else(|_| panic!("{what}: timed out after {LIMIT:?}"))
}

/// Writes a JSON value, and returns the revision.
async fn put(etcd: &Etcd, key: &str, turn: u64) -> u64 {
    let value = json!({ "turn": turn }).to_string();
    let written = etcd.put(Put::new(key.to_owned(), value)).await.unwrap();
    u64::try_from(written.header.revision).unwrap()
}

/// Sends a request to the JSON gateway.
async fn post(server: &EtcdServer, path: &str, token: &str, body: &Value) -> Value {
    let response = server.post(path, token, body.to_string()).await.unwrap();
    assert!(response.status().is_success(), "{path} {body}: {response:?}");
    serde_json::from_slice(response.body()).unwrap()
}

/// Reads the keys below `/c/` at a revision through the JSON gateway; 0 is the newest revision.
async fn gateway_range(server: &EtcdServer, revision: u64) -> Keys {
    let encode = |text: &str| STANDARD.encode(text);
    let body = json!({ "key": encode("/c/"), "range_end": encode("/c0"), "revision": revision.to_string() });
    let response = post(server, "/v3/kv/range", "", &body).await;
    let decode = |text: &Value| {
        String::from_utf8(STANDARD.decode(text.as_str().unwrap_or_default()).unwrap()).unwrap()
    };
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let kvs = response["kvs"].as_array().cloned().unwrap_or_default();
    kvs.iter()
        .map(|kv| {
            let key = decode(&kv["key"]).strip_prefix("/c/").unwrap().to_owned();
            (key, (text(&kv["create_revision"]), text(&kv["mod_revision"]), decode(&kv["value"])))
        })
        .collect()
}

/// Converts objects to the same form.
fn keys_of<'a>(objects: impl IntoIterator<Item = &'a Object>) -> Keys {
    let row = |object: &Object| {
        let body = String::from_utf8(object.encoded.body.to_vec()).unwrap();
        let metadata = &object.metadata;
        let version = metadata.resource_version().to_string();
        (metadata.key().to_string(), (metadata.uid().to_owned(), version, body))
    };
    objects.into_iter().map(row).collect()
}
