//! Objects: random objects of every kind, each in the encodings that Go produces.
//!
//! Input:  the Go program `objects`, through a pipe. The same count always gives the same objects.
//! Output: one object at a time, for the codec tests. Objects are streamed, not collected.

use std::io;

use crate::records::{RecordError, Records, text};

/// A random object.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RandomObject {
    /// The API group; empty for the core group.
    pub group: String,
    /// The API version.
    pub version: String,
    /// The kind.
    pub kind: String,
    /// The index among the objects of this kind. With the kind, it identifies the object for `cmd/objects -index`.
    pub index: usize,
    /// Go's protobuf encoding, including the envelope.
    pub pb: Vec<u8>,
    /// Go's JSON encoding of the object that it decodes from `pb`.
    pub json_of_pb: Vec<u8>,
    /// JSON as a user might write it: nulls, unusual spellings of values, unknown fields, in any order.
    pub json: Vec<u8>,
    /// Go's encodings of the object that it decodes from `json`; `None` if Go fails to decode it.
    pub of_json: Option<OfJson>,
}

/// Go's encodings of an object that it decoded from JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct OfJson {
    /// Protobuf, including the envelope.
    pub pb: Vec<u8>,
    /// JSON.
    pub json: Vec<u8>,
    /// JSON of the object that Go decodes from `pb`, which does not distinguish empty from absent.
    pub json_of_pb: Vec<u8>,
}

/// An iterator over [`random_objects`]. Dropping it kills the program.
#[derive(Debug)]
pub struct RandomObjects {
    records: Records,
}

/// Returns `per_kind` random objects of every kind, grouped by kind.
pub fn random_objects(per_kind: usize) -> Result<RandomObjects, RecordError> {
    Ok(RandomObjects { records: Records::run("objects", [&format!("-n={per_kind}")])? })
}

impl Iterator for RandomObjects {
    type Item = Result<RandomObject, RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        let record = self.records.next()?;
        Some(record.and_then(|record| Ok(RandomObject::from_record(record)?)))
    }
}

impl RandomObject {
    fn from_record(record: [Vec<u8>; 10]) -> io::Result<Self> {
        let [group, version, kind, index, pb, json_of_pb, json, pb_of_json, json_of_json, json_of_pb_of_json] =
            record;
        let index =
            text(index)?.parse().map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        let of_json = OfJson { pb: pb_of_json, json: json_of_json, json_of_pb: json_of_pb_of_json };
        let of_json = (!of_json.pb.is_empty()).then_some(of_json);
        let (group, version, kind) = (text(group)?, text(version)?, text(kind)?);
        Ok(Self { group, version, kind, index, pb, json_of_pb, json, of_json })
    }
}
