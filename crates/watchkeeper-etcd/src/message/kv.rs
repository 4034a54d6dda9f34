//! Range, put, delete and compaction.

use bytes::Bytes;

use super::{Header, range_end};
use crate::codec::{Decode, DecodeError, Encode, Writer, fields};

/// A key with its value and its revisions.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct KeyValue {
    /// The key.
    pub key: Bytes,
    /// The value.
    pub value: Bytes,
    /// Revision at which the key was created, after its last deletion if it was deleted before.
    pub create_revision: i64,
    /// Revision of the last write.
    pub mod_revision: i64,
    /// Number of writes since the key was created; the creation counts as 1.
    pub version: i64,
    /// The lease of the key; 0 for none.
    pub lease: i64,
}

impl Decode for KeyValue {
    fn decode(message: Bytes) -> Result<Self, DecodeError> {
        let mut kv = Self::default();
        fields(message, |number, value| {
            match number {
                1 => kv.key = value.bytes(),
                2 => kv.create_revision = value.int(),
                3 => kv.mod_revision = value.int(),
                4 => kv.version = value.int(),
                5 => kv.value = value.bytes(),
                6 => kv.lease = value.int(),
                _ => {}
            }
            Ok(())
        })?;
        Ok(kv)
    }
}

/// A read of a key or of a range of keys.
///
/// ```
/// use watchkeeper_etcd::Range;
///
/// let newest = Range::prefix("/pods/").limit(500);
/// let then = Range::key("/pods/a").revision(7);
/// # let _ = (newest, then);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Range {
    key: Bytes,
    end: Bytes,
    limit: i64,
    revision: i64,
    serializable: bool,
    keys_only: bool,
    count_only: bool,
}

impl Range {
    /// Selects one key.
    pub fn key(key: impl Into<Bytes>) -> Self {
        Self { key: key.into(), ..Self::default() }
    }

    /// Selects all keys with a prefix.
    pub fn prefix(prefix: impl Into<Bytes>) -> Self {
        let (key, end) = prefix_range(prefix.into());
        Self { key, end, ..Self::default() }
    }

    /// Selects the keys from `from` (inclusive) to `before` (exclusive).
    pub fn between(from: impl Into<Bytes>, before: impl Into<Bytes>) -> Self {
        Self { key: from.into(), end: before.into(), ..Self::default() }
    }

    /// Limits the number of keys; 0, the default, means no limit.
    #[must_use]
    pub fn limit(mut self, keys: u32) -> Self {
        self.limit = keys.into();
        self
    }

    /// Reads at a revision; 0, the default, means the current one.
    #[must_use]
    pub fn revision(mut self, revision: i64) -> Self {
        self.revision = revision;
        self
    }

    /// Allows a stale read from the local member. By default reads are linearizable.
    #[must_use]
    pub fn serializable(mut self) -> Self {
        self.serializable = true;
        self
    }

    /// Omits values.
    #[must_use]
    pub fn keys_only(mut self) -> Self {
        self.keys_only = true;
        self
    }

    /// Requests only the number of keys.
    #[must_use]
    pub fn count_only(mut self) -> Self {
        self.count_only = true;
        self
    }
}

impl Encode for Range {
    fn encode(&self, out: &mut Writer) {
        out.bytes(1, &self.key);
        out.bytes(2, &self.end);
        out.int(3, self.limit);
        out.int(4, self.revision);
        out.bool(7, self.serializable);
        out.bool(8, self.keys_only);
        out.bool(9, self.count_only);
    }
}

/// Response to a [`Range`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct RangeResponse {
    /// Its revision is the current one, also for a read at an older revision.
    pub header: Header,
    /// The keys found, in ascending order.
    pub kvs: Vec<KeyValue>,
    /// Whether there are more keys than the limit.
    pub more: bool,
    /// Number of keys in the range, including those beyond the limit.
    pub count: i64,
}

impl Decode for RangeResponse {
    fn decode(message: Bytes) -> Result<Self, DecodeError> {
        let mut response = Self::default();
        fields(message, |number, value| {
            match number {
                1 => response.header = value.message()?,
                2 => response.kvs.push(value.message()?),
                3 => response.more = value.bool(),
                4 => response.count = value.int(),
                _ => {}
            }
            Ok(())
        })?;
        Ok(response)
    }
}

/// A write of a key.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Put {
    key: Bytes,
    value: Bytes,
    lease: i64,
    previous: bool,
}

impl Put {
    /// Creates a write.
    pub fn new(key: impl Into<Bytes>, value: impl Into<Bytes>) -> Self {
        Self { key: key.into(), value: value.into(), ..Self::default() }
    }

    /// Attaches the key to a lease; none by default.
    #[must_use]
    pub fn lease(mut self, id: i64) -> Self {
        self.lease = id;
        self
    }

    /// Requests the previous key and value in the response.
    #[must_use]
    pub fn previous(mut self) -> Self {
        self.previous = true;
        self
    }
}

impl Encode for Put {
    fn encode(&self, out: &mut Writer) {
        out.bytes(1, &self.key);
        out.bytes(2, &self.value);
        out.int(3, self.lease);
        out.bool(4, self.previous);
    }
}

/// Response to a [`Put`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct PutResponse {
    /// Its revision is that of the write.
    pub header: Header,
    /// The previous key and value, if requested and if the key existed.
    pub previous: Option<KeyValue>,
}

