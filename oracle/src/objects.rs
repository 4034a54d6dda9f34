//! Objects: random ones of every kind, each in the forms that Go gives it.
//!
//! From: the Go program `objects`, through a pipe. The same count gives the same objects every time.
//! To:   the codec tests, one object at a time; none is stored.

use std::io;

use crate::records::{RecordError, Records, text};

/// One random object.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RandomObject {
    /// Of the kind; empty for the core group.
    pub group: String,
    /// Of the kind.
    pub version: String,
    /// Of the object.
    pub kind: String,
    /// Which of its kind it is: with the kind, all it takes to make it again.
    pub index: usize,
    /// Go's protobuf of the object, envelope and all.
    pub pb: Vec<u8>,
    /// Go's JSON of what it decodes from `pb`.
    pub json_of_pb: Vec<u8>,
    /// The object as a user might have written it: nulls, odd spellings, fields nobody knows, in any order.
    pub json: Vec<u8>,
    /// What Go makes of `json`, or nothing if it refuses it.
    pub of_json: Option<OfJson>,
}

/// What Go makes of the JSON that a user wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct OfJson {
    /// As protobuf, envelope and all.
    pub pb: Vec<u8>,
    /// As JSON.
    pub json: Vec<u8>,
    /// As JSON of what it decodes from `pb`, which cannot tell empty from absent.
    pub json_of_pb: Vec<u8>,
}

/// The stream of [`random_objects`]. Dropping it ends the program.
#[derive(Debug)]
pub struct RandomObjects {
    records: Records,
}

/// Makes `per_kind` random objects of every kind, kind by kind.
pub fn random_objects(per_kind: usize) -> Result<RandomObjects, RecordError> {
    Ok(RandomObjects { records: Records::of("objects", [&format!("-n={per_kind}")])? })
}

impl Iterator for RandomObjects {
    type Item = Result<RandomObject, RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        let record = self.records.next()?;
        Some(record.and_then(|record| Ok(RandomObject::of(record)?)))
    }
}

impl RandomObject {
    fn of(record: [Vec<u8>; 10]) -> io::Result<Self> {
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
