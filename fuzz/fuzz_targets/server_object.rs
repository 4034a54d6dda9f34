//! The API server's writing: an object of any kind is decoded, completed, checked, stored, printed, patched and
//! deleted, or refused, without a panic. What was taken can be sent again and changes nothing.
//!
//! The first byte chooses the resource, the second the kind of patch; then an object, and after a line
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
    tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime can be had")
});

fuzz_target!(|data: &[u8]| {
    let [which, form, rest @ ..] = data else { return };
    let rows: Vec<_> = registry::builtin().iter().filter(|row| row.storage.is_some()).collect();
    let resource = rows[usize::from(*which) % rows.len()];
    let (object, patch) = match rest.iter().position(|byte| *byte == b'\n') {
        Some(at) => (&rest[..at], &rest[at + 1..]),
        None => (rest, &rest[rest.len()..]),
    };
    let kind = resource.group_version_kind();
    let Ok(decoded) = decode_object(object, MediaType::Json, &kind, FieldValidation::Ignore) else { return };
    RUNTIME.block_on(async {
        let writer = Writer::new(Arc::new(MemoryStore::default()));
        let (user, options) = (User::default(), WriteOptions::default());
        let namespaces = registry::builtin().get("", "v1", "namespaces").expect("there are namespaces");
        let cluster =
            Call { resource: namespaces, subresource: None, namespace: None, name: None, user: &user };
        let namespace = json!({"metadata": {"name": "default"}});
        writer.create(&cluster, namespace, &options).await.expect("a namespace can be created");

        let namespace = resource.is_namespaced().then_some("default");
        let all = Call { resource, subresource: None, namespace, name: None, user: &user };
        let Ok(written) = writer.create(&all, decoded.value, &options).await else { return };
        let ResponseBody::Stored(stored) = written.body else { return };
        let value: Value =
            serde_json::from_slice(&stored.object().encoded.body).expect("what is stored is JSON");
        let moment = Timestamp { seconds: 1_700_000_000, nanos: 0 };
        let _ = serde_json::to_vec(&Printer::new(resource, moment).object(&value)).expect("a table is JSON");

        let name = stored.object().metadata.key().name().to_owned();
        let one = Call { name: Some(&name), ..all };
        if let Ok(again) = writer.update(&one, value, &options).await
            && let ResponseBody::Stored(again) = again.body
        {
            assert_eq!(
                again.object().metadata.resource_version(),
                stored.object().metadata.resource_version(),
                "of {kind:?}"
            );
        }
        let form = [PatchType::Json, PatchType::Merge, PatchType::Strategic][usize::from(*form) % 3];
        let _ = writer.patch(&one, form, patch.to_vec().into(), &options).await;
        let _ = writer.delete(&one, &DeleteOptions::default()).await;
    });
});
