//! etcd: a small client of the third version of its API, and informers over what is in it.
//!
//! - [`Etcd`] reads, writes, compares, leases and watches: what etcd itself is asked for, and no more.
//! - [`EtcdSource`] is a prefix of the keys as a [`ListWatch`](watchkeeper_core::ListWatch) source, so that a
//!   project without an API server has the same informers as one with it.
//!
//! ```text
//! EtcdSource -> Etcd -> attempts -> channel -> connection
//!                 |        +-> auth
//!                 +-> message -> codec, grpc
//! ```
//!
//! There is no generated code, and no `protoc`: the messages that are used are few, and written by hand.

mod attempts;
mod auth;
mod builder;
mod channel;
mod client;
mod codec;
mod connection;
mod error;
mod grpc;
mod message;
mod source;
mod tls;
mod watching;

pub use builder::{BuildError, Builder, MAX_MESSAGE};
pub use client::Etcd;
pub use codec::Malformed;
pub use connection::DEAD_AFTER;
pub use error::Error;
pub use message::{
    Answer, Change, ChangeKind, Compare, Comparison, Delete, DeleteResponse, Header, KeyValue, Lease,
    Operation, Put, PutResponse, Range, RangeResponse, Txn, TxnResponse, Watch, WatchResponse,
};
pub use source::{EtcdSource, Json, Keys, Protobuf, Skipped, UnderPrefix, Values};
pub use tls::Tls;
pub use watching::Watching;
