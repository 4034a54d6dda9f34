//! Informers: one watch, and everybody who wants to know.
//!
//! From: a [`ListWatch`].
//! To:   readers and handlers, as many as like, before it starts or after.
//!
//! - I1: an informer has one reflector and one store, however many read and hear.
//! - I2: starting it twice is starting it once; stopped, it does not start again. Its store stays readable.
//! - I3: an informer that was started runs until [`stop`](Informer::stop), which returns when its task has ended. It
//!   also ends once nobody can notice any more: when no clone of it is left, and no reader, subscription or handler.

mod builder;
mod ending;
mod factory;
mod life;
mod not_synced;

use std::sync::Arc;

use tokio::sync::{Notify, watch};
use watchkeeper_core::{Collection, ListWatch, Object};
use watchkeeper_wire::Kind;

use crate::handler::{EveryEvent, Filter, Resync, Subscription, SubscriptionOptions};
use crate::lock::Mutex;
use crate::metrics::InformerMetrics;
use crate::reader::{Keep, Reader};
use crate::reflector::{Failure, LastFailure, Progress, Reflector, Why};
use crate::store::{Dump, IndexBy, IndexExists, Snapshot, Store, Writer};

pub use builder::FactoryBuilder;
pub use ending::{Ending, Endings};
use ending::{Told, WhenEnded};
pub use factory::InformerFactory;
use life::Life;
pub use not_synced::{NotSynced, Unsynced, UnsyncedCause};

/// A copy of a collection that keeps itself up to date. Clones are of the same informer.
///
/// Once started it runs until it is [stopped](Self::stop), as with client-go, even if the informer and its factory are
/// dropped: readers, subscriptions and handlers stay current. Only when all of these are gone, too, does it end by
/// itself.
///
/// ```no_run
/// # async fn example(source: impl watchkeeper_core::ListWatch + 'static) -> Result<(), Box<dyn std::error::Error>> {
/// use watchkeeper_cache::handler::Handler;
/// use watchkeeper_cache::store::ByField;
/// use watchkeeper_cache::{Informer, Keep};
/// use watchkeeper_wire::Kind;
///
/// let kind = Kind::new("", "v1", "Pod");
/// let pods = Informer::new(kind.clone(), source);
/// pods.add_index("node", ByField::new(kind, "spec.nodeName".parse()?))?;
/// Handler::start(pods.subscribe(Default::default()), |change| println!("{change:?}"));
/// pods.start();
/// pods.synced().await;
///
/// let reader = pods.reader::<serde_json::Value>(Keep::Encoded);
/// println!("{} pods run on n1", reader.by_index("node", "n1")?.items()?.len());
/// pods.stop().await;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Informer {
    shared: Arc<Shared>,
}

struct Shared {
    name: String,
    kind: Kind,
    collection: Option<Collection>,
    store: Store,
    progress: watch::Receiver<Progress>,
    reconnect: Arc<Notify>,
    last_failure: LastFailure,
    /// `None` once it was started.
    reflector: Mutex<Option<Box<Reflector<Writer>>>>,
    life: Arc<Life>,
    resync: Resync,
    when_ended: Mutex<Option<WhenEnded>>,
    ended: watch::Sender<Option<Why>>,
}

impl Informer {
    /// Of the objects of a kind that a source has. It asks for nothing before it is [started](Self::start).
    pub fn new(kind: Kind, source: impl ListWatch + 'static) -> Self {
        Self::configured(kind, source, |reflector| reflector)
    }

    /// As [`new`](Self::new), with a reflector that is set up as one likes: page sizes, patience, an observer of
    /// its failures.
    pub fn configured(
        kind: Kind,
        source: impl ListWatch + 'static,
        configure: impl FnOnce(Reflector<Writer>) -> Reflector<Writer>,
    ) -> Self {
        Self::build(kind, None, source, configure, Resync::Default, None)
    }

    fn build(
        kind: Kind,
        collection: Option<Collection>,
        source: impl ListWatch + 'static,
        configure: impl FnOnce(Reflector<Writer>) -> Reflector<Writer>,
        resync: Resync,
        when_ended: Option<WhenEnded>,
    ) -> Self {
        let (store, writer) = Store::new();
        let life = Arc::new(Life::new());
        let writer = if source.is_ordered() { writer } else { writer.unordered() };
        let name = kind.name().to_string();
        let reflector = configure(Reflector::new(source, writer).name(name));
        Self {
            shared: Arc::new(Shared {
                name: reflector.called().to_owned(),
                kind,
                collection,
                store: store.kept_by(life.clone()),
                progress: reflector.progress(),
                reconnect: reflector.reconnect(),
                last_failure: reflector.last_failure(),
                reflector: Mutex::new(Some(Box::new(reflector))),
                life,
                resync,
                when_ended: Mutex::new(when_ended),
                ended: watch::Sender::new(None),
            }),
        }
    }

    /// Begins to list and to watch, in a task of its own. The second time nothing happens (I2).
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn start(&self) {
        let Some(reflector) = self.shared.reflector.lock().take() else { return };
        let stop = self.shared.life.stopped();
        let told = Told::new(self.shared.ended.clone(), self.shared.when_ended.lock().take());
        let run = async move {
            let outcome = reflector.run(stop).await;
            drop(outcome.sink);
            told.because(outcome.why);
        };
        self.shared.life.run(|| tokio::spawn(run));
    }

    /// Whether it was started.
    pub fn is_started(&self) -> bool {
        self.shared.reflector.lock().is_none()
    }

