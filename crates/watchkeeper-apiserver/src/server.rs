//! Server: an API server in this process, ready in milliseconds.
//!
//! Invariants:
//! - `server.S1`: when [`start`](Builder::start) returns, requests are served, and the initial objects of every
//!   cluster exist.
//! - `server.S2`: every task belongs to the server: [`stop`](ApiServer::stop) returns once all have ended, and
//!   dropping the server aborts them.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::custom::Definitions;
use crate::expiry::{EVENT_TTL, expire_events};
use crate::faults::{self, CompactError, Faults};
use crate::http::{
    AlwaysAllow, Anonymous, Authenticator, Authority, Authorizer, CertificateError, ConnectionLimits,
    Credentials, HandlerChain, Identity, Kubeconfig, ListenError, MASTERS, NoRandomness, RequestLimits,
    Security, Socket, User, machine,
};
use crate::keyring::Keyring;
use crate::kubelet::Kubelets;
use crate::registry::{self, SharedRegistry};
use crate::store::disk::{DiskStore, OpenError, Recovery};
use crate::store::{HistoryLimits, MemoryStore, Revision, Store, UnversionedError, WriteError};
use futures_util::future::BoxFuture;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use watchkeeper_core::{Health, Status};

use crate::accounts::StoredAccounts;
use crate::admission::AdmissionPlugin;
use crate::api::Api;
use crate::first_objects;
use crate::read::{StoreListWatchFactory, StoreSource};

pub use crate::first_objects::NAMESPACES;

/// The interval at which idle collections are trimmed.
const TRIM_EVERY: Duration = Duration::from_secs(60);

/// The interval at which encoded list items are dropped that were not used since: an idle server drops all of them
/// after two intervals.
const FORGET_MESSAGES_EVERY: Duration = Duration::from_secs(20);

/// The user name of the server for kubelets.
const KUBELET_CLIENT: &str = "kube-apiserver-kubelet-client";

