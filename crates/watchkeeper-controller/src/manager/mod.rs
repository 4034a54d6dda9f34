//! Manager: several controllers on one factory, from the first list to the last call.
//!
//! From: an [`InformerFactory`], [controllers](Controller) and other tasks, whoever [elects](Elector), and whoever
//!       says stop: a signal, or a future.
//! To:   a program that begins, says how it is, and ends in order.
//!
//! - G1: no controller runs before all informers have their first list, nor, with an elector, while this process
//!   does not lead.
//! - G2: it ends in this order: changes are not heard any more and calls under way are finished, the lease is
//!   released, the other tasks end, the informers end, and at last the port is closed. After
//!   [`grace`](Manager::grace), what has not ended is dropped, and that is an error.
//! - G3: whatever ends although nobody stopped it ends the whole, and is what is reported: the first of them.
//! - G4: whether it is ready does not depend on whether it leads.
//!
//! Nothing is global: there can be as many managers in a process as one likes. Dropped half-way, all of it ends at
//! once, and the lease runs out.

mod end;
mod group;
mod led;
mod pages;
mod signals;

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::net::SocketAddr;
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::time::{Instant, sleep_until, timeout_at};
use tokio_util::sync::CancellationToken;
use watchkeeper_cache::informer::UnreadyCause;
use watchkeeper_cache::{Informer, InformerFactory};
use watchkeeper_core::{BoxError, Check, Health};
use watchkeeper_metrics::Registry;

use crate::leader::{Elector, LeaseStore};
use crate::{Controller, Reconcile};
use end::End;
use group::Group;
use led::{Added, Elect, Led};
use pages::Pages;

pub use end::ManagerError;

/// How long the end may take.
const GRACE: Duration = Duration::from_secs(35);
/// How long those who end later have at least, whatever the others took.
const LAST: Duration = Duration::from_secs(2);

/// How much longer than its lease lasts a leader may not have renewed before it is not well.
const TOLERANCE: Duration = Duration::from_secs(20);

/// Controllers that begin and end together. Nothing runs before [`run`](Self::run).
///
/// ```no_run
/// # async fn example(client: watchkeeper_client::Client) -> Result<(), Box<dyn std::error::Error>> {
/// use watchkeeper_cache::InformerFactory;
/// use watchkeeper_controller::leader::{Elector, Lease};
/// use watchkeeper_controller::{Action, Controller, Failure, Manager, Request};
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
/// manager.add(Controller::new("shops", &shops).owns(&deployments), |request: Request| async move {
///     println!("{} may be out of order", request.key());
///     Ok::<_, Failure>(Action::Done)
/// });
/// manager.run().await?; // until SIGTERM or SIGINT
/// # Ok(())
/// # }
/// ```
pub struct Manager {
    factory: InformerFactory,
    registry: Option<Registry>,
    pages: Option<Pages>,
    checks: Vec<Check>,
    elector: Option<Box<dyn Elect>>,
    controllers: Vec<Added>,
    tasks: Vec<Task>,
    grace: Duration,
    patience: Option<Duration>,
}

/// Something else that runs.
struct Task {
    name: String,
    begin: Box<Begin>,
}

type Begin = dyn FnOnce(CancellationToken) -> BoxFuture<'static, Result<(), BoxError>> + Send;

