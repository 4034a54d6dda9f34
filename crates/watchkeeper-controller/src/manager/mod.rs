//! Manager: runs several controllers on one factory, from the first list to a clean shutdown.
//!
//! Input: an [`InformerFactory`], [controllers](Controller) and other tasks, an optional [`Elector`], and a
//! reason to stop: a signal or a future.
//! Output: a program that starts in order, reports its health, and shuts down in order.
//!
//! Invariants:
//! - `manager.G1`: no controller runs before all informers have their first list nor, with an elector, while
//!   this process does not lead.
//! - `manager.G2`: shutdown stops controllers and waits for their calls, releases the lease, stops the other
//!   tasks, stops the informers, and closes the port, in this order. Whatever has not stopped after
//!   [`grace`](Manager::grace) is dropped, and that is an error.
//! - `manager.G3`: a part that ends without being asked to ends the manager; the first such reason is
//!   returned.
//! - `manager.G4`: readiness does not depend on leadership.
//!
//! There is no global state: a process can have any number of managers. Dropping the future of a running
//! manager stops everything at once, and the lease expires.

mod group;
mod led;
mod pages;
mod shutdown;
mod signals;

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::time::{Instant, sleep_until, timeout_at};
use tokio_util::sync::CancellationToken;
use watchkeeper_cache::informer::UnreadyCause;
use watchkeeper_cache::{Informer, InformerFactory};
use watchkeeper_core::{BoxError, Health, HealthCheck};
use watchkeeper_metrics::Registry;

use crate::leader::{Elector, LeaseStore};
use crate::{Action, Controller, Error, FromRequest};
use group::Group;
use led::{Added, Elect, Led};
use pages::Pages;
use shutdown::Shutdown;

pub use shutdown::ManagerError;

/// Default time limit of shutdown.
const GRACE: Duration = Duration::from_secs(35);
/// Minimum time for each part that stops after the controllers.
const LAST: Duration = Duration::from_secs(2);

/// Time beyond the lease duration without a renewal after which the health check of a leader fails.
const TOLERANCE: Duration = Duration::from_secs(20);

/// Controllers that start and stop together. Nothing runs before [`run`](Self::run).
///
/// ```no_run
/// # async fn example(client: watchkeeper_client::Client) -> Result<(), Box<dyn std::error::Error>> {
/// use std::sync::Arc;
///
/// use serde_json::Value;
/// use watchkeeper_cache::InformerFactory;
/// use watchkeeper_controller::leader::{Elector, Lease};
/// use watchkeeper_controller::{Action, Controller, Manager};
/// use watchkeeper_core::Collection;
/// use watchkeeper_metrics::Registry;
///
/// let registry = Registry::new();
/// let factory = InformerFactory::new(client.clone());
/// let shops = factory.informer(&Collection::new("example.com", "v1", "shops", "Shop"));
/// let deployments = factory.informer(&Collection::DEPLOYMENTS);
///
/// let mut manager = Manager::new(&factory)
///     .metrics(&registry)
///     .serve("0.0.0.0:8080".parse()?)?
///     .elector(Elector::new(Lease::new(&client, "shop", "shops-controller"), "pod-1")?);
/// let controller = Controller::new("shops", &shops).owns(&deployments);
/// manager.add(controller, |shop: Arc<Value>, client| async move {
///     println!("reconciling {}", shop["metadata"]["name"]);
///     Ok(Action::await_change())
/// }, Arc::new(client));
/// manager.run().await?; // until SIGTERM or SIGINT
/// # Ok(())
/// # }
/// ```
pub struct Manager {
    factory: InformerFactory,
    registry: Option<Registry>,
    pages: Option<Pages>,
    checks: Vec<HealthCheck>,
    elector: Option<Box<dyn Elect>>,
    controllers: Vec<Added>,
    tasks: Vec<Task>,
    grace: Duration,
    ready_timeout: Option<Duration>,
}

/// A task other than a controller.
struct Task {
    name: String,
    begin: Box<Begin>,
}

type Begin = dyn FnOnce(CancellationToken) -> BoxFuture<'static, Result<(), BoxError>> + Send;

impl Manager {
    /// Creates a manager. It starts and stops `factory`, which should hold the informers of its controllers.
    pub fn new(factory: &InformerFactory) -> Self {
        Self {
            factory: factory.clone(),
            registry: None,
            pages: None,
            checks: Vec::new(),
            elector: None,
            controllers: Vec::new(),
            tasks: Vec::new(),
            grace: GRACE,
            ready_timeout: None,
        }
    }