impl Decode for PutResponse {
    fn decode(message: Bytes) -> Result<Self, DecodeError> {
        let mut response = Self::default();
        fields(message, |number, value| {
            match number {
                1 => response.header = value.message()?,
                2 => response.previous = Some(value.message()?),
                _ => {}
            }
            Ok(())
        })?;
        Ok(response)
    }
}

/// A deletion of a key or of a range of keys.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Delete {
    key: Bytes,
    end: Bytes,
    previous: bool,
}

impl Delete {
    /// Selects one key.
    pub fn key(key: impl Into<Bytes>) -> Self {
        Self { key: key.into(), ..Self::default() }
    }

    /// Selects all keys with a prefix.
    pub fn prefix(prefix: impl Into<Bytes>) -> Self {
        let (key, end) = prefix_range(prefix.into());
        Self { key, end, ..Self::default() }
    }

    /// Requests the deleted keys and values in the response.
    #[must_use]
    pub fn previous(mut self) -> Self {
        self.previous = true;
        self
    }
}

impl Encode for Delete {
    fn encode(&self, out: &mut Writer) {
        out.bytes(1, &self.key);
        out.bytes(2, &self.end);
        out.bool(3, self.previous);
    }
}

/// Response to a [`Delete`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct DeleteResponse {
    /// Its revision is that of the deletion, if any key was deleted.
    pub header: Header,
    /// Number of deleted keys.
    pub deleted: i64,
    /// The deleted keys and values, if requested.
    pub previous: Vec<KeyValue>,
}

impl Decode for DeleteResponse {
    fn decode(message: Bytes) -> Result<Self, DecodeError> {
        let mut response = Self::default();
        fields(message, |number, value| {
            match number {
                1 => response.header = value.message()?,
                2 => response.deleted = value.int(),
                3 => response.previous.push(value.message()?),
                _ => {}
            }
            Ok(())
        })?;
        Ok(response)
    }
}

/// A compaction of the history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Compaction {
    pub(crate) revision: i64,
    /// Whether etcd responds only after it has removed the compacted revisions from its database.
    pub(crate) physical: bool,
}

impl Encode for Compaction {
    fn encode(&self, out: &mut Writer) {
        out.int(1, self.revision);
        out.bool(2, self.physical);
    }
}

/// Returns the first key and the range end of a prefix.
pub(super) fn prefix_range(prefix: Bytes) -> (Bytes, Bytes) {
    let end = range_end(&prefix).into();
    let key = if prefix.is_empty() { Bytes::from_static(b"\0") } else { prefix };
    (key, end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::encode;

    #[test]
    fn requests_match_etcds_encoding() {
        assert_eq!(encode(&Range::key("a")), b"\x0a\x01a"[..]);
        let page = Range::prefix("a/").limit(500).revision(7);
        assert_eq!(encode(&page), b"\x0a\x02a/\x12\x02a0\x18\xf4\x03\x20\x07"[..]);
        let all = Range::prefix("").serializable().keys_only().count_only();
        assert_eq!(encode(&all), b"\x0a\x01\0\x12\x01\0\x38\x01\x40\x01\x48\x01"[..]);
        assert_eq!(encode(&Range::between("a", "c")), b"\x0a\x01a\x12\x01c"[..]);
        let put = Put::new("k", "v").lease(-1).previous();
        assert_eq!(
            encode(&put),
            b"\x0a\x01k\x12\x01v\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x20\x01"[..]
        );
        assert_eq!(encode(&Delete::prefix("k").previous()), b"\x0a\x01k\x12\x01l\x18\x01"[..]);
        assert_eq!(encode(&Delete::key("k")), b"\x0a\x01k"[..]);
        assert_eq!(encode(&Compaction { revision: 9, physical: true }), b"\x08\x09\x10\x01"[..]);
    }

    #[test]
    fn responses_match_etcds_encoding() {
        let message = b"\x0a\x08\x08\x01\x10\x02\x18\x0c\x20\x03\x12\x0f\x0a\x01a\x10\x05\x18\x07\x20\x02\x2a\x02hi\x30\x09\x18\x01\x20\x03";
        let response = RangeResponse::decode(Bytes::from_static(message)).unwrap();
        assert_eq!(response.header, Header { cluster: 1, member: 2, revision: 12 });
        assert_eq!((response.more, response.count), (true, 3));
        let kv = KeyValue {
            key: "a".into(),
            value: "hi".into(),
            create_revision: 5,
            mod_revision: 7,
            version: 2,
            lease: 9,
        };
        assert_eq!(response.kvs, std::slice::from_ref(&kv));
        let put = b"\x0a\x02\x18\x0c\x12\x0f\x0a\x01a\x10\x05\x18\x07\x20\x02\x2a\x02hi\x30\x09";
        assert_eq!(PutResponse::decode(Bytes::from_static(put)).unwrap().previous, Some(kv.clone()));
        let delete = b"\x10\x01\x1a\x0f\x0a\x01a\x10\x05\x18\x07\x20\x02\x2a\x02hi\x30\x09";
        let delete = DeleteResponse::decode(Bytes::from_static(delete)).unwrap();
        assert_eq!((delete.deleted, delete.previous), (1, vec![kv]));
    }
}
