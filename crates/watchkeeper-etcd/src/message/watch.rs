//! Watches: what changes from a revision on.

use bytes::Bytes;

use super::kv::prefix_range;
use super::{Header, KeyValue};
use crate::codec::{Decode, Encode, Malformed, Writer, fields};

/// Which keys to watch, and from when.
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
    /// One key.
    pub fn key(key: impl Into<Bytes>) -> Self {
        Self { key: key.into(), ..Self::default() }
    }

    /// All keys that begin so.
    pub fn prefix(prefix: impl Into<Bytes>) -> Self {
        let (key, end) = prefix_range(prefix.into());
        Self { key, end, ..Self::default() }
    }

    /// The first revision of interest; 0, the default, for the one that comes next.
    #[must_use]
    pub fn from(mut self, revision: i64) -> Self {
        self.from = revision;
        self
    }

    /// Changes have what was there before, where etcd still knows it.
    #[must_use]
    pub fn previous(mut self) -> Self {
        self.previous = true;
        self
    }

    /// etcd tells now and then how far it has got, if nothing else is to be told: every ten minutes by its
    /// default.
    #[must_use]
    pub fn progress(mut self) -> Self {
        self.progress = true;
        self
    }
}

/// Changes that are long come in fragments: who reads them has less to hold.
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

/// Begins a watch.
#[derive(Debug)]
pub(crate) struct WatchRequest<'a>(pub(crate) &'a Watch);

impl Encode for WatchRequest<'_> {
    fn encode(&self, out: &mut Writer) {
        out.message(1, self.0);
    }
}

/// Asks how far the watches of a stream have got.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ProgressRequest;

impl Encode for ProgressRequest {
    fn encode(&self, out: &mut Writer) {
        out.some_bytes(3, b"");
    }
}

/// What a watch says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct WatchResponse {
    /// Where nothing has changed, its revision is how far the watch has got.
    pub header: Header,
    /// Whether this is the first answer.
    pub created: bool,
    /// Whether this is the last answer.
    pub canceled: bool,
    /// Where the watch begins before what etcd still knows: the first revision that it knows.
    pub compact_revision: i64,
    /// Why it is the last answer.
    pub cancel_reason: String,
    /// Whether what comes next belongs to the same answer.
    pub fragment: bool,
    /// What has changed, in the order of revisions. Those of one revision come in one answer.
    pub changes: Vec<Change>,
}

impl WatchResponse {
    /// Whether it only says how far the watch has got.
    pub fn is_progress(&self) -> bool {
        self.changes.is_empty() && !self.created && !self.canceled && !self.fragment
    }
}

impl Decode for WatchResponse {
    fn decode(message: Bytes) -> Result<Self, Malformed> {
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

/// A key that was written or deleted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Change {
    /// Which of the two.
    pub kind: ChangeKind,
    /// What the key is now; of one that was deleted, key and revision alone.
    pub kv: KeyValue,
    /// What it was, where it was asked for and etcd still knows it.
    pub previous: Option<KeyValue>,
}

/// Whether a key was written or deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ChangeKind {
    /// It was written.
    #[default]
    Put,
    /// It was deleted, by somebody or because its lease is over.
    Delete,
}

impl Decode for Change {
    fn decode(message: Bytes) -> Result<Self, Malformed> {
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
    fn a_watch_asks_for_fragments_and_what_it_was_told_to() {
        let watch = Watch::prefix("a").from(8).previous().progress();
        let expected = b"\x0a\x0e\x0a\x01a\x12\x01b\x18\x08\x20\x01\x30\x01\x40\x01";
        assert_eq!(encode(&WatchRequest(&watch)), expected[..]);
        assert_eq!(encode(&WatchRequest(&Watch::key("a"))), b"\x0a\x05\x0a\x01a\x40\x01"[..]);
        assert_eq!(encode(&ProgressRequest), b"\x1a\x00"[..]);
    }

    #[test]
    fn changes_endings_and_progress_are_told_apart() {
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
        assert_eq!(WatchResponse::decode(Bytes::from_static(b"\x32\x01\xff")), Err(Malformed::NoText));
    }
}
