//! Server: an API server in this process, from nothing to ready in milliseconds.
//!
//! - S1: when [`start`](Builder::start) returns, requests are answered and the objects that every cluster
//!   has are there.
//! - S2: every task belongs to the server: [`stop`](ApiServer::stop) returns once all have ended, and
//!   dropping the server cuts them off.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::custom::Definitions;
use crate::expiry::{EVENT_TTL, expire_events};
use crate::faults::{self, CompactError, Faults};
use crate::http::{
    Anonymous, Authenticator, Authority, CertificateError, ConnectionLimits, Credentials, Front, Identity,
    Kubeconfig, ListenError, MASTERS, NoRandomness, RequestLimits, Security, Socket, User, machine,
};
use crate::keyring::Keyring;
use crate::kubelet::Kubelets;
use crate::registry::{self, SharedRegistry};
use crate::store::disk::{DiskStore, OpenError, Recovery};
use crate::store::{HistoryLimits, MemoryStore, NoPlace, Revision, Store, WriteError};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use watchkeeper_core::{Health, Status};

use crate::accounts::StoredAccounts;
use crate::api::Api;
use crate::first_objects;
use crate::read::{StoreSource, StoreSources};

pub use crate::first_objects::NAMESPACES;

/// How often the history is trimmed that no write trims.
const TRIM_EVERY: Duration = Duration::from_secs(60);

/// How often messages are dropped that nobody has listed since the last time: at the second time all of them.
const FORGET_MESSAGES_EVERY: Duration = Duration::from_secs(20);

/// Whom kubelets know the server by.
const KUBELET_CLIENT: &str = "kube-apiserver-kubelet-client";

