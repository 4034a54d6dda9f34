//! Source: a prefix of an etcd as a collection.
//!
//! From: [`Etcd`].
//! To:   the reflector, as a [`ListWatch`].
//!
//! A key is an object if the [`Keys`] know it, the [`Values`] can read what it has, and the selector matches. What
//! becomes or ceases to be one while it is watched is added or deleted, so that a watch leads to what a list would
//! show.
//!
//! - S1: a list is of one revision, in however many ranges it is read. Where that has been compacted, the list has
//!   expired.
//! - S2: of the changes of one revision a watch tells all or none, so that after the last version that it told nothing
//!   is missing.
//! - S3: an object's version is the revision that last wrote its key, and its uid the one that created it.

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

pub use keys::{Keys, UnderPrefix};
pub use values::{Json, Protobuf, Values};

use crate::{Etcd, KeyValue};

/// How many keys are read at once, unless said otherwise.
const PAGE_SIZE: NonZeroU32 = NonZeroU32::new(500).expect("500 is not 0");
/// How long a watch says nothing before etcd is asked how far it has got, unless said otherwise.
const PROGRESS_EVERY: Duration = Duration::from_secs(30);

/// All keys with a prefix, as objects to list and to watch.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use watchkeeper_cache::{Informer, Keep};
/// use watchkeeper_etcd::{Etcd, EtcdSource};
/// use watchkeeper_wire::Kind;
///
/// let etcd = Etcd::builder(["http://127.0.0.1:2379"]).build()?;
/// let services = EtcdSource::new(etcd, "/services/"); // /services/NAMESPACE/NAME, or /services/NAME
/// let kind = Kind::new("", "", "Service"); // without a version: of no API
/// let informer = Informer::new(kind, services);
/// informer.start();
/// informer.synced().await;
/// let all = informer.reader::<serde_json::Value>(Keep::Encoded);
/// # Ok(())
/// # }
/// ```
///
/// Values are JSON by default and need no metadata: key, version and uid come from etcd. Anything else has a
/// [reader of its own](Values).
///
/// Lists come from the newest state that a majority of the members agrees on, whatever version is asked for, unless it
/// is an exact one; they are read in ranges, at one revision. A watch has a bookmark at least each minute, even where
/// the prefix is idle and others are not. Initial events are not to be had: a list is as good.
#[derive(Clone)]
pub struct EtcdSource {
    shared: Arc<Collection>,
}

/// What the streams of a source share.
#[derive(Clone)]
struct Collection {
    etcd: Etcd,
    prefix: Bytes,
    keys: Arc<dyn Keys>,
    values: Arc<dyn Values>,
    selector: LabelSelector,
    page_size: NonZeroU32,
    progress_every: Duration,
    skipped: Arc<dyn Fn(&Skipped<'_>) + Send + Sync>,
}

/// A key whose value cannot be read: it is no object.
#[derive(Debug)]
#[non_exhaustive]
pub struct Skipped<'a> {
    /// Which object it would be.
    pub key: &'a ObjectKey,
    /// What etcd has.
    pub kv: &'a KeyValue,
    /// Why it cannot be read.
    pub error: &'a BoxError,
}

impl EtcdSource {
    /// All keys that begin with a prefix, as JSON objects whose names are [what follows it](UnderPrefix).
    pub fn new(etcd: Etcd, prefix: impl Into<Bytes>) -> Self {
        let prefix = prefix.into();
        let keys = Arc::new(UnderPrefix::new(prefix.clone()));
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

    /// Which object a key is.
    #[must_use]
    pub fn keys(mut self, keys: impl Keys + 'static) -> Self {
        self.change().keys = Arc::new(keys);
        self
    }

    /// How values are read.
    #[must_use]
    pub fn values(mut self, values: impl Values + 'static) -> Self {
        self.change().values = Arc::new(values);
        self
    }

    /// Only objects with such labels. etcd knows of no labels: all keys with the prefix are read, and the others left
    /// out here.
    #[must_use]
    pub fn labels(mut self, selector: LabelSelector) -> Self {
        self.change().selector = selector;
        self
    }

    /// How many keys are read at once at most. By default 500; where an answer would be too long, fewer.
    #[must_use]
    pub fn page_size(mut self, keys: NonZeroU32) -> Self {
        self.change().page_size = keys;
        self
    }

    /// How long a watch says nothing before etcd is asked how far it has got, for a bookmark. By default 30 s. etcd says
    /// it by itself as well, by its default every ten minutes.
    #[must_use]
    pub fn progress_every(mut self, time: Duration) -> Self {
        self.change().progress_every = time;
        self
    }

    /// Who hears of values that cannot be read. By default they are logged as errors.
    #[must_use]
    pub fn on_skipped(mut self, hear: impl Fn(&Skipped<'_>) + Send + Sync + 'static) -> Self {
        self.change().skipped = Arc::new(hear);
        self
    }

    fn change(&mut self) -> &mut Collection {
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
    tracing::error!(%key, revision = kv.mod_revision, error = %error, "a value of etcd's cannot be read");
}

impl fmt::Debug for EtcdSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EtcdSource")
            .field("prefix", &self.shared.prefix)
            .field("selector", &self.shared.selector)
            .finish_non_exhaustive()
    }
}
