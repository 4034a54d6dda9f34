//! etcd: a small client of the v3 API, and informers over etcd keys.
//!
//! - [`Etcd`] is a client for ranges, puts, deletes, transactions, leases and watches.
//! - [`EtcdSource`] is a [`ListWatch`](watchkeeper_core::ListWatch) source over a key prefix: informers without an
//!   API server.
//!
//! ```text
//! EtcdSource -> Etcd -> attempts -> channel -> connection
//!                 |        +-> auth
//!                 +-> message -> codec, grpc
//! ```
//!
//! There is no generated code and no `protoc`: the few messages that are used are written by hand (decision 17).

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
mod watcher;

pub use builder::{BuildError, Builder, MAX_MESSAGE};
pub use client::Etcd;
pub use codec::DecodeError;
pub use connection::DEAD_AFTER;
pub use error::Error;
pub use message::{
    Change, ChangeKind, Compare, CompareOp, Delete, DeleteResponse, Header, KeyValue, Lease, Put,
    PutResponse, Range, RangeResponse, Txn, TxnOp, TxnOpResponse, TxnResponse, Watch, WatchResponse,
};
pub use source::{EtcdSource, Json, KeyMapper, PrefixKeys, Protobuf, Skipped, ValueDecoder};
pub use tls::Tls;
pub use watcher::Watcher;
