//! Client: the requests of etcd's v3 API.
//!
//! Input: users, and [`EtcdSource`](crate::EtcdSource).
//! Output: [`grpc`](crate::grpc), over the connection of a [`Channel`]. [`attempts`](crate::attempts) decides about
//! endpoints and retries.

use std::sync::Arc;
use std::time::Duration;

use crate::attempts::{Attempts, Repeat};
use crate::auth::Auth;
use crate::builder::Builder;
use crate::channel::Channel;
use crate::codec::{Decode, Encode, encode};
use crate::error::Error;
use crate::grpc::{Outgoing, frame};
use crate::message::{
    Compaction, Delete, DeleteResponse, Header, Lease, LeaseGrantRequest, LeaseId, OnlyHeader, Put,
    PutResponse, Range, RangeResponse, Txn, TxnResponse, Watch,
};
use crate::watcher::Watcher;

/// An etcd client. Clones share its connection.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use watchkeeper_etcd::{Etcd, Put, Range};
///
/// let etcd = Etcd::builder(["http://127.0.0.1:2379"]).build()?;
/// etcd.put(Put::new("/colours/red", "#f00")).await?;
/// for kv in etcd.range(Range::prefix("/colours/")).await?.kvs {
///     println!("{:?} = {:?} since revision {}", kv.key, kv.value, kv.mod_revision);
/// }
/// # Ok(())
/// # }
/// ```
///
/// It connects on the first request. Every request can fail with any [`Error`]. If the future of a write is dropped,
/// the write may still be applied.
#[derive(Debug, Clone)]
pub struct Etcd {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    channel: Channel,
    auth: Auth,
    timeout: Duration,
    max_message: usize,
}

impl Etcd {
    /// Returns a builder for a client of these endpoints: `http://HOST:PORT` or `https://HOST:PORT`; the default port
    /// is 2379. The client uses the first endpoint that it can reach, and the next when that fails.
    pub fn builder<E: Into<String>>(endpoints: impl IntoIterator<Item = E>) -> Builder {
        Builder::new(endpoints.into_iter().map(Into::into).collect())
    }

    pub(crate) fn new(channel: Channel, auth: Auth, timeout: Duration, max_message: usize) -> Self {
        Self { shared: Arc::new(Shared { channel, auth, timeout, max_message }) }
    }

    /// Reads keys.
    pub async fn range(&self, range: Range) -> Result<RangeResponse, Error> {
        self.unary("/etcdserverpb.KV/Range", &range, Repeat::Reads).await
    }

    /// Writes a key.
    pub async fn put(&self, put: Put) -> Result<PutResponse, Error> {
        self.unary("/etcdserverpb.KV/Put", &put, Repeat::Writes).await
    }

    /// Deletes keys.
    pub async fn delete(&self, delete: Delete) -> Result<DeleteResponse, Error> {
        self.unary("/etcdserverpb.KV/DeleteRange", &delete, Repeat::Writes).await
    }

    /// Runs a transaction.
    pub async fn txn(&self, txn: Txn) -> Result<TxnResponse, Error> {
        self.unary("/etcdserverpb.KV/Txn", &txn, Repeat::Writes).await
    }

    /// Compacts the history before a revision, and waits until it is removed from disk.
    pub async fn compact(&self, revision: i64) -> Result<Header, Error> {
        let request = Compaction { revision, physical: true };
        let OnlyHeader(header) = self.unary("/etcdserverpb.KV/Compact", &request, Repeat::Writes).await?;
        Ok(header)
    }

    /// Grants a lease. The time to live is rounded up to seconds.
    pub async fn lease_grant(&self, ttl: Duration) -> Result<Lease, Error> {
        let seconds = ttl.as_secs().saturating_add(u64::from(ttl.subsec_nanos() > 0));
        let request = LeaseGrantRequest { ttl: i64::try_from(seconds).unwrap_or(i64::MAX) };
        self.unary("/etcdserverpb.Lease/LeaseGrant", &request, Repeat::Writes).await
    }

    /// Renews a lease.
    pub async fn lease_keep_alive(&self, id: i64) -> Result<Lease, Error> {
        let method = "/etcdserverpb.Lease/LeaseKeepAlive";
        let lease: Lease = self.unary(method, &LeaseId(id), Repeat::Reads).await?;
        match lease.ttl {
            1.. => Ok(lease),
            _ => Err(Error::LeaseNotFound),
        }
    }

    /// Revokes a lease and deletes its keys.
    pub async fn lease_revoke(&self, id: i64) -> Result<Header, Error> {
        let method = "/etcdserverpb.Lease/LeaseRevoke";
        let OnlyHeader(header) = self.unary(method, &LeaseId(id), Repeat::Writes).await?;
        Ok(header)
    }

    /// Watches keys. Returns once etcd has created the watch.
    pub async fn watch(&self, watch: &Watch) -> Result<Watcher, Error> {
        let mut attempts = self.attempts("/etcdserverpb.Watch/Watch", Repeat::Reads);
        attempts.needs_leader = true;
        loop {
            let (connection, call) = attempts.begin().await?;
            match attempts.in_time(Watcher::open(connection, call, watch)).await {
                Ok(watcher) => return Ok(watcher),
                Err(error) => attempts.retry(error).await?,
            }
        }
    }

    async fn unary<R: Decode>(
        &self,
        method: &'static str,
        request: &impl Encode,
        repeat: Repeat,
    ) -> Result<R, Error> {
        let request = frame(&encode(request))?;
        let mut attempts = self.attempts(method, repeat);
        loop {
            let (mut connection, call) = attempts.begin().await?;
            let body = Outgoing::One(Some(request.clone()));
            let response = async { call.send(&mut connection, body).await?.only().await };
            match attempts.in_time(response).await {
                Ok(message) => return Ok(R::decode(message)?),
                Err(error) => attempts.retry(error).await?,
            }
        }
    }

    fn attempts(&self, method: &'static str, repeat: Repeat) -> Attempts<'_> {
        let Shared { channel, auth, timeout, max_message } = &*self.shared;
        Attempts::new(channel, auth, *timeout, *max_message, method, repeat)
    }
}
