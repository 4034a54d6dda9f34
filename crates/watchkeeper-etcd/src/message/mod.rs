//! Messages of etcd's API, written by hand after its published `rpc.proto`.
//!
//! Input: [`codec`](crate::codec).
//! Output: users of [`Etcd`](crate::Etcd): requests are builders, responses have public fields.
//!
//! Only the fields that are used are here; all others are skipped.

mod auth;
mod kv;
mod lease;
mod range_end;
mod txn;
mod watch;

use bytes::Bytes;

pub(crate) use auth::{AuthenticateRequest, AuthenticateResponse};
pub(crate) use kv::Compaction;
pub use kv::{Delete, DeleteResponse, KeyValue, Put, PutResponse, Range, RangeResponse};
pub use lease::Lease;
pub(crate) use lease::{LeaseGrantRequest, LeaseId};
pub(crate) use range_end::range_end;
pub use txn::{Compare, CompareOp, Txn, TxnOp, TxnOpResponse, TxnResponse};
pub use watch::{Change, ChangeKind, Watch, WatchResponse};
pub(crate) use watch::{ProgressRequest, WatchRequest};

use crate::codec::{Decode, DecodeError, fields};

/// Header of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Header {
    /// Cluster identifier.
    pub cluster: u64,
    /// Member identifier.
    pub member: u64,
    /// Current revision of the key space when the response was created.
    pub revision: i64,
}

impl Decode for Header {
    fn decode(message: Bytes) -> Result<Self, DecodeError> {
        let mut header = Self::default();
        fields(message, |number, value| {
            match number {
                1 => header.cluster = value.int().cast_unsigned(),
                2 => header.member = value.int().cast_unsigned(),
                3 => header.revision = value.int(),
                _ => {}
            }
            Ok(())
        })?;
        Ok(header)
    }
}

/// A response of which only the header is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct OnlyHeader(pub(crate) Header);

impl Decode for OnlyHeader {
    fn decode(message: Bytes) -> Result<Self, DecodeError> {
        let mut header = Header::default();
        fields(message, |number, value| {
            if number == 1 {
                header = value.message()?;
            }
            Ok(())
        })?;
        Ok(Self(header))
    }
}

macro_rules! public {
    ($($message:ident),+) => {$(
        /// Decodes a message, without gRPC's frame header.
        impl TryFrom<Bytes> for $message {
            type Error = DecodeError;

            fn try_from(message: Bytes) -> Result<Self, DecodeError> {
                Self::decode(message)
            }
        }
    )+};
}

public!(DeleteResponse, Lease, PutResponse, RangeResponse, TxnResponse, WatchResponse);