    /// Serves this registry at `/metrics`, and registers the metrics of controllers that have none yet.
    #[must_use]
    pub fn metrics(mut self, registry: &Registry) -> Self {
        self.registry = Some(registry.clone());
        self
    }

    /// Serves `/healthz`, `/livez`, `/readyz` and `/metrics` on this address, over plain HTTP; port 0 picks a
    /// free port. The port is bound at once: clients can connect, and are answered once the manager runs.
    ///
    /// # Errors
    /// Returns an error if the address cannot be bound.
    pub fn serve(mut self, address: SocketAddr) -> Result<Self, ManagerError> {
        self.pages = Some(Pages::bind(address)?);
        Ok(self)
    }

    /// Returns the address it serves on, if any.
    pub fn address(&self) -> Option<SocketAddr> {
        self.pages.as_ref().map(Pages::address)
    }

    /// Adds a health check; see [`HealthCheck::ready_only`].
    #[must_use]
    pub fn check(mut self, check: HealthCheck) -> Self {
        self.checks.push(check);
        self
    }

    /// Runs controllers only while this process leads (`manager.G1`). When it loses the leadership the
    /// manager stops with [`ManagerError::LeadershipLost`], to be restarted from a clean state. Adds a health
    /// check that the lease is renewed at most 20 seconds late; see [`Elector::check`].
    #[must_use]
    pub fn elector<S: LeaseStore>(mut self, elector: Elector<S>) -> Self {
        self.checks.push(elector.check(TOLERANCE));
        self.elector = Some(Box::new(elector));
        self
    }

    /// Sets the time limit of shutdown, after which the rest is dropped (`manager.G2`). Defaults to 35
    /// seconds, slightly more than that of [controllers](Controller::grace). Each part that stops after the
    /// controllers has at least two seconds.
    #[must_use]
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// Sets a time limit for the first lists. Unlimited by default.
    #[must_use]
    pub fn ready_within(mut self, ready_timeout: Duration) -> Self {
        self.ready_timeout = Some(ready_timeout);
        self
    }

    /// Adds a controller with its reconcile function and a context: see [`Controller::run`].
    pub fn add<T, C, F, R>(&mut self, controller: Controller, reconcile: F, context: Arc<C>) -> &mut Self
    where
        T: FromRequest,
        C: Send + Sync + 'static,
        F: Fn(T, Arc<C>) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Action, Error>> + Send + 'static,
    {
        self.controllers.push(Added::new(controller, reconcile, context));
        self
    }

    /// Adds a task that runs from the start, whether this process leads or not. Its token is cancelled after
    /// all controllers have stopped. It may end earlier; if it fails or panics, the manager shuts down
    /// (`manager.G3`).
    ///
    /// ```no_run
    /// # fn example(manager: &mut watchkeeper_controller::Manager) {
    /// manager.spawn("ticker", |stop| async move {
    ///     let mut ticks = tokio::time::interval(std::time::Duration::from_secs(60));
    ///     while stop.run_until_cancelled(ticks.tick()).await.is_some() {
    ///         println!("still here");
    ///     }
    ///     Ok(())
    /// });
    /// # }
    /// ```
    pub fn spawn<F>(
        &mut self,
        name: &str,
        begin: impl FnOnce(CancellationToken) -> F + Send + 'static,
    ) -> &mut Self
    where
        F: Future<Output = Result<(), BoxError>> + Send + 'static,
    {
        self.tasks.push(Task { name: name.to_owned(), begin: Box::new(|stop| Box::pin(begin(stop))) });
        self
    }

    /// Runs until SIGTERM or SIGINT, and shuts down in order (`manager.G2`). A second signal stops everything
    /// at once, and so does dropping the future.
    ///
    /// # Errors
    /// See [`ManagerError`].
    pub async fn run(self) -> Result<(), ManagerError> {
        let mut signals = signals::Signals::new().map_err(ManagerError::Signals)?;
        let (first, received) = tokio::sync::oneshot::channel();
        let twice = async {
            signals.next().await;
            let _ = first.send(()); // fails if the manager has ended
            signals.next().await;
        };
        let run = self.run_until(async {
            let _ = received.await; // an error means that the manager has ended
        });
        tokio::select! {
            biased;
            outcome = run => outcome,
            () = twice => Err(ManagerError::Interrupted),
        }
    }

