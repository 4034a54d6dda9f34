//! Helpers of the fuzz targets: split an input into chunks, kinds and paths, and compute expected results.
//!
//! Input: bytes from libFuzzer. The first bytes are choices, so that mutating one byte makes another choice.
//! Output: the targets in `fuzz_targets/`, one for each parser. A target panics if a property does not hold.

use std::sync::LazyLock;

use bytes::Bytes;
use serde_json::Value;
use watchkeeper_wire::{FieldPath, Kind, Paths, Problem, schema};

/// Splits off the first byte, which makes a choice for the target; 0 if the input is empty.
#[must_use]
pub fn choice(data: &[u8]) -> (u8, &[u8]) {
    data.split_first().map_or((0, data), |(choice, rest)| (*choice, rest))
}

/// Splits a body into chunks: one chunk, chunks of 1 to 63 bytes, or chunks of varying size, some of them empty.
pub fn chunks(choice: u8, body: &[u8]) -> impl Iterator<Item = Bytes> + '_ {
    let mut rest = body;
    let mut state = u32::from(choice);
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let size = match choice {
            0 => rest.len(),
            1..64 => usize::from(choice),
            _ => {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (state >> 24) as usize % 24
            }
        };
        let (chunk, after) = rest.split_at(size.min(rest.len()));
        rest = after;
        Some(Bytes::copy_from_slice(chunk))
    })
}

/// The built-in kinds, sorted. Kinds that exist in every group and version occur once.
static KINDS: LazyLock<Vec<Kind>> = LazyLock::new(|| {
    let mut names: Vec<_> = schema::builtin().kinds().map(|(name, _)| name).collect();
    names.sort_unstable();
    let concrete = |name, default| if name == "*" { default } else { name };
    names
        .into_iter()
        .map(|(group, version, kind)| Kind::new(concrete(group, ""), concrete(version, "v1"), kind))
        .collect()
});

/// Splits off the first two bytes, which choose a built-in kind.
#[must_use]
pub fn kind(data: &[u8]) -> (&'static Kind, &[u8]) {
    let (chosen, rest) = data.split_first_chunk().unwrap_or((&[0, 0], data));
    (&KINDS[usize::from(u16::from_be_bytes(*chosen)) % KINDS.len()], rest)
}

/// Returns the two bytes that choose this kind; 0 if it is not built in.
#[must_use]
pub fn kind_choice(kind: &Kind) -> [u8; 2] {
    let index = KINDS.iter().position(|other| other.name() == kind.name()).unwrap_or_default();
    u16::try_from(index).unwrap_or_default().to_be_bytes()
}

/// Splits off a first line with field paths. Without such a line, returns the path that is pruned by default.
#[must_use]
pub fn paths(data: &[u8]) -> (Vec<FieldPath>, &[u8]) {
    let line = data.iter().position(|byte| *byte == b'\n').unwrap_or(0);
    let text = str::from_utf8(&data[..line]).unwrap_or_default();
    let paths: Vec<FieldPath> = text.split(';').take(4).filter_map(|path| path.parse().ok()).collect();
    match paths.is_empty() {
        true => (vec!["metadata.managedFields".parse().expect("valid field path")], data),
        false => (paths, &data[line + 1..]),
    }
}

/// Collects paths into a set.
#[must_use]
pub fn set(paths: &[FieldPath]) -> Paths {
    paths.iter().cloned().collect()
}

/// Removes the field at a path, in every element of a list along the path.
pub fn remove(value: &mut Value, path: &[&str]) {
    match (value, path) {
        (Value::Array(elements), _) => elements.iter_mut().for_each(|element| remove(element, path)),
        (Value::Object(members), [last]) => drop(members.remove(*last)),
        (Value::Object(members), [first, rest @ ..]) => {
            if let Some(member) = members.get_mut(*first) {
                remove(member, rest);
            }
        }
        _ => {}
    }
}

/// Returns whether rejecting a document that serde_json accepts is correct: our parsers have limits, and accept neither
/// duplicate keys nor an array in place of a struct.
#[must_use]
pub fn is_stricter(problem: &Problem) -> bool {
    match problem {
        Problem::DuplicateKey(_) | Problem::TooDeep { .. } | Problem::TooLong { .. } => true,
        Problem::Expected(what) => ["an object", "a list", "a watch event"].contains(what),
        _ => false,
    }
}

/// Appends a length-prefixed field to a protobuf message.
pub fn put(message: &mut Vec<u8>, field: u8, payload: &[u8]) {
    message.push(field << 3 | 2);
    let mut length = payload.len();
    while length >= 0x80 {
        message.push(length as u8 | 0x80);
        length >>= 7;
    }
    message.push(length as u8);
    message.extend_from_slice(payload);
}
