//! Server-side apply: field sets are written as they were read; configurations are applied or rejected, between
//! patches by other managers, without a panic. Applying a configuration a third time changes nothing.
//!
//! The first byte chooses the resource. Lines follow; the first byte of a line is its type: `f` for the JSON of
//! `fieldsV1`, `p` for a merge patch, anything else for a configuration, with the field manager and `force` in its bits.

#![no_main]

use std::sync::{Arc, LazyLock};

use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use watchkeeper_apiserver::apply::FieldSet;
use watchkeeper_apiserver::http::{PatchType, User, WriteOptions};
use watchkeeper_apiserver::registry;
use watchkeeper_apiserver::store::MemoryStore;
use watchkeeper_apiserver::write::{Call, ResponseBody, WriteResponse, Writer};
use watchkeeper_core::Status;

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    tokio::runtime::Builder::new_current_thread().enable_time().build().expect("failed to build the runtime")
});

fuzz_target!(|data: &[u8]| {
    let [choice, rest @ ..] = data else { return };
    let rows: Vec<_> = registry::builtin().iter().filter(|row| row.storage.is_some()).collect();
    let resource = rows[usize::from(*choice) % rows.len()];
    let user = User::default();
    RUNTIME.block_on(async {
        let writer = Writer::new(Arc::new(MemoryStore::default()));
        let namespaces = registry::builtin().get("", "v1", "namespaces").expect("namespaces are built in");
        let cluster =
            Call { resource: namespaces, subresource: None, namespace: None, name: None, user: &user };
        let namespace = json!({"metadata": {"name": "default"}});
        let created = writer.create(&cluster, namespace, &WriteOptions::default()).await;
        created.expect("failed to create the namespace");

        let namespace = resource.is_namespaced().then_some("default");
        let one = Call { resource, subresource: None, namespace, name: Some("a"), user: &user };
        for line in rest.split(|byte| *byte == b'\n') {
            let [line_type, body @ ..] = line else { continue };
            let options = |manager: &str, force| WriteOptions {
                field_manager: manager.to_owned(),
                force,
                ..Default::default()
            };
            match line_type {
                b'f' => check_set(body),
                b'p' => {
                    let options = options("patcher", false);
                    let _ = writer.patch(&one, PatchType::Merge, body.to_vec().into(), &options).await;
                }
                bits => {
                    let manager = ["a", "b", "kubectl"][usize::from(bits >> 1) % 3];
                    let options = options(manager, bits & 1 == 1);
                    let apply = || writer.patch(&one, PatchType::Apply, body.to_vec().into(), &options);
                    // The second apply can still change the object: it may remove fields that the server added when
                    // the first one created it, and an object without managers is tracked only from the next apply.
                    let _ = apply().await;
                    let settled = version(apply().await);
                    if let Ok(Some((_, true))) = &settled {
                        assert_eq!(version(apply().await), settled, "{}", resource.kind);
                    }
                }
            }
        }
    });
});

fn check_set(body: &[u8]) {
    let Ok(fields) = serde_json::from_slice::<Value>(body) else { return };
    let Ok(set) = FieldSet::parse(&fields) else { return };
    assert_eq!(FieldSet::parse(&set.json()), Ok(set.clone()));
    assert!(set.paths().iter().all(|path| set.contains(&path.0)));
    assert_eq!(set.difference(&set), FieldSet::default());
}

/// Returns the resource version of the written object and whether it has managed fields; `None` if it was not stored.
fn version(written: Result<WriteResponse, Status>) -> Result<Option<(String, bool)>, Status> {
    match written?.body {
        ResponseBody::Stored(stored) => {
            let object = stored.object();
            let value: Value = serde_json::from_slice(&object.encoded.body).expect("stored objects are JSON");
            let has_managers = value["metadata"].get("managedFields").is_some();
            Ok(Some((object.metadata.resource_version().to_string(), has_managers)))
        }
        _ => Ok(None),
    }
}
