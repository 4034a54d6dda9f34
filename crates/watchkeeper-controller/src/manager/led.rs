//! The controllers, which run only while this process leads.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{BoxFuture, join, join_all};
use tokio_util::sync::CancellationToken;
use watchkeeper_cache::Informer;

use super::shutdown::{ManagerError, Shutdown};
use crate::leader::{Elector, Leadership, LeaseStore};
use crate::{Action, Controller, Error, FromRequest};

/// A controller with its reconcile function.
pub(super) struct Added {
    pub(super) controller: Controller,
    run: Box<Run>,
}

type Run = dyn FnOnce(Controller, CancellationToken) -> BoxFuture<'static, ()> + Send;

/// All controllers.
pub(super) struct Led {
    pub(super) controllers: Vec<Added>,
    pub(super) shutdown: Shutdown,
}

impl Added {
    pub(super) fn new<T, C, F, R>(controller: Controller, reconcile: F, context: Arc<C>) -> Self
    where
        T: FromRequest,
        C: Send + Sync + 'static,
        F: Fn(T, Arc<C>) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Action, Error>> + Send + 'static,
    {
        let run: Box<Run> = Box::new(move |controller, stop| {
            Box::pin(async move { controller.run(reconcile, context, stop.cancelled_owned()).await })
        });
        Self { controller, run }
    }

    /// Runs until `stop`. If the controller ends before, the manager shuts down (`manager.G3`).
    async fn run(self, stop: CancellationToken, shutdown: Shutdown) {
        let name = self.controller.name().to_owned();
        let primary: Option<Informer> = self.controller.informers().next().cloned();
        (self.run)(self.controller, stop.clone()).await;
        if let (false, Some(primary)) = (stop.is_cancelled(), primary) {
            let why = primary.exited().await;
            shutdown.fail(ManagerError::ControllerEnded { name, why });
        }
    }
}

impl Led {
    /// Runs until the leadership is lost or shutdown starts, and returns when all controllers have stopped.
    pub(super) async fn run(self, lost: impl Future<Output = ()>) {
        let Self { controllers, shutdown } = self;
        let stop = CancellationToken::new();
        let running = controllers.into_iter().map(|added| added.run(stop.clone(), shutdown.clone()));
        let running = join_all(running.collect::<Vec<_>>());
        let stopping = async {
            tokio::select! {
                () = lost => {}
                () = shutdown.started() => {}
            }
            stop.cancel();
        };
        join(stopping, running).await;
    }
}

/// An [`Elector`] with any store.
pub(super) trait Elect: Send {
    /// Runs the controllers once, while this process leads, and keeps the lease for up to `grace` while they
    /// stop. If that ends before shutdown has started, shutdown starts.
    fn elect(self: Box<Self>, led: Led, grace: Duration) -> BoxFuture<'static, ()>;
}

impl<S: LeaseStore> Elect for Elector<S> {
    fn elect(self: Box<Self>, led: Led, grace: Duration) -> BoxFuture<'static, ()> {
        let shutdown = led.shutdown.clone();
        let lead = |leadership: Leadership| async move { led.run(leadership.lost()).await };
        Box::pin(async move {
            self.renewed_at_end(grace).run(lead, shutdown.started()).await;
            if !shutdown.has_started() {
                shutdown.fail(ManagerError::LeadershipLost);
            }
        })
    }
}
