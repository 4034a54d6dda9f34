//! Writes the part of the corpora that is not plain text: encoded objects and gzip.
//!
//!     cargo run --manifest-path fuzz/Cargo.toml --example seeds
//!
//! From: `objects/`, JSON as a user might write it; between them the objects have every form that a field can have.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use flate2::write::DeflateEncoder;
use flate2::{Compression, GzBuilder};
use serde_json::Value;
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
    let find =
        |name: &str| objects.iter().find(|object| object.kind.kind() == name).ok_or(format!("no {name}"));
    for object in &objects {
        let choice = kind_choice(&object.kind);
        let name = object.kind.kind();
        write("transcode_json", name, &[&choice, &object.json])?;
        write("transcode_protobuf", name, &[&choice, &object.message])?;
        write("decode", name, &[&choice, &object.message])?;
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
    Ok(())
}

fn home() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Reads the objects, in the order of their names.
fn objects() -> Outcome<Vec<Object>> {
    let files = fs::read_dir(home().join("objects"))?.map(|entry| entry.map(|entry| entry.path()));
    let mut files = files.collect::<io::Result<Vec<PathBuf>>>()?;
    files.sort();
    files.iter().map(|file| object(file)).collect()
}

/// Reads `GROUP.VERSION.KIND.json`. A group may have dots of its own.
fn object(file: &Path) -> Outcome<Object> {
    let name = file.file_stem().and_then(OsStr::to_str).ok_or("a name is text")?;
    let [kind, version, group] = name.rsplitn(3, '.').collect::<Vec<_>>()[..] else {
        return Err(format!("{name} is no group, version and kind").into());
    };
    let kind = Kind::new(if group == "core" { "" } else { group }, version, kind);
    let json = serde_json::from_slice::<Value>(&fs::read(file)?)?.to_string().into_bytes();
    let message = transcode::to_protobuf(&Encoded::json(json.as_slice()), &kind)?;
    Ok(Object { kind, json, message })
}

fn write(target: &str, name: &str, parts: &[&[u8]]) -> io::Result<()> {
    let directory = home().join("corpus").join(target);
    fs::create_dir_all(&directory)?;
    fs::write(directory.join(name), parts.concat())
}

/// A watch that adds the objects.
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