/// Why a server could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// Choose another address.
    #[error("the server cannot listen")]
    Listen(#[from] ListenError),
    /// The system has no random numbers, or an address is no name for a certificate.
    #[error("the server cannot have a certificate")]
    Certificate(#[from] CertificateError),
    /// The system has no random numbers.
    #[error("the server cannot have a token")]
    Random(#[from] NoRandomness),
    /// See what the data directory needs.
    #[error(transparent)]
    Data(#[from] OpenError),
    /// Nothing was changed. Bring the file back, or give up what was given out.
    #[error(
        "{} cannot be used: {what}; restore it from a copy, or remove it: the next start makes a new one, by which \
         neither the kubeconfigs nor the tokens of before are known",
        path.display()
    )]
    Keyring {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: &'static str,
    },
    /// The store does not take what every cluster has.
    #[error("the first objects cannot be written")]
    Store(#[from] WriteError),
    /// The store does not give the definitions of custom resources.
    #[error("custom resources cannot be served: {}", .0.message)]
    Definitions(Status),
    /// A bug: what every cluster has is malformed.
    #[error("the first objects cannot be encoded")]
    Encode(#[from] NoPlace),
}

/// How a server is to be.
#[must_use]
pub struct Builder {
    address: SocketAddr,
    plain: bool,
    token: Option<String>,
    anonymous: Anonymous,
    history: HistoryLimits,
    keeping: Keeping,
    accept_loss: bool,
    event_ttl: Duration,
    fault_endpoint: bool,
    connections: ConnectionLimits,
    requests: RequestLimits,
}

/// Where objects are kept.
enum Keeping {
    Memory,
    Directory(PathBuf),
    Elsewhere(Arc<dyn Store>),
}

impl Builder {
    /// Where to listen; by default on loopback, on any port that is free. On `0.0.0.0` or `[::]` the certificate is also for
    /// the host name and the addresses of this machine, and clients of this process connect by loopback.
    pub fn listen(mut self, address: SocketAddr) -> Self {
        self.address = address;
        self
    }

    /// Without TLS, which is for loopback only.
    pub fn plain_http(mut self) -> Self {
        self.plain = true;
        self
    }

    /// The token of the administrator; by default a random one, which a data directory keeps.
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.token = Some(token.into());
        self
    }

    /// What becomes of those who give nothing; by default they are refused.
    pub fn anonymous(mut self, anonymous: Anonymous) -> Self {
        self.anonymous = anonymous;
        self
    }

    /// How much history is kept, always in memory. It says nothing to a store of one's own.
    pub fn history(mut self, limits: HistoryLimits) -> Self {
        self.history = limits;
        self
    }

    /// What to keep objects in; by default memory.
    pub fn store(mut self, store: Arc<dyn Store>) -> Self {
        self.keeping = Keeping::Elsewhere(store);
        self
    }

    /// Keeps objects in this directory, where the next server finds them again: see [`DiskStore`]. It keeps what
    /// clients know the server by and are known by too: kubeconfigs and tokens are good after every start.
    pub fn data_dir(mut self, directory: impl Into<PathBuf>) -> Self {
        self.keeping = Keeping::Directory(directory.into());
        self
    }

    /// Whether a data directory that has lost acknowledged changes is opened all the same, with what can be read: see
    /// [`DiskStore::recover`]. By default it is refused.
    pub fn accept_loss(mut self, accept: bool) -> Self {
        self.accept_loss = accept;
        self
    }

    /// How long an event stays after it was last written; by default [`EVENT_TTL`], which is an hour. Zero
    /// keeps events until they are deleted.
    pub fn event_ttl(mut self, time: Duration) -> Self {
        self.event_ttl = time;
        self
    }

    /// Whether faults can be asked for over the wire, under
    /// [`/debug/watchkeeper`](crate::faults::document); by default they cannot. Who asks must be known, as
    /// everywhere.
    pub fn fault_endpoint(mut self, enabled: bool) -> Self {
        self.fault_endpoint = enabled;
        self
    }

    /// Limits of connections, and of what clients leave unread; by default [`ConnectionLimits::DEFAULT`].
    pub fn connection_limits(mut self, limits: ConnectionLimits) -> Self {
        self.connections = limits;
        self
    }

    /// Limits of requests; by default [`RequestLimits::DEFAULT`].
    pub fn request_limits(mut self, limits: RequestLimits) -> Self {
        self.requests = limits;
        self
    }

    /// Starts the server (S1). If dropped half-way, nothing runs on.
    ///
    /// # Errors
    /// See [`StartError`].
    pub async fn start(self) -> Result<ApiServer, StartError> {
        let stop = CancellationToken::new();
        let mut tasks = JoinSet::new();
        if self.plain {
            Security::Plain.suits(self.address)?;
        }
        // Before the directory is opened: whoever finds the port taken has not taken the directory.
        let socket = Socket::bind(self.address).await?;
        let (mut kept, mut recovery, mut health) = (None, None, Health::default());
        let store: Arc<dyn Store> = match self.keeping {
            Keeping::Elsewhere(store) => store,
            Keeping::Memory => {
                let memory = Arc::new(MemoryStore::new(self.history));
                let trimmed = memory.clone();
                tasks.spawn(every(TRIM_EVERY, stop.clone(), move || trimmed.trim()));
                memory
            }
            Keeping::Directory(directory) => {
                let (disk, keyring) = open_disk(directory, self.history, self.accept_loss).await?;
                let disk = Arc::new(disk);
                kept = Some(keyring);
                recovery = Some(disk.recovery().clone());
                health = health.check(disk.check());
                let trimmed = disk.clone();
                tasks.spawn(every(TRIM_EVERY, stop.clone(), move || trimmed.trim()));
                disk
            }
        };
        if !self.event_ttl.is_zero() {
            tasks.spawn(expire_events(store.clone(), self.event_ttl, stop.clone()));
        }
        let keyring = match kept {
            Some(keyring) => keyring,
            None => Keyring::generate()?,
        };
        let (security, own) = match self.plain {
            true => (Security::Plain, None),
            false => secure(&keyring.authority, self.address.ip()).map(|(tls, own)| (tls, Some(own)))?,
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
            .kubelets(Kubelets::new(own.as_ref())?);
        let faults = Faults::default();
        let api = api.faults(faults.clone(), self.fault_endpoint);
        let messages = api.messages().clone();
        tasks.spawn(every(FORGET_MESSAGES_EVERY, stop.clone(), move || messages.age()));
        let front = Front::new(api, authenticator).health(health).limits(self.requests);
        let running = stop.clone();
        tasks.spawn(async move { listener.run(front, running).await });
        Ok(ApiServer { address, url, token, ca_pem, store, recovery, registry, faults, stop, tasks })
    }
}

/// A server that is running.
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
    /// A server with TLS on loopback, in memory, with a random token.
    pub fn builder() -> Builder {
        Builder {
            address: (Ipv4Addr::LOCALHOST, 0).into(),
            plain: false,
            token: None,
            anonymous: Anonymous::Refused,
            history: HistoryLimits::default(),
            keeping: Keeping::Memory,
            accept_loss: false,
            event_ttl: EVENT_TTL,
            fault_endpoint: false,
            connections: ConnectionLimits::DEFAULT,
            requests: RequestLimits::DEFAULT,
        }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// `https://127.0.0.1:6443`, for a client on this machine.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The token of the administrator.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Who vouches for it, in PEM; `None` without TLS.
    pub fn ca_pem(&self) -> Option<&str> {
        self.ca_pem.as_deref()
    }

    /// What a client needs to know, to be [rendered](Kubeconfig::render) or [written](Kubeconfig::write).
    pub fn kubeconfig(&self) -> Kubeconfig {
        Kubeconfig {
            server: self.url.clone(),
            authority: self.ca_pem.clone(),
            credentials: Credentials::Token(self.token.clone()),
            namespace: None,
        }
    }

    /// What it keeps objects in.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// What was found in its data directory, if it has one.
    pub fn recovery(&self) -> Option<&Recovery> {
        self.recovery.as_ref()
    }

    /// What goes wrong, and what is to.
    pub fn faults(&self) -> &Faults {
        &self.faults
    }

    /// Forgets all history now: every version that anybody has seen by then is too old to be watched or
    /// listed from, and the tokens of lists that are half read have expired. Watches that are open go on.
    /// Returns the version that is the oldest from here on. If dropped half-way, it may not have happened.
    ///
    /// # Errors
    /// Where the store can neither be written nor compacted, which in memory it can.
    pub async fn compact(&self) -> Result<Revision, CompactError> {
        faults::compact(&*self.store).await
    }

    /// The objects of a resource, for a reflector of this process; `None` where there is no such resource.
    pub fn source(
        &self,
        group: &str,
        version: &str,
        resource: &str,
        namespace: Option<&str>,
    ) -> Option<StoreSource> {
        self.sources().of(group, version, resource, namespace)
    }

    /// All its collections, for informers of this process.
    pub fn sources(&self) -> StoreSources {
        StoreSources::new(self.registry.clone(), self.store.clone())
    }

    /// Stops, and returns once everything has ended (S2). If dropped half-way, what is left is cut off.
    pub async fn stop(mut self) {
        self.stop.cancel();
        while self.tasks.join_next().await.is_some() {}
    }
}

/// TLS by a certificate for this address, and what kubelets know the server by.
fn secure(authority: &Authority, address: IpAddr) -> Result<(Security, Identity), CertificateError> {
    let names = match address {
        address if address.is_loopback() => Vec::new(),
        address if address.is_unspecified() => machine::names(),
        address => vec![address.to_string()],
    };
    let server = authority.vouch_for_server(&names)?;
    let own = authority.vouch_for_client(KUBELET_CLIENT, &[MASTERS])?;
    Ok((Security::Tls(authority.serve(&server)?), own))
}

/// Opens a store and its keyring on a blocking thread.
async fn open_disk(
    directory: PathBuf,
    limits: HistoryLimits,
    accept_loss: bool,
) -> Result<(DiskStore, Keyring), StartError> {
    let opened = tokio::task::spawn_blocking(move || {
        let disk = match accept_loss {
            true => DiskStore::recover(directory, limits)?,
            false => DiskStore::open(directory, limits)?,
        };
        let keyring = Keyring::open(&disk)?;
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
