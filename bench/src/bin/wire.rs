//! Question: how much does it cost to split a list, parse metadata, prune fields and decode, compared with serde_json
//! and with copying the same bytes?
//!
//! Workload: 20,000 pods of [`Pods`]. Lists are split as a whole: 158 MB of JSON and 106 MB of protobuf, which no CPU
//! cache holds. Operations on single pods cycle through twenty pods, so that they are in the CPU cache, as they are
//! just after they were read from the socket. One thread, all operations in turn, the best of nine rounds. Dropping
//! each result is counted. Not counted: generating the pods.
//!
//! ```text
//! cargo run --release -p watchkeeper-bench --bin wire
//! ```
//!
//! To count instructions per pod, which do not depend on the load of the machine: run one operation under callgrind, and
//! divide by the number of pods that it prints.
//!
//! ```text
//! cargo build --profile dist -p watchkeeper-bench
//! valgrind --tool=callgrind --callgrind-out-file=/dev/null --toggle-collect='*counted_by_callgrind*' \
//!     target/dist/wire --callgrind 'json: metadata'
//! ```

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::hint::black_box;
use std::process::ExitCode;

use bytes::Bytes;
use k8s_openapi::api::core::v1::Pod;
use serde::Deserialize;
use serde_json::value::RawValue;
use watchkeeper_bench::measure::{Operation, print_table};
use watchkeeper_bench::pods::Pods;
use watchkeeper_core::{Encoded, Encoding, ObjectMetaBuilder};
use watchkeeper_kinds::api;
use watchkeeper_wire::protobuf::{self, Cut};
use watchkeeper_wire::transcode::{self, Types};
use watchkeeper_wire::typed::{to_json, to_protobuf};
use watchkeeper_wire::{
    Annotations, Kind, Limits, ListSplitter, Paths, ReadOptions, WatchFrames, decode, json,
};

const ROUNDS: usize = 9;
/// Number of pods under callgrind, which is about 50x slower.
const FEW: usize = BLOCK * PASSES;
/// Operations on single pods process this number of pods repeatedly.
const BLOCK: usize = 20;
/// Number of passes over a block.
const PASSES: usize = 20;
/// Maximum size of a TLS record: the chunks in which a body arrives over HTTP/1.1.
const RECORD: usize = 16 << 10;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => {
            let workload = Workload::new(Pods::MANY);
            print_table(&mut operations(&workload), ROUNDS, Pods::MANY);
            ExitCode::SUCCESS
        }
        ["--callgrind", name] => {
            let workload = Workload::new(FEW);
            let mut operations = operations(&workload);
            match operations.iter_mut().find(|operation| operation.name() == name) {
                Some(operation) => {
                    counted_by_callgrind(operation);
                    println!("{FEW} pods");
                    ExitCode::SUCCESS
                }
                None => usage(&operations),
            }
        }
        _ => usage(&operations(&Workload::new(1))),
    }
}

