//! Messages: what is said to etcd and what it answers, by hand, from its published `rpc.proto`.
//!
//! From: [`codec`](crate::codec).
//! To:   users of [`Etcd`](crate::Etcd): requests are built, answers have public fields.
//!
//! Only what is used is here; fields that an etcd may add are passed over.

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
pub use txn::{Answer, Compare, Comparison, Operation, Txn, TxnResponse};
pub use watch::{Change, ChangeKind, Watch, WatchResponse};
pub(crate) use watch::{ProgressRequest, WatchRequest};

use crate::codec::{Decode, Malformed, fields};

/// Where an answer comes from, and how far the history had got.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Header {
    /// Which cluster.
    pub cluster: u64,
    /// Which member of it.
    pub member: u64,
    /// The newest revision of the whole key space when the request was answered.
    pub revision: i64,
}

impl Decode for Header {
    fn decode(message: Bytes) -> Result<Self, Malformed> {
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

/// An answer of which nobody wants to know more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct OnlyHeader(pub(crate) Header);

impl Decode for OnlyHeader {
    fn decode(message: Bytes) -> Result<Self, Malformed> {
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
        /// Reads a message, without the frame of gRPC.
        impl TryFrom<Bytes> for $message {
            type Error = Malformed;

            fn try_from(message: Bytes) -> Result<Self, Malformed> {
                Self::decode(message)
            }
        }
    )+};
}

public!(DeleteResponse, Lease, PutResponse, RangeResponse, TxnResponse, WatchResponse);
