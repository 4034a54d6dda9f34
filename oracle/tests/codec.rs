//! The codecs compared with Go's, for every kind and in both directions.
//!
//! JSON must be equal as a value, protobuf byte for byte.

#[path = "codec/typed.rs"]
mod typed;

use std::fmt::Write as _;

use serde_json::Value;
use watchkeeper_core::{Encoded, ObjectMetaBuilder};
use watchkeeper_oracle::{random_objects, testdata};
use watchkeeper_wire::protobuf::{self, Envelope};
use watchkeeper_wire::transcode::{self, Types};
use watchkeeper_wire::{Annotations, Kind, json};

type Outcome = Result<(), Box<dyn std::error::Error>>;

/// Number of random objects of each kind.
const PER_KIND: usize = 1_000;
/// Maximum number of differences in the failure message.
const SHOWN: usize = 10;

/// Counts comparisons, and reports the first differences.
#[derive(Default)]
struct Tally {
    compared: usize,
    different: usize,
    report: String,
}

impl Tally {
    fn compare<T: PartialEq>(
        &mut self,
        what: &str,
        ours: Result<T, String>,
        go: &T,
        show: impl Fn(&T) -> String,
    ) {
        self.compared += 1;
        if ours.as_ref().is_ok_and(|ours| ours == go) {
            return;
        }
        self.different += 1;
        if self.different <= SHOWN {
            let ours = ours.map_or_else(|error| format!("error: {error}"), |ours| show(&ours));
            let short = |text: String| text.chars().take(2_000).collect::<String>();
            let _ = writeln!(self.report, "{what}\n  ours {}\n  Go   {}", short(ours), short(show(go)));
        }
    }

    fn finish(self, min_compared: usize) {
        assert!(self.different == 0, "{} of {} differ\n{}", self.different, self.compared, self.report);
        assert!(self.compared >= min_compared, "only {} comparisons", self.compared);
    }
}

fn show_json(value: &Value) -> String {
    value.to_string()
}

fn show_bytes(bytes: &impl AsRef<[u8]>) -> String {
    bytes.as_ref().escape_ascii().to_string()
}

/// Converts a protobuf body to a JSON value.
fn json_of(pb: &[u8], kind: &Kind) -> Result<Value, String> {
    let envelope = Envelope::open(pb).map_err(text)?;
    let types = if is_typed(kind) { Types::Named } else { Types::Omitted };
    let mut out = Vec::new();
    transcode::to_json(&Encoded::protobuf(envelope.message), kind, types, &mut out).map_err(text)?;
    value(&out)
}

/// Parses JSON that serde_json would reject or change: raw JSON may contain numbers out of the range of any type,
/// which are compared as strings, and unpaired surrogates, which Go reads as U+FFFD.
fn value(json: &[u8]) -> Result<Value, String> {
    let unit =
        |text: &str| text.strip_prefix("\\u").and_then(|hex| u16::from_str_radix(hex.get(..4)?, 16).ok());
    let mut rest = std::str::from_utf8(json).map_err(text)?;
    let (mut out, mut in_string) = (String::new(), false);
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '\\' => match (unit(rest), rest.get(6..).and_then(unit)) {
                (Some(0xd800..0xdc00), Some(0xdc00..0xe000)) => 12,
                (Some(0xd800..0xe000), _) => {
                    out.push('\u{fffd}');
                    rest = &rest[6..];
                    continue;
                }
                _ => 2,
            },
            '-' | '0'..='9' if !in_string => {
                let length = rest.find([',', ']', '}', ' ', '\n']).unwrap_or(rest.len());
                out += &format!("\"number {}\"", &rest[..length]);
                rest = &rest[length..];
                continue;
            }
            '"' => {
                in_string = !in_string;
                1
            }
            other => other.len_utf8(),
        };
        out.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    serde_json::from_str(&out).map_err(|error| format!("{error} in {out}"))
}

