//! Transactions: comparisons, and the operations that run if they hold or fail, at one revision.

use bytes::Bytes;

use super::{Delete, DeleteResponse, Header, Put, PutResponse, Range, RangeResponse};
use crate::codec::{Decode, DecodeError, Encode, Value, Writer, fields};

/// A comparison. A key that does not exist has version, revisions and lease 0.
///
/// ```
/// use watchkeeper_etcd::{Compare, CompareOp, Put, Range, Txn};
///
/// // Creates the key, or reads the existing one.
/// let create = Txn::new()
///     .when(Compare::mod_revision("/pods/a", CompareOp::Equal, 0))
///     .then(Put::new("/pods/a", "{}"))
///     .otherwise(Range::key("/pods/a"));
/// # let _ = create;
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compare {
    key: Bytes,
    op: CompareOp,
    with: Target,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Target {
    Version(i64),
    Create(i64),
    Mod(i64),
    Value(Bytes),
    Lease(i64),
}

/// The required order of the property of the key and the given value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CompareOp {
    /// Equal.
    Equal = 0,
    /// Greater.
    Greater = 1,
    /// Less.
    Less = 2,
    /// Not equal.
    NotEqual = 3,
}

impl Compare {
    /// Compares the version: the number of writes since the key was created.
    pub fn version(key: impl Into<Bytes>, op: CompareOp, version: i64) -> Self {
        Self { key: key.into(), op, with: Target::Version(version) }
    }

    /// Compares the revision at which the key was created.
    pub fn create_revision(key: impl Into<Bytes>, op: CompareOp, revision: i64) -> Self {
        Self { key: key.into(), op, with: Target::Create(revision) }
    }

    /// Compares the revision of the last write.
    pub fn mod_revision(key: impl Into<Bytes>, op: CompareOp, revision: i64) -> Self {
        Self { key: key.into(), op, with: Target::Mod(revision) }
    }

    /// Compares the value. The comparison fails if the key does not exist.
    pub fn value(key: impl Into<Bytes>, op: CompareOp, value: impl Into<Bytes>) -> Self {
        Self { key: key.into(), op, with: Target::Value(value.into()) }
    }

    /// Compares the lease.
    pub fn lease(key: impl Into<Bytes>, op: CompareOp, id: i64) -> Self {
        Self { key: key.into(), op, with: Target::Lease(id) }
    }
}

impl Encode for Compare {
    fn encode(&self, out: &mut Writer) {
        out.int(1, self.op as i64);
        let target = match self.with {
            Target::Version(_) => 0,
            Target::Create(_) => 1,
            Target::Mod(_) => 2,
            Target::Value(_) => 3,
            Target::Lease(_) => 4,
        };
        out.int(2, target);
        out.bytes(3, &self.key);
        match &self.with {
            Target::Version(version) => out.some_int(4, *version),
            Target::Create(revision) => out.some_int(5, *revision),
            Target::Mod(revision) => out.some_int(6, *revision),
            Target::Value(value) => out.some_bytes(7, value),
            Target::Lease(id) => out.some_int(8, *id),
        }
    }
}

/// An operation of a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TxnOp {
    /// A read.
    Range(Range),
    /// A write.
    Put(Put),
    /// A deletion.
    Delete(Delete),
}

impl From<Range> for TxnOp {
    fn from(range: Range) -> Self {
        Self::Range(range)
    }
}

impl From<Put> for TxnOp {
    fn from(put: Put) -> Self {
        Self::Put(put)
    }
}

impl From<Delete> for TxnOp {
    fn from(delete: Delete) -> Self {
        Self::Delete(delete)
    }
}

impl Encode for TxnOp {
    fn encode(&self, out: &mut Writer) {
        match self {
            Self::Range(range) => out.message(1, range),
            Self::Put(put) => out.message(2, put),
            Self::Delete(delete) => out.message(3, delete),
        }
    }
}

/// A transaction.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Txn {
    compare: Vec<Compare>,
    then: Vec<TxnOp>,
    otherwise: Vec<TxnOp>,
}

impl Txn {
    /// Creates an empty transaction.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a comparison. The transaction succeeds if all of them hold.
    #[must_use]
    pub fn when(mut self, compare: Compare) -> Self {
        self.compare.push(compare);
        self
    }