/// The reason that a server could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// Choose another address.
    #[error("failed to listen")]
    Listen(#[from] ListenError),
    /// The system cannot provide random numbers, or an address is not valid in a certificate.
    #[error("failed to create the certificate of the server")]
    Certificate(#[from] CertificateError),
    /// The system cannot provide random numbers.
    #[error("failed to create a token")]
    Random(#[from] NoRandomness),
    /// Check the data directory.
    #[error(transparent)]
    Data(#[from] OpenError),
    /// Nothing was modified. Restore the file, or accept that earlier credentials become invalid.
    #[error(
        "invalid keyring {}: {what}; restore it from a copy, or remove it: the next start creates a new one, and \
         earlier kubeconfigs and tokens become invalid",
        path.display()
    )]
    Keyring {
        /// The file.
        path: PathBuf,
        /// The reason.
        what: &'static str,
    },
    /// The store rejects the initial objects.
    #[error("failed to write the initial objects")]
    Store(#[from] WriteError),
    /// The definitions of custom resources cannot be read.
    #[error("failed to load custom resource definitions: {}", .0.message)]
    Definitions(Status),
    /// A bug: the initial objects are malformed.
    #[error("failed to encode the initial objects")]
    Encode(#[from] UnversionedError),
}

/// Configures and starts a server.
#[must_use]
pub struct Builder {
    address: SocketAddr,
    plain: bool,
    token: Option<String>,
    anonymous: Anonymous,
    authorizer: Arc<dyn Authorizer>,
    history: HistoryLimits,
    storage: Storage,
    accept_loss: bool,
    event_ttl: Duration,
    fault_endpoint: bool,
    connections: ConnectionLimits,
    requests: RequestLimits,
    admission: Vec<Arc<dyn AdmissionPlugin>>,
}

/// The storage of a server.
enum Storage {
    Memory,
    Directory(PathBuf),
    Custom(Arc<dyn Store>),
}

/// An open store, and the keys of the server that uses it.
struct Opened {
    store: Arc<dyn Store>,
    keyring: Keyring,
    /// The contents found in the data directory.
    recovery: Option<Recovery>,
    /// The checks of the store.
    health: Health,
}

impl Storage {
    /// Opens the store, and spawns the task that trims its history until `stop`.
    async fn open(
        self,
        history: HistoryLimits,
        accept_loss: bool,
        stop: &CancellationToken,
        tasks: &mut JoinSet<()>,
    ) -> Result<Opened, StartError> {
        let store: Arc<dyn Store> = match self {
            Self::Custom(store) => store,
            Self::Memory => {
                let memory = Arc::new(MemoryStore::new(history));
                let trimmed = memory.clone();
                tasks.spawn(every(TRIM_EVERY, stop.clone(), move || trimmed.trim()));
                memory
            }
            Self::Directory(directory) => {
                let (disk, keyring) = open_disk(directory, history, accept_loss).await?;
                let (recovery, health) =
                    (Some(disk.recovery().clone()), Health::default().check(disk.check()));
                let store = Arc::new(disk);
                let trimmed = store.clone();
                tasks.spawn(every(TRIM_EVERY, stop.clone(), move || trimmed.trim()));
                return Ok(Opened { store, keyring, recovery, health });
            }
        };
        Ok(Opened { store, keyring: Keyring::generate()?, recovery: None, health: Health::default() })
    }
}

impl Builder {
    /// Sets the address to listen on; the default is a free port on loopback. On `0.0.0.0` or `[::]` the certificate
    /// also covers the host name and the addresses of this machine, and clients in this process connect over
    /// loopback.
    pub fn listen(mut self, address: SocketAddr) -> Self {
        self.address = address;
        self
    }

    /// Disables TLS, which is allowed on loopback only.
    pub fn plain_http(mut self) -> Self {
        self.plain = true;
        self
    }

    /// Sets the administrator's token; the default is a random one, which a data directory preserves.
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.token = Some(token.into());
        self
    }

    /// Sets the policy for requests without credentials; the default is to reject them.
    pub fn anonymous(mut self, anonymous: Anonymous) -> Self {
        self.anonymous = anonymous;
        self
    }

    /// Sets the authorizer that decides requests and access reviews; the default is [`AlwaysAllow`].
    pub fn authorizer(mut self, authorizer: impl Authorizer + 'static) -> Self {
        self.authorizer = Arc::new(authorizer);
        self
    }

    /// Sets the limits of the history, which is kept in memory. Ignored with [`store`](Self::store).
    pub fn history(mut self, limits: HistoryLimits) -> Self {
        self.history = limits;
        self
    }

    /// Sets the store; the default is in memory.
    pub fn store(mut self, store: Arc<dyn Store>) -> Self {
        self.storage = Storage::Custom(store);
        self
    }

    /// Stores objects in this directory across restarts: see [`DiskStore`]. The keys and tokens of the server are
    /// stored too, so that kubeconfigs stay valid.
    pub fn data_dir(mut self, directory: impl Into<PathBuf>) -> Self {
        self.storage = Storage::Directory(directory.into());
        self
    }

    /// Sets whether to open a data directory that has lost acknowledged changes, with what can be read: see
    /// [`DiskStore::recover`]. The default is to refuse it.
    pub fn accept_loss(mut self, accept: bool) -> Self {
        self.accept_loss = accept;
        self
    }

    /// Sets the time for which an event is kept after it was last written; the default is [`EVENT_TTL`], an hour.
    /// Zero keeps events until they are deleted.
    pub fn event_ttl(mut self, time: Duration) -> Self {
        self.event_ttl = time;
        self
    }

    /// Enables fault injection over HTTP at [`/debug/watchkeeper`](crate::faults::document), for authenticated
    /// clients; disabled by default.
    pub fn fault_endpoint(mut self, enabled: bool) -> Self {
        self.fault_endpoint = enabled;
        self
    }

    /// Sets the limits on connections and on unread responses; the default is [`ConnectionLimits::DEFAULT`].
    pub fn connection_limits(mut self, limits: ConnectionLimits) -> Self {
        self.connections = limits;
        self
    }

    /// Sets the limits on requests; the default is [`RequestLimits::DEFAULT`].
    pub fn request_limits(mut self, limits: RequestLimits) -> Self {
        self.requests = limits;
        self
    }

    /// Appends a plugin to the admission chain: see [`admission`](crate::admission).
    pub fn admission(mut self, plugin: impl AdmissionPlugin + 'static) -> Self {
        self.admission.push(Arc::new(plugin));
        self
    }

    /// Starts the server (`server.S1`). If the future is dropped, nothing keeps running.
    ///
    /// # Errors
    /// See [`StartError`].
    pub fn start(self) -> BoxFuture<'static, Result<ApiServer, StartError>> {
        Box::pin(self.start_tasks()) // boxed, so that the crates that await it do not compile the server's code again
    }

    async fn start_tasks(self) -> Result<ApiServer, StartError> {
        let stop = CancellationToken::new();
        let mut tasks = JoinSet::new();
        if self.plain {
            Security::Plain.check(self.address)?;
        }
        // Bound before the directory is opened, so that a server that finds its port taken does not lock the
        // directory.
        let socket = Socket::bind(self.address).await?;
        let opened = self.storage.open(self.history, self.accept_loss, &stop, &mut tasks).await?;
        let Opened { store, keyring, recovery, health } = opened;
        if !self.event_ttl.is_zero() {
            tasks.spawn(expire_events(store.clone(), self.event_ttl, stop.clone()));
        }
        let (security, own) = if self.plain {
            (Security::Plain, None)
        } else {
            secure(&keyring.authority, self.address.ip()).map(|(tls, own)| (tls, Some(own)))?
        };
        let ca_pem = (!self.plain).then(|| keyring.authority.certificate().to_owned());
        let listener = socket.listen(security)?.limits(self.connections);
        let (address, local, url) = (listener.address(), listener.local_address(), listener.url());
        first_objects::create(&*store, address).await?;
        let token = self.token.unwrap_or_else(|| keyring.token.clone());
        let admin = User::new("kubernetes-admin", [MASTERS]);
        let authenticator = Authenticator::default()
            .token(&token, admin)
            .issuer(keyring.issuer(), Arc::new(StoredAccounts::new(store.clone())))
            .anonymous(self.anonymous);
        let registry = SharedRegistry::from(Arc::new(registry::builtin().clone()));
        let definitions = Arc::new(Definitions::new(registry.clone(), store.clone()));
        definitions.settle().await.map_err(StartError::Definitions)?;
        tasks.spawn(definitions.clone().run(stop.clone()));
        let api = Api::new(registry.clone(), store.clone(), local.to_string())
            .definitions(definitions)
            .authenticator(authenticator.clone())
            .authorizer(self.authorizer.clone())
            .kubelets(Kubelets::new(own.as_ref())?);
        let faults = Faults::default();
        let api = self.admission.into_iter().fold(api, Api::admission);
        let api = api.faults(faults.clone(), self.fault_endpoint);
        let messages = api.messages().clone();
        tasks.spawn(every(FORGET_MESSAGES_EVERY, stop.clone(), move || messages.age()));
        let chain = HandlerChain::new(api, authenticator)
            .authorizer(self.authorizer)
            .health(health)
            .limits(self.requests);
        let running = stop.clone();
        tasks.spawn(async move { listener.run(chain, running).await });
        Ok(ApiServer { address, url, token, ca_pem, store, recovery, registry, faults, stop, tasks })
    }
}

/// A running server.
pub struct ApiServer {
    address: SocketAddr,
    url: String,
    token: String,
    ca_pem: Option<String>,
    store: Arc<dyn Store>,
    recovery: Option<Recovery>,
    registry: SharedRegistry,
    faults: Faults,
    stop: CancellationToken,
    tasks: JoinSet<()>,
}

impl ApiServer {
    /// Returns a builder for a server with TLS on loopback, in memory, with a random token.
    pub fn builder() -> Builder {
        Builder {
            address: (Ipv4Addr::LOCALHOST, 0).into(),
            plain: false,
            token: None,
            anonymous: Anonymous::Refused,
            authorizer: Arc::new(AlwaysAllow),
            history: HistoryLimits::default(),
            storage: Storage::Memory,
            accept_loss: false,
            event_ttl: EVENT_TTL,
            fault_endpoint: false,
            connections: ConnectionLimits::DEFAULT,
            requests: RequestLimits::DEFAULT,
            admission: Vec::new(),
        }
    }

    /// Returns the address that the server listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the URL for clients on this machine: `https://127.0.0.1:6443`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the administrator's token.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Returns the certificate authority in PEM; `None` without TLS.
    pub fn ca_pem(&self) -> Option<&str> {
        self.ca_pem.as_deref()
    }

    /// Returns a kubeconfig, to be [rendered](Kubeconfig::render) or [written](Kubeconfig::write).
    pub fn kubeconfig(&self) -> Kubeconfig {
        Kubeconfig {
            server: self.url.clone(),
            authority: self.ca_pem.clone(),
            credentials: Credentials::Token(self.token.clone()),
            namespace: None,
        }
    }

    /// Returns the store.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// Returns what was found in the data directory, if there is one.
    pub fn recovery(&self) -> Option<&Recovery> {
        self.recovery.as_ref()
    }

    /// Returns the fault injector.
    pub fn faults(&self) -> &Faults {
        &self.faults
    }

    /// Drops all history: every version seen so far becomes too old to list or watch from, and continue tokens
    /// expire. Open watches continue. Returns the oldest version available from now on. If the future is dropped, the
    /// compaction may not have happened.
    ///
    /// # Errors
    /// Fails if the store cannot be written or compacted; never fails in memory.
    pub async fn compact(&self) -> Result<Revision, CompactError> {
        faults::compact(&*self.store).await
    }

    /// Returns a list-watch source for a resource inside this process; `None` if the resource does not exist.
    pub fn source(
        &self,
        group: &str,
        version: &str,
        resource: &str,
        namespace: Option<&str>,
    ) -> Option<StoreSource> {
        self.sources().of(group, version, resource, namespace)
    }

    /// Returns sources for all resources, for informers inside this process.
    pub fn sources(&self) -> StoreListWatchFactory {
        StoreListWatchFactory::new(self.registry.clone(), self.store.clone())
    }

    /// Stops the server, and returns once everything has ended (`server.S2`). If the future is dropped, remaining
    /// tasks are aborted.
    pub async fn stop(mut self) {
        self.stop.cancel();
        while self.tasks.join_next().await.is_some() {}
    }
}

/// Returns a TLS configuration with a certificate for this address, and the client certificate for kubelets.
fn secure(authority: &Authority, address: IpAddr) -> Result<(Security, Identity), CertificateError> {
    let names = match address {
        address if address.is_loopback() => Vec::new(),
        address if address.is_unspecified() => machine::names(),
        address => vec![address.to_string()],
    };
    let server = authority.sign_server(&names)?;
    let own = authority.sign_client(KUBELET_CLIENT, &[MASTERS])?;
    Ok((Security::Tls(authority.serve(&server)?), own))
}

/// Opens a store and its keyring on a blocking thread.
async fn open_disk(
    directory: PathBuf,
    limits: HistoryLimits,
    accept_loss: bool,
) -> Result<(DiskStore, Keyring), StartError> {
    let opened = tokio::task::spawn_blocking(move || {
        let disk = if accept_loss {
            DiskStore::recover(directory, limits)?
        } else {
            DiskStore::open(directory, limits)?
        };
        let keyring = Keyring::open(disk.keyring(), disk.recovery().objects > 0)?;
        Ok((disk, keyring))
    });
    opened.await.unwrap_or_else(|failed| std::panic::resume_unwind(failed.into_panic()))
}

async fn every(period: Duration, stop: CancellationToken, work: impl Fn()) {
    let mut ticks = tokio::time::interval(period);
    while stop.run_until_cancelled(ticks.tick()).await.is_some() {
        work();
    }
}