/// Converts a JSON object to a protobuf body.
fn protobuf_of(json: &[u8], kind: &Kind) -> Result<Vec<u8>, String> {
    let message = transcode::to_protobuf(&Encoded::json(json), kind).map_err(text)?;
    Ok(match is_typed(kind) {
        true => protobuf::wrap(kind.api_version(), kind.kind(), &message),
        false => protobuf::wrap("", "", &message),
    })
}

/// Returns whether the encoded object has an apiVersion and a kind; only a watch event does not.
fn is_typed(kind: &Kind) -> bool {
    kind.kind() != "WatchEvent"
}

fn text(error: impl std::error::Error) -> String {
    let source = error.source().map(|source| format!(": {source}")).unwrap_or_default();
    format!("{error}{source}")
}

#[test]
fn the_published_sample_of_every_kind_is_transcoded_as_in_go() -> Outcome {
    let mut tally = Tally::default();
    let mut kinds = 0;
    for sample in testdata()? {
        let sample = sample?;
        kinds += 1;
        let kind = Kind::new(&sample.group, &sample.version, &sample.kind);
        let what = kind.name();
        let json: Value = serde_json::from_slice(&sample.json)?;
        let go = value(&sample.json)?;
        tally.compare(&format!("{what}: JSON of protobuf"), json_of(&sample.pb, &kind), &go, show_json);
        // The file is indented, and raw JSON fields would keep the indentation.
        let ours = protobuf_of(json.to_string().as_bytes(), &kind);
        tally.compare(&format!("{what}: protobuf of JSON"), ours, &sample.pb, show_bytes);
    }
    assert_eq!(kinds, 193);
    tally.finish(2 * 193);
    Ok(())
}

#[test]
fn a_thousand_random_objects_of_every_kind_are_transcoded_as_in_go() -> Outcome {
    let mut tally = Tally::default();
    for object in random_objects(PER_KIND)? {
        let object = object?;
        let kind = Kind::new(&object.group, &object.version, &object.kind);
        let what = format!("{} #{}", kind.name(), object.index);
        let go = value(&object.json_of_pb)?;
        tally.compare(&format!("{what}: JSON of protobuf"), json_of(&object.pb, &kind), &go, show_json);

        let ours = protobuf_of(&object.json, &kind);
        match &object.of_json {
            Some(go) => {
                let json = object.json.escape_ascii();
                tally.compare(&format!("{what}: protobuf of {json}"), ours, &go.pb, show_bytes);
                let of_pb = value(&go.json_of_pb)?;
                tally.compare(
                    &format!("{what}: JSON of that protobuf"),
                    json_of(&go.pb, &kind),
                    &of_pb,
                    show_json,
                );
            }
            None => {
                tally.compare(&format!("{what}: rejected by Go"), Ok(ours.is_err()), &true, bool::to_string);
            }
        }
    }
    tally.finish(2 * PER_KIND * 193);
    Ok(())
}

#[test]
fn object_metadata_is_the_same_in_both_encodings() -> Outcome {
    let (mut tally, mut builder) = (Tally::default(), ObjectMetaBuilder::default());
    for object in random_objects(100)? {
        let object = object?;
        let meta = value(&object.json_of_pb)?;
        // Lists and statuses have a ListMeta instead.
        if !meta["metadata"].is_object() || object.kind.ends_with("List") || object.kind == "Status" {
            continue;
        }
        let what = format!("{}/{} {} #{}", object.group, object.version, object.kind, object.index);
        let message = Envelope::open(&object.pb)?.message;
        let of_json = json::read_object_meta(&object.json_of_pb, Annotations::Keep, &mut builder);
        let of_protobuf = protobuf::read_object_meta(message, Annotations::Keep, &mut builder).map_err(text);
        tally.compare(&what, of_protobuf, &of_json?, |metadata| format!("{metadata:?}"));
    }
    tally.finish(10_000);
    Ok(())
}