fn usage(operations: &[Operation<'_>]) -> ExitCode {
    eprintln!("usage: wire [--callgrind <operation>], where an operation is one of:");
    operations.iter().for_each(|operation| eprintln!("  {}", operation.name()));
    ExitCode::FAILURE
}

#[inline(never)] // callgrind finds the function by its name
fn counted_by_callgrind(operation: &mut Operation<'_>) -> usize {
    operation.run()
}

/// The same pods as a list, as its items, and as a watch, in both encodings.
struct Workload {
    list: Bytes,
    items: Vec<Bytes>,
    watch: Bytes,
    /// Destination of copies, as long as the list. Its pages are mapped, so that copies cause no page faults.
    copy: RefCell<Vec<u8>>,
    protobuf: Protobuf,
    kind: Kind,
}

/// The pods in protobuf.
struct Protobuf {
    list: Bytes,
    items: Vec<Bytes>,
    watch: Bytes,
    /// The items without managed fields, as a cache keeps them.
    kept: Vec<Encoded>,
    /// The same in JSON.
    kept_json: Vec<Encoded>,
    /// The first of them, decoded: as many as [`each`] processes.
    decoded: Vec<Decoded>,
}

impl Protobuf {
    fn new(items: &[Bytes], kind: &Kind) -> Self {
        let cut = Cut::managed_fields();
        let to_protobuf =
            |json: &[u8]| transcode::to_protobuf(&Encoded::json(json), kind).expect("valid pod");
        let items: Vec<Bytes> = items.iter().map(|item| Bytes::from(to_protobuf(item))).collect();
        let mut list = b"\x0a\x0a\x0a\x00\x12\x0242\x1a\x00\x20\x00".to_vec(); // metadata
        let mut watch = Vec::new();
        for item in &items {
            put_field(&mut list, 2, item);
            let mut raw = Vec::new();
            put_field(&mut raw, 1, &protobuf::wrap("v1", "Pod", item));
            let mut event = Vec::new();
            put_field(&mut event, 1, b"MODIFIED");
            put_field(&mut event, 2, &raw);
            watch.extend_from_slice(&(event.len() as u32).to_be_bytes());
            watch.extend_from_slice(&event);
        }
        let kept: Vec<Encoded> =
            items.iter().map(|item| Encoded::protobuf(cut.copy(item).expect("valid pod"))).collect();
        let to_json = |body: &Encoded| {
            let mut json = Vec::new();
            transcode::to_json(body, kind, Types::Omitted, &mut json).expect("valid pod");
            Encoded::json(json)
        };
        let kept_json = kept.iter().map(to_json).collect();
        let decoded = kept[..used(kept.len())].iter().map(|body| Decoded::new(body, kind)).collect();
        let list = Bytes::from(protobuf::wrap("v1", "PodList", &list));
        let mut items = Vec::with_capacity(items.len());
        split(Encoding::Protobuf, &list, list.len(), |item| items.push(list.slice_ref(item)));
        Self { list, items, watch: watch.into(), kept, kept_json, decoded }
    }
}

/// A pod in both types.
struct Decoded {
    k8s_openapi: Box<Pod>,
    ours: Box<api::core::v1::Pod>,
}

impl Decoded {
    fn new(body: &Encoded, kind: &Kind) -> Self {
        let k8s_openapi = Box::new(decode(body, kind).expect("valid pod"));
        Self { k8s_openapi, ours: Box::new(decode(body, kind).expect("valid pod")) }
    }
}

/// Appends a length-delimited field.
fn put_field(out: &mut Vec<u8>, field: u8, payload: &[u8]) {
    out.push(field << 3 | 2);
    let mut length = payload.len();
    while length >= 0x80 {
        out.push(length as u8 | 0x80);
        length >>= 7;
    }
    out.push(length as u8);
    out.extend_from_slice(payload);
}

impl Workload {
    fn new(count: usize) -> Self {
        let pods = Pods::seeded(1);
        let list = Bytes::from(pods.list(count));
        let mut items = Vec::with_capacity(count);
        split(Encoding::Json, &list, list.len(), |item| items.push(list.slice_ref(item)));
        let watch: String = (0..count).map(|index| pods.event("MODIFIED", index)).collect();
        let kind = Kind::new("", "v1", "Pod");
        let protobuf = Protobuf::new(&items, &kind);
        Self { copy: RefCell::new(list.to_vec()), list, items, watch: watch.into(), protobuf, kind }
    }
}

/// Calls `work` as many times as there are pods, block by block, each block several times.
fn each<T>(pods: &[T], work: impl FnMut(&T) -> usize) -> usize {
    each_of(&pods[..used(pods.len())], work)
}

/// Returns the number of different pods that [`each`] processes.
fn used(pods: usize) -> usize {
    pods.min((pods / PASSES).div_ceil(BLOCK) * BLOCK)
}

/// Processes block by block, each block several times.
fn each_of<T>(pods: &[T], mut work: impl FnMut(&T) -> usize) -> usize {
    let blocks = pods.chunks(BLOCK);
    blocks.map(|block| (0..PASSES).map(|_| block.iter().map(&mut work).sum::<usize>()).sum::<usize>()).sum()
}

/// Splits a list body that arrives in chunks of `chunk` bytes, and returns the number of items.
fn split(encoding: Encoding, body: &Bytes, chunk: usize, mut item: impl FnMut(&[u8])) -> usize {
    let mut split = ListSplitter::new(encoding, Limits::DEFAULT);
    let mut count = 0;
    for start in (0..body.len()).step_by(chunk) {
        split.push(body.slice(start..body.len().min(start + chunk)));
        while let Some(bytes) = split.next().expect("valid list") {
            item(bytes);
            count += 1;
        }
    }
    split.finish().expect("complete list");
    count
}

/// Frames a watch body that arrives in TLS records, and returns the number of events.
fn frame(encoding: Encoding, body: &Bytes) -> usize {
    let mut frames = WatchFrames::new(encoding, Limits::DEFAULT);
    let mut count = 0;
    for start in (0..body.len()).step_by(RECORD) {
        frames.push(body.slice(start..body.len().min(start + RECORD)));
        while frames.next().expect("valid watch").is_some() {
            count += 1;
        }
    }
    count
}

fn operations(workload: &Workload) -> Vec<Operation<'_>> {
    let Workload { list, items, watch, copy, .. } = workload;
    let managed_fields = Paths::managed_fields();
    let read_options = ReadOptions::default();
    let size = list.len();
    let mut operations = vec![
        Operation::new("copy", size, || {
            copy.borrow_mut().copy_from_slice(list);
            copy.borrow().len()
        }),
        Operation::new("json: serde_json to RawValue", size, || {
            serde_json::from_slice::<RawList<'_>>(list).expect("valid list").items.len()
        }),
        Operation::new("json: split", size, || split(Encoding::Json, list, list.len(), |_| ()))
            .against("copy")
            .at_most(1.0),
        Operation::new("json: split in 16 KiB chunks", size, || split(Encoding::Json, list, RECORD, |_| ()))
            .against("json: split"),
        Operation::new("json: frame a watch in 16 KiB chunks", watch.len(), || frame(Encoding::Json, watch))
            .against("json: split"),
        Operation::new("json: serde_json, metadata only", size, || {
            let read = |item: &Bytes| serde_json::from_slice::<MetadataOnly>(item).expect("valid pod");
            each(items, |item| read(item).metadata.labels.len())
        }),
        Operation::new("json: metadata", size, || {
            let mut builder = ObjectMetaBuilder::default();
            let mut read = |item: &Bytes| json::read_object_meta(item, Annotations::Skip, &mut builder);
            each(items, |item| read(item).expect("valid pod").uid().len())
        })
        .against("json: serde_json, metadata only")
        .at_most(0.4),
        Operation::new("json: prune managedFields", size, move || {
            let cut = |item: &Bytes| json::cut(item, &managed_fields).expect("valid pod");
            each(items, |item| cut(item).len())
        })
        .against("json: split")
        .at_most(2.0),
        Operation::new("json: metadata and body", size, move || {
            let mut builder = ObjectMetaBuilder::default();
            let mut read = |item: &Bytes| json::read_object(item, &read_options, &mut builder);
            each(items, |item| read(item).expect("valid pod").encoded.body.len())
        })
        .against("json: split"),
    ];
    operations.extend(protobuf_operations(workload));
    operations.extend(decode_operations(workload));
    operations
}

