//! Watch messages.

use bytes::Bytes;

use super::kv::prefix_range;
use super::{Header, KeyValue};
use crate::codec::{Decode, DecodeError, Encode, Writer, fields};

/// A watch of a key or of a range of keys.
///
/// ```
/// use watchkeeper_etcd::Watch;
///
/// let watch = Watch::prefix("/pods/").from(8).previous().progress();
/// # let _ = watch;
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Watch {
    key: Bytes,
    end: Bytes,
    from: i64,
    previous: bool,
    progress: bool,
}

impl Watch {
    /// Watches one key.
    pub fn key(key: impl Into<Bytes>) -> Self {
        Self { key: key.into(), ..Self::default() }
    }

    /// Watches all keys with a prefix.
    pub fn prefix(prefix: impl Into<Bytes>) -> Self {
        let (key, end) = prefix_range(prefix.into());
        Self { key, end, ..Self::default() }
    }

    /// Sets the first revision; 0, the default, means the next one.
    #[must_use]
    pub fn from(mut self, revision: i64) -> Self {
        self.from = revision;
        self
    }

    /// Includes the previous key and value in changes, unless they are compacted.
    #[must_use]
    pub fn previous(mut self) -> Self {
        self.previous = true;
        self
    }

    /// Requests progress notifications while nothing changes: every ten minutes by etcd's default.
    #[must_use]
    pub fn progress(mut self) -> Self {
        self.progress = true;
        self
    }
}

/// Always requests fragments, so that a large response need not be buffered whole.
impl Encode for Watch {
    fn encode(&self, out: &mut Writer) {
        out.bytes(1, &self.key);
        out.bytes(2, &self.end);
        out.int(3, self.from);
        out.bool(4, self.progress);
        out.bool(6, self.previous);
        out.bool(8, true);
    }
}

/// A request that creates a watch.
#[derive(Debug)]
pub(crate) struct WatchRequest<'a>(pub(crate) &'a Watch);

impl Encode for WatchRequest<'_> {
    fn encode(&self, out: &mut Writer) {
        out.message(1, self.0);
    }
}

/// A request for the progress of a stream's watches.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ProgressRequest;

impl Encode for ProgressRequest {
    fn encode(&self, out: &mut Writer) {
        out.some_bytes(3, b"");
    }
}

/// A response of a watch.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct WatchResponse {
    /// In a progress response, its revision is that up to which all changes were sent.
    pub header: Header,
    /// Whether this is the first response.
    pub created: bool,
    /// Whether this is the last response.
    pub canceled: bool,
    /// The first available revision, if the watch was cancelled because its revision is compacted.
    pub compact_revision: i64,
    /// Why the watch was cancelled.
    pub cancel_reason: String,
    /// Whether the next response continues this one.
    pub fragment: bool,
    /// Changes in the order of revisions. Those of one revision are in one response, or in its fragments.
    pub changes: Vec<Change>,
}

impl WatchResponse {
    /// Returns whether this is a progress notification.
    pub fn is_progress(&self) -> bool {
        self.changes.is_empty() && !self.created && !self.canceled && !self.fragment
    }
}

impl Decode for WatchResponse {
    fn decode(message: Bytes) -> Result<Self, DecodeError> {
        let mut response = Self::default();
        fields(message, |number, value| {
            match number {
                1 => response.header = value.message()?,
                3 => response.created = value.bool(),
                4 => response.canceled = value.bool(),
                5 => response.compact_revision = value.int(),
                6 => response.cancel_reason = value.text()?,
                7 => response.fragment = value.bool(),
                11 => response.changes.push(value.message()?),
                _ => {}
            }
            Ok(())
        })?;
        Ok(response)
    }
}

/// A change of a key; etcd's `Event`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Change {
    /// Write or deletion.
    pub kind: ChangeKind,
    /// The key after the change; for a deletion, only key and `mod_revision` are set.
    pub kv: KeyValue,
    /// The key before the change, if requested and not compacted.
    pub previous: Option<KeyValue>,
}

/// The kind of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ChangeKind {
    /// The key was written.
    #[default]
    Put,
    /// The key was deleted, or its lease expired.
    Delete,
}

impl Decode for Change {
    fn decode(message: Bytes) -> Result<Self, DecodeError> {
        let mut change = Self::default();
        fields(message, |number, value| {
            match number {
                1 if value.int() == 1 => change.kind = ChangeKind::Delete,
                1 => change.kind = ChangeKind::Put,
                2 => change.kv = value.message()?,
                3 => change.previous = Some(value.message()?),
                _ => {}
            }
            Ok(())
        })?;
        Ok(change)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::encode;

    #[test]
    fn watch_requests_match_etcds_encoding() {
        let watch = Watch::prefix("a").from(8).previous().progress();
        let expected = b"\x0a\x0e\x0a\x01a\x12\x01b\x18\x08\x20\x01\x30\x01\x40\x01";
        assert_eq!(encode(&WatchRequest(&watch)), expected[..]);
        assert_eq!(encode(&WatchRequest(&Watch::key("a"))), b"\x0a\x05\x0a\x01a\x40\x01"[..]);
        assert_eq!(encode(&ProgressRequest), b"\x1a\x00"[..]);
    }

    #[test]
    fn changes_cancellations_and_progress_are_distinguished() {
        let deleted = b"\x0a\x02\x18\x09\x5a\x0e\x08\x01\x12\x05\x0a\x01a\x18\x09\x1a\x03\x0a\x01a";
        let response = WatchResponse::decode(Bytes::from_static(deleted)).unwrap();
        assert!(!response.is_progress());
        let change = &response.changes[0];
        assert_eq!((change.kind, change.kv.mod_revision), (ChangeKind::Delete, 9));
        assert_eq!(change.previous.as_ref().map(|kv| &kv.key[..]), Some(&b"a"[..]));

        let expired = b"\x20\x01\x28\x07\x32\x03old";
        let response = WatchResponse::decode(Bytes::from_static(expired)).unwrap();
        assert_eq!((response.canceled, response.compact_revision), (true, 7));
        assert_eq!(response.cancel_reason, "old");

        let progress = b"\x0a\x02\x18\x0b\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
        let response = WatchResponse::decode(Bytes::from_static(progress)).unwrap();
        assert!(response.is_progress());
        assert_eq!(response.header.revision, 11);
        assert_eq!(WatchResponse::decode(Bytes::from_static(b"\x32\x01\xff")), Err(DecodeError::InvalidUtf8));
    }
}
