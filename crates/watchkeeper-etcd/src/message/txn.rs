//! Transactions: if these hold, do that, and otherwise something else; all at one revision.

use bytes::Bytes;

use super::{Delete, DeleteResponse, Header, Put, PutResponse, Range, RangeResponse};
use crate::codec::{Decode, Encode, Malformed, Value, Writer, fields};

/// What must hold of a key. A key that is not there has 0 for everything.
///
/// ```
/// use watchkeeper_etcd::{Compare, Comparison, Put, Range, Txn};
///
/// // Create, or else read what is there.
/// let create = Txn::new()
///     .when(Compare::mod_revision("/pods/a", Comparison::Equal, 0))
///     .then(Put::new("/pods/a", "{}"))
///     .otherwise(Range::key("/pods/a"));
/// # let _ = create;
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compare {
    key: Bytes,
    how: Comparison,
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

/// How to compare what the key has with what is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// The key's is equal.
    Equal = 0,
    /// The key's is greater.
    Greater = 1,
    /// The key's is less.
    Less = 2,
    /// The key's is another.
    NotEqual = 3,
}

impl Compare {
    /// How often it was written since it was created.
    pub fn version(key: impl Into<Bytes>, how: Comparison, version: i64) -> Self {
        Self { key: key.into(), how, with: Target::Version(version) }
    }

    /// The revision that created it.
    pub fn create_revision(key: impl Into<Bytes>, how: Comparison, revision: i64) -> Self {
        Self { key: key.into(), how, with: Target::Create(revision) }
    }

    /// The revision that last wrote it.
    pub fn mod_revision(key: impl Into<Bytes>, how: Comparison, revision: i64) -> Self {
        Self { key: key.into(), how, with: Target::Mod(revision) }
    }

    /// Its value. A key that is not there compares with nothing.
    pub fn value(key: impl Into<Bytes>, how: Comparison, value: impl Into<Bytes>) -> Self {
        Self { key: key.into(), how, with: Target::Value(value.into()) }
    }

    /// Its lease.
    pub fn lease(key: impl Into<Bytes>, how: Comparison, id: i64) -> Self {
        Self { key: key.into(), how, with: Target::Lease(id) }
    }
}

impl Encode for Compare {
    fn encode(&self, out: &mut Writer) {
        out.int(1, self.how as i64);
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

/// What a transaction does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operation {
    /// Reads.
    Range(Range),
    /// Writes.
    Put(Put),
    /// Deletes.
    Delete(Delete),
}

impl From<Range> for Operation {
    fn from(range: Range) -> Self {
        Self::Range(range)
    }
}

impl From<Put> for Operation {
    fn from(put: Put) -> Self {
        Self::Put(put)
    }
}

impl From<Delete> for Operation {
    fn from(delete: Delete) -> Self {
        Self::Delete(delete)
    }
}

impl Encode for Operation {
    fn encode(&self, out: &mut Writer) {
        match self {
            Self::Range(range) => out.message(1, range),
            Self::Put(put) => out.message(2, put),
            Self::Delete(delete) => out.message(3, delete),
        }
    }
}

/// If all of these hold, do that, and otherwise something else.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Txn {
    compare: Vec<Compare>,
    then: Vec<Operation>,
    otherwise: Vec<Operation>,
}

impl Txn {
    /// Does nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds what must hold.
    #[must_use]
    pub fn when(mut self, compare: Compare) -> Self {
        self.compare.push(compare);
        self
    }

    /// Adds what is done if all of it holds.
    #[must_use]
    pub fn then(mut self, operation: impl Into<Operation>) -> Self {
        self.then.push(operation.into());
        self
    }

    /// Adds what is done if it does not.
    #[must_use]
    pub fn otherwise(mut self, operation: impl Into<Operation>) -> Self {
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

/// What a transaction has done.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct TxnResponse {
    /// Its revision is the one that all of it happened at.
    pub header: Header,
    /// Whether all held that had to.
    pub succeeded: bool,
    /// An answer for each operation, in their order.
    pub answers: Vec<Answer>,
}

/// What an operation of a transaction has done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// It has read.
    Range(RangeResponse),
    /// It has written.
    Put(PutResponse),
    /// It has deleted.
    Delete(DeleteResponse),
}

impl Decode for Answer {
    fn decode(message: Bytes) -> Result<Self, Malformed> {
        let mut answer = None;
        fields(message, |number, value: Value| {
            match number {
                1 => answer = Some(Self::Range(value.message()?)),
                2 => answer = Some(Self::Put(value.message()?)),
                3 => answer = Some(Self::Delete(value.message()?)),
                _ => {}
            }
            Ok(())
        })?;
        answer.ok_or(Malformed::NoOperation)
    }
}

impl Decode for TxnResponse {
    fn decode(message: Bytes) -> Result<Self, Malformed> {
        let mut response = Self::default();
        fields(message, |number, value| {
            match number {
                1 => response.header = value.message()?,
                2 => response.succeeded = value.bool(),
                3 => response.answers.push(value.message()?),
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
    fn a_transaction_is_the_bytes_that_etcd_knows() {
        let txn = Txn::new()
            .when(Compare::mod_revision("k", Comparison::Equal, 0))
            .then(Put::new("k", "v"))
            .otherwise(Range::key("k"));
        let expected =
            b"\x0a\x07\x10\x02\x1a\x01k\x30\x00\x12\x08\x12\x06\x0a\x01k\x12\x01v\x1a\x05\x0a\x03\x0a\x01k";
        assert_eq!(encode(&txn), expected[..]);
    }

    #[test]
    fn every_comparison_says_what_it_compares_even_with_nothing() {
        let table: [(Compare, &[u8]); 5] = [
            (Compare::version("k", Comparison::Greater, 0), b"\x08\x01\x1a\x01k\x20\x00"),
            (Compare::create_revision("k", Comparison::Less, 5), b"\x08\x02\x10\x01\x1a\x01k\x28\x05"),
            (Compare::mod_revision("k", Comparison::NotEqual, 5), b"\x08\x03\x10\x02\x1a\x01k\x30\x05"),
            (Compare::value("k", Comparison::Equal, ""), b"\x10\x03\x1a\x01k\x3a\x00"),
            (Compare::lease("k", Comparison::Equal, 0), b"\x10\x04\x1a\x01k\x40\x00"),
        ];
        for (compare, expected) in table {
            assert_eq!(encode(&compare), *expected, "{compare:?}");
        }
    }

    #[test]
    fn answers_come_in_their_order_and_an_empty_one_is_refused() {
        let message = b"\x10\x01\x1a\x04\x12\x02\x0a\x00\x1a\x04\x1a\x02\x10\x02\x1a\x04\x0a\x02\x20\x03";
        let response = TxnResponse::decode(Bytes::from_static(message)).unwrap();
        assert!(response.succeeded);
        assert!(matches!(&response.answers[..], [
            Answer::Put(_),
            Answer::Delete(delete),
            Answer::Range(range),
        ] if delete.deleted == 2 && range.count == 3));
        let empty = TxnResponse::decode(Bytes::from_static(b"\x1a\x00"));
        assert_eq!(empty, Err(Malformed::NoOperation));
    }
}