/// The same operations for protobuf.
fn protobuf_operations(workload: &Workload) -> Vec<Operation<'_>> {
    let Protobuf { list, items, watch, .. } = &workload.protobuf;
    let copy = &workload.copy;
    let size = list.len();
    let cut = Cut::managed_fields();
    let cut_and_head = cut.clone();
    vec![
        Operation::new("protobuf: copy the list", size, || {
            copy.borrow_mut()[..list.len()].copy_from_slice(list);
            copy.borrow().len()
        }),
        Operation::new("protobuf: split", size, || split(Encoding::Protobuf, list, list.len(), |_| ()))
            .against("protobuf: copy the list")
            .at_most(1.0),
        Operation::new("protobuf: split in 16 KiB chunks", size, || {
            split(Encoding::Protobuf, list, RECORD, |_| ())
        })
        .against("protobuf: copy the list"),
        Operation::new("protobuf: frame a watch in 16 KiB chunks", watch.len(), || {
            frame(Encoding::Protobuf, watch)
        })
        .against("protobuf: copy the list"),
        Operation::new("protobuf: metadata", size, || {
            let mut builder = ObjectMetaBuilder::default();
            let mut read = |item: &Bytes| protobuf::read_object_meta(item, Annotations::Skip, &mut builder);
            each(items, |item| read(item).expect("valid pod").uid().len())
        })
        .against("json: serde_json, metadata only")
        .at_most(0.2),
        Operation::new("protobuf: copy each pod to a box", size, || {
            each(items, |item| black_box(Box::<[u8]>::from(&item[..])).len())
        }),
        Operation::new("protobuf: prune managedFields", size, move || {
            each(items, |item| cut.copy(item).expect("valid pod").len())
        })
        .against("protobuf: copy each pod to a box")
        .at_most(2.0),
        Operation::new("protobuf: metadata and body", size, move || {
            let mut builder = ObjectMetaBuilder::default();
            let mut read =
                |item: &Bytes| protobuf::read_object(item, Annotations::Skip, &cut_and_head, &mut builder);
            each(items, |item| read(item).expect("valid pod").encoded.body.len())
        })
        .against("protobuf: copy each pod to a box"),
    ]
}

