//! Source: the keys with a prefix, as a collection of objects.
//!
//! Input: [`Etcd`].
//! Output: the reflector, through [`ListWatch`].
//!
//! A key is an object if the [`KeyMapper`] maps it, the [`ValueDecoder`] decodes its value and the selector matches.
//! A watch reports keys that begin or cease to be objects as added or deleted, so that it leads to the same state as
//! a list.
//!
//! Invariants:
//! - `source.S1`: a list is of one revision, however many ranges it is read in. If that is compacted meanwhile, the
//!   list fails as expired.
//! - `source.S2`: a watch delivers all changes of a revision or none, so that it can be resumed after the last
//!   version.
//! - `source.S3`: the resource version of an object is the revision of the last write of its key, and its UID that of
//!   its creation.

mod errors;
mod keys;
mod list;
mod object;
mod position;
mod values;
mod watch;

use std::fmt;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use watchkeeper_core::{
    BoxError, LabelSelector, ListRequest, ListStream, ListWatch, ObjectKey, WatchFuture, WatchRequest,
};

pub use keys::{KeyMapper, PrefixKeys};
pub use values::{Json, Protobuf, ValueDecoder};

use crate::{Etcd, KeyValue};

const PAGE_SIZE: NonZeroU32 = NonZeroU32::new(500).expect("500 is not 0");
const PROGRESS_EVERY: Duration = Duration::from_secs(30);

/// A list/watch source over all keys with a prefix.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use watchkeeper_cache::{Informer, Keep};
/// use watchkeeper_etcd::{Etcd, EtcdSource};
/// use watchkeeper_wire::Kind;
///
/// let etcd = Etcd::builder(["http://127.0.0.1:2379"]).build()?;
/// let services = EtcdSource::new(etcd, "/services/"); // /services/NAMESPACE/NAME, or /services/NAME
/// let kind = Kind::new("", "", "Service"); // no API version: the values are not Kubernetes objects
/// let informer = Informer::new(kind, services);
/// informer.start();
/// informer.wait_until_ready().await;
/// let all = informer.reader::<serde_json::Value>(Keep::Encoded);
/// # Ok(())
/// # }
/// ```
///
/// Values are JSON by default and need no metadata: key, resource version and UID come from etcd. Other formats need
/// a [`ValueDecoder`].
///
/// Lists are linearizable reads of the current state, unless an exact version is requested, and are read in ranges of
/// one revision. An idle watch delivers a bookmark at least every minute. Streaming lists (initial events) are not
/// supported.
#[derive(Clone)]
pub struct EtcdSource {
    shared: Arc<Collection>,
}

/// Shared by the streams of a source.
#[derive(Clone)]
struct Collection {
    etcd: Etcd,
    prefix: Bytes,
    keys: Arc<dyn KeyMapper>,
    values: Arc<dyn ValueDecoder>,
    selector: LabelSelector,
    page_size: NonZeroU32,
    progress_every: Duration,
    skipped: Arc<dyn Fn(&Skipped<'_>) + Send + Sync>,
}

/// A key whose value cannot be decoded, and which is therefore skipped.
#[derive(Debug)]
#[non_exhaustive]
pub struct Skipped<'a> {
    /// Key of the object.
    pub key: &'a ObjectKey,
    /// Key and value in etcd.
    pub kv: &'a KeyValue,
    /// Why the value cannot be decoded.
    pub error: &'a BoxError,
}

impl EtcdSource {
    /// Creates a source of JSON objects, whose keys are [mapped](PrefixKeys) from the part after the prefix.
    pub fn new(etcd: Etcd, prefix: impl Into<Bytes>) -> Self {
        let prefix = prefix.into();
        let keys = Arc::new(PrefixKeys::new(prefix.clone()));
        let shared = Arc::new(Collection {
            etcd,
            prefix,
            keys,
            values: Arc::new(Json),
            selector: LabelSelector::default(),
            page_size: PAGE_SIZE,
            progress_every: PROGRESS_EVERY,
            skipped: Arc::new(log),
        });
        Self { shared }
    }

    /// Sets how etcd keys map to object keys; [`PrefixKeys`] by default.
    #[must_use]
    pub fn keys(mut self, keys: impl KeyMapper + 'static) -> Self {
        self.make_mut().keys = Arc::new(keys);
        self
    }

    /// Sets how values are decoded; [`Json`] by default.
    #[must_use]
    pub fn values(mut self, values: impl ValueDecoder + 'static) -> Self {
        self.make_mut().values = Arc::new(values);
        self
    }

    /// Selects objects by label. etcd has no labels: all keys with the prefix are read and filtered by the client.
    #[must_use]
    pub fn labels(mut self, selector: LabelSelector) -> Self {
        self.make_mut().selector = selector;
        self
    }

    /// Sets the number of keys per range request; 500 by default. It is halved if a response is too large.
    #[must_use]
    pub fn page_size(mut self, keys: NonZeroU32) -> Self {
        self.make_mut().page_size = keys;
        self
    }

    /// Sets after how much idle time a watch requests progress, for a bookmark; 30 s by default. etcd reports
    /// progress by itself too, every ten minutes by default.
    #[must_use]
    pub fn progress_every(mut self, time: Duration) -> Self {
        self.make_mut().progress_every = time;
        self
    }

    /// Sets a callback for values that cannot be decoded. By default they are logged as errors.
    #[must_use]
    pub fn on_skipped(mut self, callback: impl Fn(&Skipped<'_>) + Send + Sync + 'static) -> Self {
        self.make_mut().skipped = Arc::new(callback);
        self
    }

    fn make_mut(&mut self) -> &mut Collection {
        Arc::make_mut(&mut self.shared)
    }
}

impl ListWatch for EtcdSource {
    fn list(&self, request: ListRequest) -> ListStream {
        list::list(self.shared.clone(), request)
    }

    fn watch(&self, request: WatchRequest) -> WatchFuture {
        Box::pin(watch::open(self.shared.clone(), request))
    }

    fn sends_initial_events(&self) -> bool {
        false
    }
}

fn log(skipped: &Skipped<'_>) {
    let Skipped { key, kv, error } = skipped;
    tracing::error!(%key, revision = kv.mod_revision, error = %error, "failed to decode value; key skipped");
}

impl fmt::Debug for EtcdSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EtcdSource")
            .field("prefix", &self.shared.prefix)
            .field("selector", &self.shared.selector)
            .finish_non_exhaustive()
    }
}
