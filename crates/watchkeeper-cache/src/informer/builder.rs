//! Informer builder.

use std::fmt;
use std::sync::Arc;

use tokio::sync::watch;
use watchkeeper_core::{Collection, ListWatch};
use watchkeeper_wire::Kind;

use super::exit::OnExit;
use super::life::Life;
use super::{Informer, Shared};
use crate::handler::Resync;
use crate::lock::Mutex;
use crate::reflector::Reflector;
use crate::store::{Store, Writer};

/// A builder for an [`Informer`]: see [`Informer::builder`].
///
/// ```no_run
/// # fn example(pods: impl watchkeeper_core::ListWatch + 'static) {
/// use std::time::Duration;
/// use watchkeeper_cache::Informer;
/// use watchkeeper_cache::handler::Resync;
/// use watchkeeper_wire::Kind;
///
/// let informer = Informer::builder(Kind::new("", "v1", "Pod"), pods)
///     .resync(Resync::Every(Duration::from_secs(600)))
///     .configure(|reflector| reflector.name("pods of the shop"))
///     .build();
/// # }
/// ```
#[must_use]
pub struct InformerBuilder {
    kind: Kind,
    collection: Option<Collection>,
    store: Store,
    reflector: Reflector<Writer>,
    resync: Resync,
    on_exit: Option<OnExit>,
}

impl InformerBuilder {
    pub(super) fn new(kind: Kind, source: impl ListWatch + 'static) -> Self {
        let (store, writer) = Store::new();
        let writer = if source.is_ordered() { writer } else { writer.unordered() };
        let reflector = Reflector::new(source, writer).name(kind.name().to_string());
        Self { kind, collection: None, store, reflector, resync: Resync::Default, on_exit: None }
    }

    /// Sets the resync period of subscriptions that do not set their own; never by default.
    pub fn resync(mut self, resync: Resync) -> Self {
        self.resync = resync;
        self
    }

    /// Configures the reflector, for example its page size, its observer or a transform.
    pub fn configure(mut self, configure: impl FnOnce(Reflector<Writer>) -> Reflector<Writer>) -> Self {
        self.reflector = configure(self.reflector);
        self
    }

    pub(super) fn collection(mut self, collection: Collection) -> Self {
        self.collection = Some(collection);
        self
    }

    pub(super) fn on_exit(mut self, on_exit: OnExit) -> Self {
        self.on_exit = Some(on_exit);
        self
    }

    /// Creates the informer. Sends no request.
    pub fn build(self) -> Informer {
        let Self { kind, collection, store, reflector, resync, on_exit } = self;
        let life = Arc::new(Life::new());
        Informer {
            shared: Arc::new(Shared {
                name: reflector.called().to_owned(),
                kind,
                collection,
                store: store.kept_by(life.clone()),
                progress: reflector.progress(),
                reconnect: reflector.reconnect(),
                reflector: Mutex::new(Some(Box::new(reflector))),
                life,
                resync,
                on_exit: Mutex::new(on_exit),
                exited: watch::Sender::new(None),
            }),
        }
    }
}

impl fmt::Debug for InformerBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InformerBuilder").field("kind", &self.kind.name()).finish_non_exhaustive()
    }
}