    /// Adds an operation that runs if all comparisons hold.
    #[must_use]
    pub fn then(mut self, operation: impl Into<TxnOp>) -> Self {
        self.then.push(operation.into());
        self
    }

    /// Adds an operation that runs if a comparison fails.
    #[must_use]
    pub fn otherwise(mut self, operation: impl Into<TxnOp>) -> Self {
        self.otherwise.push(operation.into());
        self
    }
}

impl Encode for Txn {
    fn encode(&self, out: &mut Writer) {
        self.compare.iter().for_each(|compare| out.message(1, compare));
        self.then.iter().for_each(|operation| out.message(2, operation));
        self.otherwise.iter().for_each(|operation| out.message(3, operation));
    }
}

/// Response to a [`Txn`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct TxnResponse {
    /// Its revision is that of all writes of the transaction.
    pub header: Header,
    /// Whether all comparisons held.
    pub succeeded: bool,
    /// One response per executed operation, in order.
    pub responses: Vec<TxnOpResponse>,
}

/// Response to an operation of a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TxnOpResponse {
    /// To a read.
    Range(RangeResponse),
    /// To a write.
    Put(PutResponse),
    /// To a deletion.
    Delete(DeleteResponse),
}

impl Decode for TxnOpResponse {
    fn decode(message: Bytes) -> Result<Self, DecodeError> {
        let mut response = None;
        fields(message, |number, value: Value| {
            match number {
                1 => response = Some(Self::Range(value.message()?)),
                2 => response = Some(Self::Put(value.message()?)),
                3 => response = Some(Self::Delete(value.message()?)),
                _ => {}
            }
            Ok(())
        })?;
        response.ok_or(DecodeError::UnknownResponse)
    }
}

impl Decode for TxnResponse {
    fn decode(message: Bytes) -> Result<Self, DecodeError> {
        let mut response = Self::default();
        fields(message, |number, value| {
            match number {
                1 => response.header = value.message()?,
                2 => response.succeeded = value.bool(),
                3 => response.responses.push(value.message()?),
                _ => {}
            }
            Ok(())
        })?;
        Ok(response)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::encode;

    #[test]
    fn transactions_match_etcds_encoding() {
        let txn = Txn::new()
            .when(Compare::mod_revision("k", CompareOp::Equal, 0))
            .then(Put::new("k", "v"))
            .otherwise(Range::key("k"));
        let expected =
            b"\x0a\x07\x10\x02\x1a\x01k\x30\x00\x12\x08\x12\x06\x0a\x01k\x12\x01v\x1a\x05\x0a\x03\x0a\x01k";
        assert_eq!(encode(&txn), expected[..]);
    }

    #[test]
    fn comparisons_encode_their_target_even_if_it_is_zero() {
        let table: [(Compare, &[u8]); 5] = [
            (Compare::version("k", CompareOp::Greater, 0), b"\x08\x01\x1a\x01k\x20\x00"),
            (Compare::create_revision("k", CompareOp::Less, 5), b"\x08\x02\x10\x01\x1a\x01k\x28\x05"),
            (Compare::mod_revision("k", CompareOp::NotEqual, 5), b"\x08\x03\x10\x02\x1a\x01k\x30\x05"),
            (Compare::value("k", CompareOp::Equal, ""), b"\x10\x03\x1a\x01k\x3a\x00"),
            (Compare::lease("k", CompareOp::Equal, 0), b"\x10\x04\x1a\x01k\x40\x00"),
        ];
        for (compare, expected) in table {
            assert_eq!(encode(&compare), *expected, "{compare:?}");
        }
    }

    #[test]
    fn responses_are_in_order_and_an_empty_one_is_rejected() {
        let message = b"\x10\x01\x1a\x04\x12\x02\x0a\x00\x1a\x04\x1a\x02\x10\x02\x1a\x04\x0a\x02\x20\x03";
        let response = TxnResponse::decode(Bytes::from_static(message)).unwrap();
        assert!(response.succeeded);
        assert!(matches!(&response.responses[..], [
            TxnOpResponse::Put(_),
            TxnOpResponse::Delete(delete),
            TxnOpResponse::Range(range),
        ] if delete.deleted == 2 && range.count == 3));
        let empty = TxnResponse::decode(Bytes::from_static(b"\x1a\x00"));
        assert_eq!(empty, Err(DecodeError::UnknownResponse));
    }
}
