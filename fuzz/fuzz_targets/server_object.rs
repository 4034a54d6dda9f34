//! Writes of the API server: an object of any kind is decoded, defaulted, validated, stored, printed, patched and
//! deleted, or rejected, without a panic. Sending an accepted object again changes nothing.
//!
//! The first byte chooses the resource, the second one the patch type; an object follows, and after a line
//! break a patch.

#![no_main]

use std::sync::{Arc, LazyLock};

use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use watchkeeper_apiserver::http::{
    DeleteOptions, FieldValidation, MediaType, PatchType, User, WriteOptions, decode_object,
};
use watchkeeper_apiserver::print::Printer;
use watchkeeper_apiserver::registry;
use watchkeeper_apiserver::store::MemoryStore;
use watchkeeper_apiserver::write::{Call, ResponseBody, Writer};
use watchkeeper_core::Timestamp;

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    tokio::runtime::Builder::new_current_thread().enable_time().build().expect("failed to build the runtime")
});

fuzz_target!(|data: &[u8]| {
    let [choice, patch_type, rest @ ..] = data else { return };
    let rows: Vec<_> = registry::builtin().iter().filter(|row| row.storage.is_some()).collect();
    let resource = rows[usize::from(*choice) % rows.len()];
    let (object, patch) = match rest.iter().position(|byte| *byte == b'\n') {
        Some(at) => (&rest[..at], &rest[at + 1..]),
        None => (rest, &rest[rest.len()..]),
    };
    let kind = resource.group_version_kind();
    let Ok(decoded) = decode_object(object, MediaType::JSON, &kind, FieldValidation::Ignore) else { return };
    RUNTIME.block_on(async {
        let writer = Writer::new(Arc::new(MemoryStore::default()));
        let (user, options) = (User::default(), WriteOptions::default());
        let namespaces = registry::builtin().get("", "v1", "namespaces").expect("namespaces are built in");
        let cluster =
            Call { resource: namespaces, subresource: None, namespace: None, name: None, user: &user };
        let namespace = json!({"metadata": {"name": "default"}});
        writer.create(&cluster, namespace, &options).await.expect("failed to create the namespace");

        let namespace = resource.is_namespaced().then_some("default");
        let all = Call { resource, subresource: None, namespace, name: None, user: &user };
        let Ok(written) = writer.create(&all, decoded.value, &options).await else { return };
        let ResponseBody::Stored(stored) = written.body else { return };
        let value: Value =
            serde_json::from_slice(&stored.object().encoded.body).expect("stored objects are JSON");
        let now = Timestamp { seconds: 1_700_000_000, nanos: 0 };
        let _ =
            serde_json::to_vec(&Printer::new(resource, now).object(&value)).expect("a table can be encoded");

        let name = stored.object().metadata.key().name().to_owned();
        let one = Call { name: Some(&name), ..all };
        if let Ok(again) = writer.update(&one, value, &options).await
            && let ResponseBody::Stored(again) = again.body
        {
            assert_eq!(
                again.object().metadata.resource_version(),
                stored.object().metadata.resource_version(),
                "{kind:?}"
            );
        }
        let patch_type =
            [PatchType::Json, PatchType::Merge, PatchType::Strategic][usize::from(*patch_type) % 3];
        let _ = writer.patch(&one, patch_type, patch.to_vec().into(), &options).await;
        let _ = writer.delete(&one, &DeleteOptions::default()).await;
    });
});