/// Decoding and transcoding the bodies that a cache keeps.
fn decode_operations(workload: &Workload) -> Vec<Operation<'_>> {
    let Protobuf { kept, kept_json, decoded, .. } = &workload.protobuf;
    let kind = &workload.kind;
    let bytes = |bodies: &[Encoded]| bodies.iter().map(|body| body.body.len()).sum();
    let (size, json_size) = (bytes(kept), bytes(kept_json));
    vec![
        Operation::new("decode: serde_json to a Pod", json_size, || {
            let read = |body: &Encoded| serde_json::from_slice::<Pod>(&body.body).expect("valid pod");
            each(kept_json, |body| read(body).metadata.labels.map_or(0, |labels| labels.len()))
        }),
        Operation::new("decode: JSON to a Pod", json_size, || {
            each(kept_json, |body| labels(&decode::<Pod>(body, kind).expect("valid pod")))
        })
        .against("decode: serde_json to a Pod"),
        Operation::new("decode: protobuf to a Pod", size, || {
            each(kept, |body| labels(&decode::<Pod>(body, kind).expect("valid pod")))
        })
        .against("decode: serde_json to a Pod")
        .at_most(1.0),
        Operation::new("decode: protobuf to our Pod", size, || {
            each(kept, |body| our_labels(&decode(body, kind).expect("valid pod")))
        })
        .against("decode: protobuf to a Pod"),
        Operation::new("decode: JSON to our Pod", json_size, || {
            each(kept_json, |body| our_labels(&decode(body, kind).expect("valid pod")))
        })
        .against("decode: JSON to a Pod"),
        Operation::new("encode: Pod to JSON with serde_json", json_size, || {
            each_of(decoded, |pod| serde_json::to_vec(&pod.k8s_openapi).expect("valid pod").len())
        }),
        Operation::new("encode: our Pod to JSON", json_size, || {
            each_of(decoded, |pod| to_json(&*pod.ours).len())
        })
        .against("encode: Pod to JSON with serde_json"),
        Operation::new("encode: our Pod to protobuf", size, || {
            each_of(decoded, |pod| to_protobuf(&*pod.ours).len())
        })
        .against("encode: Pod to JSON with serde_json"),
        Operation::new("decode: JSON to a view of three fields", json_size, || {
            each(kept_json, |body| decode::<PodView>(body, kind).expect("valid pod").length())
        })
        .against("decode: JSON to a Pod"),
        Operation::new("decode: protobuf to a view of three fields", size, || {
            each(kept, |body| decode::<PodView>(body, kind).expect("valid pod").length())
        })
        .against("decode: protobuf to a Pod")
        .at_most(0.2),
        Operation::new("transcode: protobuf to JSON", size, move || {
            let mut out = Vec::new();
            each(kept, |body| {
                out.clear();
                transcode::to_json(body, kind, Types::Named, &mut out).expect("valid pod");
                out.len()
            })
        })
        .against("decode: protobuf to a Pod"),
        Operation::new("transcode: JSON to protobuf", json_size, || {
            each(kept_json, |body| transcode::to_protobuf(body, kind).expect("valid pod").len())
        })
        .against("decode: JSON to a Pod"),
    ]
}

fn labels(pod: &Pod) -> usize {
    pod.metadata.labels.as_ref().map_or(0, BTreeMap::len)
}

fn our_labels(pod: &api::core::v1::Pod) -> usize {
    pod.metadata.labels.len()
}

/// Three fields of a pod: node, service account and phase.
#[derive(Deserialize)]
struct PodView {
    spec: SpecView,
    status: StatusView,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SpecView {
    node_name: String,
    service_account_name: String,
}

#[derive(Deserialize)]
struct StatusView {
    phase: String,
}

impl PodView {
    fn length(&self) -> usize {
        self.spec.node_name.len() + self.spec.service_account_name.len() + self.status.phase.len()
    }
}

#[derive(Deserialize)]
struct RawList<'a> {
    #[serde(borrow)]
    items: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
struct MetadataOnly {
    metadata: Metadata,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Metadata {
    name: String,
    namespace: String,
    uid: String,
    resource_version: String,
    generation: i64,
    deletion_timestamp: Option<String>,
    labels: BTreeMap<String, String>,
    owner_references: Vec<OwnerReference>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "only deserialized")]
struct OwnerReference {
    api_version: String,
    kind: String,
    name: String,
    uid: String,
    controller: Option<bool>,
}