    /// Runs until `stop` resolves, and shuts down in order (`manager.G2`). Dropping the future stops
    /// everything at once.
    ///
    /// # Errors
    /// See [`ManagerError`].
    pub async fn run_until(mut self, stop: impl Future<Output = ()>) -> Result<(), ManagerError> {
        self.count()?;
        let (shutdown, mut port) = (Shutdown::default(), Group::default());
        let closing = CancellationToken::new();
        if let Some(pages) = self.pages.take() {
            let (health, registry) = (self.health(), self.registry.clone());
            port.spawn("pages", pages.run(health, registry, closing.clone())?);
        }

        self.factory.start();
        let (mut tasks, ending) = (Group::default(), CancellationToken::new());
        for Task { name, begin } in std::mem::take(&mut self.tasks) {
            tasks.spawn(&name, shutdown.supervise(&name, begin(ending.clone())));
        }
        let (factory, grace) = (self.factory.clone(), self.grace);
        let work = Box::pin(self.work(shutdown.clone()));
        let too_late = async {
            tokio::select! {
                biased;
                () = stop => shutdown.start(),
                () = shutdown.started() => {}
            }
            sleep_until(shutdown.started_at() + grace).await;
        };
        tokio::select! {
            biased;
            () = work => {} // shutdown has started
            () = too_late => shutdown.overrun("controllers"),
        }

        let deadline = || (shutdown.started_at() + grace).max(Instant::now() + LAST);
        ending.cancel();
        tasks.finish(deadline(), &shutdown).await;
        if timeout_at(deadline(), factory.stop()).await.is_err() {
            shutdown.overrun("informers");
        }
        closing.cancel();
        port.finish(deadline(), &shutdown).await;
        shutdown.outcome()
    }

    /// Registers the metrics of controllers that have none yet.
    fn count(&mut self) -> Result<(), ManagerError> {
        let Some(registry) = &self.registry else { return Ok(()) };
        for mut added in std::mem::take(&mut self.controllers) {
            added.controller = added.controller.counted(registry).map_err(ManagerError::Metrics)?;
            self.controllers.push(added);
        }
        Ok(())
    }

    fn health(&self) -> Health {
        let (factory, informers) = (self.factory.clone(), self.informers());
        let ready = move || match late(&factory, &informers) {
            late if late.is_empty() => Ok(()),
            late => Err(format!("informers not ready: {}", late.join("; "))),
        };
        let health = Health::default().check(HealthCheck::new("informer-sync", ready).ready_only());
        self.checks.iter().cloned().fold(health, Health::check)
    }

    /// Returns the informers that the controllers watch.
    fn informers(&self) -> Vec<Informer> {
        self.controllers.iter().flat_map(|added| added.controller.informers().cloned()).collect()
    }

    /// Waits for the first lists and the leadership, and runs the controllers until shutdown starts.
    async fn work(self, shutdown: Shutdown) {
        let informers = self.informers();
        let ready = async {
            for informer in &informers {
                informer.wait_until_ready().await; // one that ends first also ends its controller
            }
            self.factory.start(); // starts informers requested meanwhile
            let _ = self.factory.wait_until_ready(Duration::MAX).await; // an error: no informers, or they have ended
        };
        let ready_timeout = self.ready_timeout.unwrap_or(Duration::MAX);
        let in_time = tokio::select! {
            biased;
            () = shutdown.started() => return,
            in_time = tokio::time::timeout(ready_timeout, ready) => in_time.is_ok(),
        };
        if !in_time {
            let late = late(&self.factory, &informers);
            return shutdown.fail(ManagerError::NotReady { late, after: ready_timeout });
        }
        let led = Led { controllers: self.controllers, shutdown };
        match self.elector {
            None => led.run(std::future::pending()).await,
            Some(elector) => elector.elect(led, self.grace).await,
        }
    }
}

/// Returns the informers without a first list, each with the cause, such as `pods.v1: list failed: ...
/// (401)`.
fn late(factory: &InformerFactory, informers: &[Informer]) -> Vec<String> {
    let own = informers.iter().filter_map(|it| Some((it.name().to_owned(), it.unready()?)));
    let others = factory.unready().into_iter().map(|it| (it.collection.to_string(), it.cause));
    let late: BTreeMap<String, UnreadyCause> = own.chain(others).collect();
    late.into_iter().map(|(name, cause)| format!("{name}: {cause}")).collect()
}

impl fmt::Debug for Manager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let controllers: Vec<_> = self.controllers.iter().map(|added| &added.controller).collect();
        f.debug_struct("Manager").field("controllers", &controllers).finish_non_exhaustive()
    }
}