impl Manager {
    /// Of controllers whose informers are of this factory, which is started and stopped with the manager.
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
            patience: None,
        }
    }

    /// `/metrics` is the page of this registry, and controllers that are not counted elsewhere are counted there.
    #[must_use]
    pub fn metrics(mut self, registry: &Registry) -> Self {
        self.registry = Some(registry.clone());
        self
    }

    /// Serves `/healthz`, `/livez`, `/readyz` and `/metrics` here, in plain HTTP; port 0 is any that is free. From
    /// now on clients can connect, and wait until the manager runs.
    ///
    /// # Errors
    /// If the address cannot be had.
    pub fn serve(mut self, address: SocketAddr) -> Result<Self, ManagerError> {
        self.pages = Some(Pages::bind(address)?);
        Ok(self)
    }

    /// Where it serves, if it does.
    pub fn address(&self) -> Option<SocketAddr> {
        self.pages.as_ref().map(Pages::address)
    }

    /// One thing more that has to be well; see [`Check::ready_only`].
    #[must_use]
    pub fn check(mut self, check: Check) -> Self {
        self.checks.push(check);
        self
    }

    /// Controllers run only while this process leads (G1). Once it does not any more the manager ends, with
    /// [`ManagerError::LeadershipLost`]: whoever starts it again starts from what is then. That it renews in time, or
    /// 20 seconds later, is one of the checks: see [`Elector::check`].
    #[must_use]
    pub fn elector<S: LeaseStore>(mut self, elector: Elector<S>) -> Self {
        self.checks.push(elector.check(TOLERANCE));
        self.elector = Some(Box::new(elector));
        self
    }

    /// How long the end may take before what is left is dropped (G2); 35 seconds unless said, a little more than
    /// what controllers [have](Controller::grace). Those who end after the controllers have two seconds all the
    /// same.
    #[must_use]
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// How long the first lists may take before that is an error; as long as they like unless said.
    #[must_use]
    pub fn sync_within(mut self, patience: Duration) -> Self {
        self.patience = Some(patience);
        self
    }

    /// Adds a controller.
    pub fn add(&mut self, controller: Controller, reconcile: impl Reconcile) -> &mut Self {
        self.controllers.push(Added::new(controller, reconcile));
        self
    }

    /// Adds something else that runs from the beginning, whoever leads. It is told to end by its token, after all
    /// controllers have; it may end before, and if it ends with an error or panics so does the whole (G3).
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

    /// Runs until the process is told to end by SIGTERM or SIGINT, and ends in order (G2). A second signal ends it
    /// at once. Dropped half-way, all of it ends at once too.
    ///
    /// # Errors
    /// See [`ManagerError`].
    pub async fn run(self) -> Result<(), ManagerError> {
        let mut signals = signals::Signals::new().map_err(ManagerError::Signals)?;
        let (first, told) = tokio::sync::oneshot::channel();
        let twice = async {
            signals.next().await;
            let _ = first.send(()); // nobody hears it if it is over
            signals.next().await;
        };
        let run = self.run_until(async {
            let _ = told.await; // an error: it is over
        });
        tokio::select! {
            biased;
            outcome = run => outcome,
            () = twice => Err(ManagerError::Interrupted),
        }
    }

    /// Runs until `stop`, and ends in order (G2). Dropped half-way, all of it ends at once.
    ///
    /// # Errors
    /// See [`ManagerError`].
    pub async fn run_until(mut self, stop: impl Future<Output = ()>) -> Result<(), ManagerError> {
        self.count()?;
        let (end, mut port) = (End::default(), Group::default());
        let closing = CancellationToken::new();
        if let Some(pages) = self.pages.take() {
            let (health, registry) = (self.health(), self.registry.clone());
            port.spawn("pages", pages.run(health, registry, closing.clone())?);
        }

        self.factory.start();
        let (mut tasks, ending) = (Group::default(), CancellationToken::new());
        for Task { name, begin } in std::mem::take(&mut self.tasks) {
            tasks.spawn(&name, end.unless_well(&name, begin(ending.clone())));
        }
        let (factory, grace) = (self.factory.clone(), self.grace);
        let work = Box::pin(self.work(end.clone()));
        let too_late = async {
            tokio::select! {
                biased;
                () = stop => end.begin(),
                () = end.is_near() => {}
            }
            sleep_until(end.begun() + grace).await;
        };
        tokio::select! {
            biased;
            () = work => {} // the end has begun
            () = too_late => end.overrun("controllers"),
        }

        let deadline = || (end.begun() + grace).max(Instant::now() + LAST);
        ending.cancel();
        tasks.finish(deadline(), &end).await;
        if timeout_at(deadline(), factory.stop()).await.is_err() {
            end.overrun("informers");
        }
        closing.cancel();
        port.finish(deadline(), &end).await;
        end.outcome()
    }

    /// Has the controllers counted, where nobody has said otherwise.
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
        let synced = move || match late(&factory, &informers) {
            late if late.is_empty() => Ok(()),
            late => Err(format!("not synced: {}", late.join("; "))),
        };
        let health = Health::default().check(Check::new("informer-sync", synced).ready_only());
        self.checks.iter().cloned().fold(health, Health::check)
    }

    /// Those that the controllers hear.
    fn informers(&self) -> Vec<Informer> {
        self.controllers.iter().flat_map(|added| added.controller.informers().cloned()).collect()
    }

    /// Waits for the first lists and for the leadership, and runs the controllers until the end begins.
    async fn work(self, end: End) {
        let informers = self.informers();
        let synced = async {
            for informer in &informers {
                informer.wait_until_ready().await; // one that ends before ends its controller
            }
            self.factory.start(); // what was requested since would never be synced
            let _ = self.factory.wait_until_ready(Duration::MAX).await; // an error: it has no informers, or they have ended
        };
        let patience = self.patience.unwrap_or(Duration::MAX);
        let in_time = tokio::select! {
            biased;
            () = end.is_near() => return,
            in_time = tokio::time::timeout(patience, synced) => in_time.is_ok(),
        };
        if !in_time {
            let late = late(&self.factory, &informers);
            return end.because(ManagerError::NotSynced { late, after: patience });
        }
        let led = Led { controllers: self.controllers, end };
        match self.elector {
            None => led.run(std::future::pending()).await,
            Some(elector) => elector.elect(led, self.grace).await,
        }
    }
}

/// The informers without a first list, each with the reason, such as `pods.v1: list failed: ... (401)`.
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
