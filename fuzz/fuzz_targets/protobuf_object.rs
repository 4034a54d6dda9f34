//! Protobuf objects: envelope and metadata; pruning protobuf equals pruning its JSON.

#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use watchkeeper_core::{Encoded, ObjectMetaBuilder};
use watchkeeper_fuzz::{remove, set};
use watchkeeper_wire::protobuf::{self, Cut, Envelope};
use watchkeeper_wire::transcode::{self, Types};
use watchkeeper_wire::{Annotations, FieldPath, Kind, schema};

/// Fields that JSON omits if they are unset.
const PATHS: [&str; 5] = [
    "metadata.managedFields",
    "metadata.annotations[\"a\"]",
    "metadata.labels",
    "spec.containers.env.value",
    "spec.nodeSelector[\"a.b\"]",
];

fn json_of(message: &[u8], pod: &Kind) -> Option<Value> {
    let mut json = Vec::new();
    transcode::to_json(&Encoded::protobuf(message), pod, Types::Omitted, &mut json).ok()?;
    serde_json::from_slice(&json).ok()
}

fn check_pruning(message: &[u8], pod: &Kind) {
    let paths = PATHS.map(|path| path.parse::<FieldPath>().expect("valid field path"));
    let all = Cut::compile(schema::builtin(), pod.message().expect("a pod is built in"), &set(&paths));
    let all = all.expect("a pod has these fields");
    let Ok(rest) = all.copy(message) else { return };
    assert!(rest.len() <= message.len());
    assert_eq!(all.copy(&rest).as_deref(), Ok(&*rest), "pruning is idempotent");
    if let Some(mut expected) = json_of(message, pod) {
        for path in &paths {
            remove(&mut expected, &path.segments());
        }
        let mut found = json_of(&rest, pod).expect("the pruned message can be transcoded");
        // A map without entries does not exist in protobuf, and is empty in JSON.
        for path in ["metadata.annotations", "spec.nodeSelector"] {
            let pointer = format!("/{}", path.replace('.', "/"));
            for value in [&mut expected, &mut found] {
                if value
                    .pointer(&pointer)
                    .is_some_and(|map| map.as_object().is_some_and(serde_json::Map::is_empty))
                {
                    remove(value, &path.split('.').collect::<Vec<_>>());
                }
            }
        }
        assert_eq!(found, expected);
    }
}

fuzz_target!(|data: &[u8]| {
    let pod = Kind::new("", "v1", "Pod");
    let message = Envelope::open(data).map_or(data, |envelope| {
        assert_eq!(&data[envelope.message_offset..][..envelope.message.len()], envelope.message);
        envelope.message
    });
    let mut builder = ObjectMetaBuilder::default();
    let metadata = protobuf::read_object_meta(message, Annotations::Keep, &mut builder);
    assert_eq!(protobuf::read_object_meta(message, Annotations::Keep, &mut builder), metadata);
    let cut = Cut::managed_fields();
    match protobuf::read_object(message, Annotations::Keep, &cut, &mut builder) {
        Ok(object) => {
            assert_eq!(metadata.as_ref(), Ok(&object.metadata));
            let pruned = protobuf::read_object_meta(&object.encoded.body, Annotations::Keep, &mut builder);
            assert_eq!(pruned, metadata, "pruning does not change the metadata");
        }
        Err(_) => assert!(metadata.is_err() || cut.copy(message).is_err()),
    }
    let wrapped = protobuf::wrap("v1", "Pod", message);
    assert_eq!(Envelope::open(&wrapped).map(|envelope| envelope.message), Ok(message));
    check_pruning(message, &pod);
});
