//! Server-side apply: sets of fields are written as they were read; configurations are applied or refused, between
//! patches of other managers, without a panic. What was applied again and is applied once more changes nothing.
//!
//! The first byte chooses the resource. Then come lines, of which the first byte says what follows: `f` the JSON of
//! `fieldsV1`, `p` a merge patch, and anything else a configuration; which manager applies it, and whether by force,
//! is in its bits.

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
    tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime can be had")
});

fuzz_target!(|data: &[u8]| {
    let [which, rest @ ..] = data else { return };
    let rows: Vec<_> = registry::builtin().iter().filter(|row| row.storage.is_some()).collect();
    let resource = rows[usize::from(*which) % rows.len()];
    let user = User::default();
    RUNTIME.block_on(async {
        let writer = Writer::new(Arc::new(MemoryStore::default()));
        let namespaces = registry::builtin().get("", "v1", "namespaces").expect("there are namespaces");
        let cluster =
            Call { resource: namespaces, subresource: None, namespace: None, name: None, user: &user };
        let namespace = json!({"metadata": {"name": "default"}});
        let made = writer.create(&cluster, namespace, &WriteOptions::default()).await;
        made.expect("a namespace can be created");

        let namespace = resource.is_namespaced().then_some("default");
        let one = Call { resource, subresource: None, namespace, name: Some("a"), user: &user };
        for line in rest.split(|byte| *byte == b'\n') {
            let [how, body @ ..] = line else { continue };
            let options = |manager: &str, force| WriteOptions {
                field_manager: manager.to_owned(),
                force,
                ..Default::default()
            };
            match how {
                b'f' => check_set(body),
                b'p' => {
                    let options = options("patcher", false);
                    let _ = writer.patch(&one, PatchType::Merge, body.to_vec().into(), &options).await;
                }
                bits => {
                    let manager = ["a", "b", "kubectl"][usize::from(bits >> 1) % 3];
                    let options = options(manager, bits & 1 == 1);
                    let apply = || writer.patch(&one, PatchType::Apply, body.to_vec().into(), &options);
                    // What creates an object is undone in part where the server adds to it, and of one that
                    // nobody owns anything of, the next apply is the first.
                    let _ = apply().await;
                    let settled = version(apply().await);
                    if let Ok(Some((_, true))) = &settled {
                        assert_eq!(version(apply().await), settled, "of {}", resource.kind);
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

/// The version of what was written, if it is stored, and whether it has managers.
fn version(written: Result<WriteResponse, Status>) -> Result<Option<(String, bool)>, Status> {
    match written?.body {
        ResponseBody::Stored(stored) => {
            let object = stored.object();
            let value: Value = serde_json::from_slice(&object.encoded.body).expect("what is stored is JSON");
            let has_managers = value["metadata"].get("managedFields").is_some();
            Ok(Some((object.metadata.resource_version().to_string(), has_managers)))
        }
        _ => Ok(None),
    }
}
