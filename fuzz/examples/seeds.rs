//! Generates the seeds that are not plain text: encoded objects, gzip and logs.
//!
//!     cargo run --manifest-path fuzz/Cargo.toml --example seeds
//!
//! Input: `objects/`, JSON as a user might write it. Together the objects have every kind of field.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use flate2::write::DeflateEncoder;
use flate2::{Compression, GzBuilder};
use serde_json::Value;
use watchkeeper_apiserver::store::{
    CollectionId, DiskStore, HistoryLimits, Precondition, Store as _, Unversioned,
};
use watchkeeper_core::Encoded;
use watchkeeper_fuzz::{kind_choice, put};
use watchkeeper_wire::{Kind, protobuf, transcode};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// An object in both encodings.
struct Object {
    kind: Kind,
    json: Vec<u8>,
    message: Vec<u8>,
}

fn main() -> Outcome<()> {
    let objects = objects()?;
    let find = |name: &str| {
        objects
            .iter()
            .find(|object| object.kind.kind() == name)
            .ok_or(format!("{name} not found in objects/"))
    };
    for object in &objects {
        let choice = kind_choice(&object.kind);
        let name = object.kind.kind();
        write("transcode_json", name, &[&choice, &object.json])?;
        write("transcode_protobuf", name, &[&choice, &object.message])?;
        write("decode", name, &[&choice, &object.message])?;
    }
    for name in ["Pod", "CustomResourceDefinition"] {
        let object = find(name)?;
        write("typed", &format!("{name}.json"), &[&object.json])?;
        write("typed", &format!("{name}.protobuf"), &[&object.message])?;
    }
    let pod = find("Pod")?;
    write("json_object", "pod", &[&pod.json])?;
    write("json_object", "pod-with-paths", &[b"metadata.labels;spec.containers.env;kind\n", &pod.json])?;
    write("protobuf_object", "pod", &[&pod.message])?;
    write("protobuf_object", "pod-in-envelope", &[&protobuf::wrap("v1", "Pod", &pod.message)])?;
    write("protobuf_list", "pods", &[&[9], &protobuf::wrap("v1", "PodList", &find("PodList")?.message)])?;
    write("protobuf_watch", "events", &[&[9], &watch([find("Secret")?, find("Service")?])])?;

    let plain = member(GzBuilder::new(), b"one event\n")?;
    let full = member(GzBuilder::new().extra("extra").filename("name").comment("comment"), &pod.json)?;
    let mut deflate = DeflateEncoder::new(Vec::new(), Compression::best());
    deflate.write_all(&pod.json)?;
    write("gzip", "member", &[&[0], &plain])?;
    write("gzip", "members", &[&[99], &full, &plain, &member(GzBuilder::new(), b"")?])?;
    write("gzip", "deflate", &[&[7], &deflate.finish()?])?;

    let log = log(&objects)?;
    write("data_log", "objects", &[&[0], &log])?;
    write("data_log", "to-be-sealed", &[&[1], &log])?;
    write("data_log", "torn", &[&[90], &log[..log.len() - 7]])?;
    Ok(())
}

/// Returns the log of a store after creating and updating a few objects and deleting the last one.
fn log(objects: &[Object]) -> Outcome<Vec<u8>> {
    let directory = std::env::temp_dir().join(format!("watchkeeper-seeds-{}", std::process::id()));
    let store = DiskStore::open(&directory, HistoryLimits::default())?;
    // Kinds without metadata cannot be stored.
    let values = objects.iter().filter_map(|object| Unversioned::from_json(&object.json).ok());
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    runtime.block_on(async {
        let collection = CollectionId::from("example.com/objects");
        let mut last = None;
        for value in values.take(4) {
            store.put(&collection, value.clone(), Precondition::Absent).await?;
            last = Some(store.put(&collection, value, Precondition::Any).await?);
        }
        if let Some(last) = last {
            store.delete(&collection, last.key(), Some(last.modified())).await?;
        }
        Outcome::Ok(())
    })?;
    drop(store);
    let log = fs::read(directory.join("log-00000000000000000001"))?;
    fs::remove_dir_all(directory)?;
    Ok(log)
}

fn package_dir() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Reads the objects, sorted by file name.
fn objects() -> Outcome<Vec<Object>> {
    let files = fs::read_dir(package_dir().join("objects"))?.map(|entry| entry.map(|entry| entry.path()));
    let mut files = files.collect::<io::Result<Vec<PathBuf>>>()?;
    files.sort();
    files.iter().map(|file| object(file)).collect()
}

/// Reads `GROUP.VERSION.KIND.json`. The group can contain dots.
fn object(file: &Path) -> Outcome<Object> {
    let name = file.file_stem().and_then(OsStr::to_str).ok_or("file name is not UTF-8")?;
    let [kind, version, group] = name.rsplitn(3, '.').collect::<Vec<_>>()[..] else {
        return Err(format!("invalid file name {name}: expected GROUP.VERSION.KIND.json").into());
    };
    let kind = Kind::new(if group == "core" { "" } else { group }, version, kind);
    let json = serde_json::from_slice::<Value>(&fs::read(file)?)?.to_string().into_bytes();
    let message = transcode::to_protobuf(&Encoded::json(json.as_slice()), &kind)?;
    Ok(Object { kind, json, message })
}

fn write(target: &str, name: &str, parts: &[&[u8]]) -> io::Result<()> {
    let directory = package_dir().join("corpus").join(target);
    fs::create_dir_all(&directory)?;
    fs::write(directory.join(name), parts.concat())
}

/// Returns a watch body with an `ADDED` event for each object.
fn watch<const N: usize>(objects: [&Object; N]) -> Vec<u8> {
    let mut body = Vec::new();
    for Object { kind, message, .. } in objects {
        let (mut raw, mut event) = (Vec::new(), Vec::new());
        put(&mut raw, 1, &protobuf::wrap(kind.api_version(), kind.kind(), message));
        put(&mut event, 1, b"ADDED");
        put(&mut event, 2, &raw);
        body.extend_from_slice(&(event.len() as u32).to_be_bytes());
        body.extend_from_slice(&event);
    }
    body
}

fn member(header: GzBuilder, plain: &[u8]) -> io::Result<Vec<u8>> {
    let mut member = header.write(Vec::new(), Compression::default());
    member.write_all(plain)?;
    member.finish()
}
