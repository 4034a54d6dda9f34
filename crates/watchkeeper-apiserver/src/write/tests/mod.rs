//! Writing, over an in-memory store.

mod admission;
mod applied;
mod canonical;
mod create;
mod custom;
mod delete;
mod namespace;
mod patch;
mod race;
mod service;
mod subresource;
mod update;

use std::sync::{Arc, LazyLock};

use crate::http::{DeleteOptions, ListOptions, PatchType, Propagation, Query, User, WriteOptions};
use crate::read::{Reader, Scope, View};
use crate::registry::{self, Resource};
use crate::store::{MemoryStore, Revision, Store, Stored};
use serde_json::{Value, json};
use watchkeeper_core::Status;

use super::{Call, ResponseBody, WriteResponse, Writer};

/// A writer with a namespace `default`. Paths are `configmaps/a` or `pods/a/status`.
pub(super) struct Server {
    writer: Writer,
    store: Arc<dyn Store>,
    dry: bool,
}

/// The response to a write.
#[derive(Debug)]
pub(super) struct Reply {
    code: u16,
    body: Value,
    warnings: Vec<String>,
}

impl Server {
    async fn start() -> Self {
        Self::with(Arc::new(MemoryStore::default())).await
    }

    async fn with(store: Arc<dyn Store>) -> Self {
        let server = Self { writer: Writer::new(store.clone()), store, dry: false };
        server.post("namespaces", json!({"metadata": {"name": "default"}})).await.unwrap();
        server
    }

    fn dry(&self) -> Self {
        Self { writer: self.writer.clone(), store: self.store.clone(), dry: true }
    }

    fn options(&self) -> WriteOptions {
        WriteOptions { dry_run: self.dry, ..Default::default() }
    }

    async fn post(&self, path: &str, body: Value) -> Result<Reply, Status> {
        self.post_in("default", path, body).await
    }

    async fn post_in(&self, namespace: &str, path: &str, body: Value) -> Result<Reply, Status> {
        reply_of(self.writer.create(&call(namespace, path), body, &self.options()).await)
    }

    async fn put(&self, path: &str, body: Value) -> Result<Reply, Status> {
        reply_of(self.writer.update(&call("default", path), body, &self.options()).await)
    }

    async fn patch(&self, path: &str, form: PatchType, patch: Value) -> Result<Reply, Status> {
        self.patch_with(path, form, &patch.to_string(), &self.options()).await
    }

    async fn patch_with(
        &self,
        path: &str,
        form: PatchType,
        patch: &str,
        options: &WriteOptions,
    ) -> Result<Reply, Status> {
        let patch = patch.to_owned().into();
        reply_of(self.writer.patch(&call("default", path), form, patch, options).await)
    }

    async fn delete(&self, path: &str) -> Result<Reply, Status> {
        self.delete_with(path, DeleteOptions::default()).await
    }

    async fn delete_with(&self, path: &str, options: DeleteOptions) -> Result<Reply, Status> {
        let options = DeleteOptions { dry_run: self.dry, ..options };
        reply_of(self.writer.delete(&call("default", path), &options).await)
    }

    async fn delete_all(&self, path: &str, query: &str) -> Result<Reply, Status> {
        let list = ListOptions::read(&Query::parse(query)).unwrap();
        let call = call("default", path);
        let resource = registry::builtin().iter().find(|row| row.name == path).unwrap().clone();
        let view = View::of(registry::builtin(), &resource);
        let scope = Scope { resource, namespace: call.namespace.map(str::to_owned), name: None, view };
        let page = Reader::new(self.store.clone()).list(&scope, &list).await?;
        self.writer.delete_collection(&call, &page.items, &DeleteOptions::default()).await?;
        let read =
            |stored: &Arc<Stored>| serde_json::from_slice::<Value>(&stored.object().encoded.body).unwrap();
        Ok(Reply { code: 200, body: page.items.iter().map(read).collect(), warnings: Vec::new() })
    }

    /// Returns the stored object at a path.
    async fn stored(&self, path: &str) -> Option<Value> {
        let call = call("default", path);
        let stored = self.store.get(&call.collection().unwrap(), &call.key().unwrap()).await.unwrap()?;
        Some(serde_json::from_slice(&stored.object().encoded.body).unwrap())
    }

    async fn revision(&self) -> Revision {
        self.store.current().await.unwrap()
    }
}

fn resource(name: &str) -> &'static Resource {
    registry::builtin().iter().find(|row| row.name == name).unwrap()
}

fn user() -> &'static User {
    static USER: LazyLock<User> = LazyLock::new(|| User::new("me", ["us"]));
    &USER
}

fn call<'a>(namespace: &'a str, path: &'a str) -> Call<'a> {
    let mut parts = path.split('/');
    let resource = resource(parts.next().unwrap());
    let name = parts.next();
    let namespace = Some(namespace).filter(|_| resource.is_namespaced());
    Call { resource, name, subresource: parts.next(), namespace, user: user() }
}

fn reply_of(written: Result<WriteResponse, Status>) -> Result<Reply, Status> {
    let read = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).unwrap();
    written.map(|WriteResponse { code, body, warnings }| {
        let body = match body {
            ResponseBody::Stored(stored) => read(&stored.object().encoded.body),
            ResponseBody::Value(value) => value,
            ResponseBody::Status(status) => serde_json::to_value(status).unwrap(),
        };
        Reply { code, body, warnings }
    })
}

fn config_map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"k": "v"}})
}

fn held_config_map(name: &str) -> Value {
    json!({"metadata": {"name": name, "finalizers": ["example.com/hold"]}, "data": {"k": "v"}})
}

fn deployment(name: &str) -> Value {
    json!({
        "metadata": {"name": name},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "c", "image": "i:1"}]},
            },
        },
    })
}

fn pod(name: &str) -> Value {
    json!({"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i:1"}]}})
}

fn bound_pod(name: &str) -> Value {
    let mut pod = pod(name);
    pod["spec"]["nodeName"] = "n1".into();
    pod
}

fn propagation(how: Propagation) -> DeleteOptions {
    DeleteOptions { propagation: Some(how), ..Default::default() }
}

fn grace(seconds: i64) -> DeleteOptions {
    DeleteOptions { grace_period_seconds: Some(seconds), ..Default::default() }
}