    /// Waits until the first list is in the store. Handlers may not have heard of all of it yet. False if it
    /// ends before.
    pub async fn synced(&self) -> bool {
        let mut ended = self.shared.ended.subscribe();
        tokio::select! {
            biased;
            () = self.shared.store.synced() => true,
            _ = ended.wait_for(Option::is_some) => self.shared.store.is_synced(),
        }
    }

    /// Whether the first list is in the store.
    pub fn is_synced(&self) -> bool {
        self.shared.store.is_synced()
    }

    /// Ends it, and waits for its task to have ended. One that was never started cannot be started afterwards.
    pub async fn stop(&self) {
        self.shared.life.stop();
        self.forbid();
        self.ended().await;
        self.shared.life.join().await;
    }

    /// If it was not started it never is.
    fn forbid(&self) {
        if self.shared.reflector.lock().take().is_some() {
            self.shared.ended.send_replace(Some(Why::Stopped));
        }
    }

    /// Whether it has ended: see [`ended`](Self::ended).
    pub fn has_ended(&self) -> bool {
        self.shared.ended.borrow().is_some()
    }

    /// Waits until it has ended, and says why: it was stopped, or what it watches is not there any more (see
    /// [`WhenGone::End`](crate::reflector::WhenGone::End)). Who has subscribed hears no more then, and the store
    /// stays as it was.
    pub async fn ended(&self) -> Why {
        let mut ended = self.shared.ended.subscribe();
        match ended.wait_for(Option::is_some).await {
            Ok(why) => why.clone().unwrap_or(Why::Stopped),
            Err(_) => Why::Stopped, // cannot be: the sender is ours
        }
    }

    /// Has it counted, under the name of its reflector. Once it was started, only its store and its handlers are.
    pub fn measure(&self, metrics: &InformerMetrics) {
        let mut reflector = self.shared.reflector.lock();
        metrics.measure(&self.shared.name, reflector.as_deref_mut(), &self.shared.store);
    }

    /// What it is called in logs and metrics: what its reflector is called.
    pub fn name(&self) -> &str {
        &self.shared.name
    }

    /// All that is known of it, as a text; with the bodies of its objects if one asks for
    /// [those](Dump::bodies) of its [kind](Self::kind).
    pub fn dump(&self) -> Dump {
        let phase = match (self.is_started(), self.has_ended()) {
            (_, true) => "ended".to_owned(),
            (false, _) => "not started".to_owned(),
            (true, _) => format!("{:?}", self.shared.progress.borrow().phase).to_lowercase(),
        };
        let mut dump = self.shared.store.dump();
        dump.title = Some(format!("{}: {phase}", self.shared.name));
        dump
    }

    /// How far it has got, for who wants to show it.
    pub fn progress(&self) -> watch::Receiver<Progress> {
        self.shared.progress.clone()
    }

    /// Sends the next request now: drops the request that is under way, or the wait before the next one, and starts the
    /// delays between retries over. A watch resumes after the last version it brought; nothing is listed again.
    ///
    /// For a caller that knows the server is back before the next retry is due, or that connections are dead over which
    /// a watch still waits.
    pub fn reconnect(&self) {
        self.shared.reconnect.notify_one();
    }

    /// The failure of its last list or watch request, until one succeeds.
    pub fn last_failure(&self) -> Option<Arc<Failure>> {
        self.shared.last_failure.get()
    }

    /// Why its first list is not in the store yet; `None` if it is.
    pub fn unsynced(&self) -> Option<UnsyncedCause> {
        if self.is_synced() {
            return None;
        }
        let ended = self.shared.ended.borrow().clone();
        Some(match (ended, self.is_started(), self.last_failure()) {
            (Some(why), ..) => UnsyncedCause::Ended(why),
            (None, false, _) => UnsyncedCause::NotStarted,
            (None, true, Some(failure)) => UnsyncedCause::Failed(failure),
            (None, true, None) => UnsyncedCause::NoAnswer,
        })
    }

    /// What kind its objects are of.
    pub fn kind(&self) -> &Kind {
        &self.shared.kind
    }

    /// Returns the collection it watches. `None` for an informer that was not created by a factory.
    pub fn collection(&self) -> Option<&Collection> {
        self.shared.collection.as_ref()
    }

    /// Its objects as bytes.
    pub fn store(&self) -> &Store {
        &self.shared.store
    }

    /// Its objects as `K`s.
    pub fn reader<K>(&self, keep: Keep) -> Reader<K> {
        Reader::new(self.shared.store.clone(), self.shared.kind.clone(), keep).resync(self.shared.resync)
    }

    /// Adds a way to find objects.
    ///
    /// # Errors
    /// If there is one of this name.
    pub fn add_index(&self, name: &str, by: impl IndexBy<Object> + 'static) -> Result<(), IndexExists> {
        self.shared.store.add_index(name, by)
    }

    /// All objects, and then every change of them.
    pub fn subscribe(&self, mut options: SubscriptionOptions) -> Subscription {
        options.resync = options.resync.or(self.shared.resync);
        Subscription::new(&self.shared.store, options)
    }

    /// All objects as they are now, and every change of them from now on.
    pub(crate) fn subscribe_since(&self) -> (Snapshot, Subscription) {
        let options = SubscriptionOptions { resync: self.shared.resync, ..Default::default() };
        Subscription::since(&self.shared.store, options)
    }

    /// All objects, and then every single event.
    pub fn every_event(&self, filter: Filter, capacity: usize) -> EveryEvent {
        EveryEvent::new(&self.shared.store, filter, capacity)
    }
}

impl std::fmt::Debug for Informer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("Informer");
        shown
            .field("kind", &self.shared.kind.name())
            .field("store", &self.shared.store)
            .finish_non_exhaustive()
    }
}
