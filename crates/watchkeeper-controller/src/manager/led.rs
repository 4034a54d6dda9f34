//! Led: what runs only while this process leads.

use std::future::Future;
use std::time::Duration;

use futures_util::future::{BoxFuture, join, join_all};
use tokio_util::sync::CancellationToken;
use watchkeeper_cache::Informer;

use super::end::{End, ManagerError};
use crate::leader::{Elector, Leadership, LeaseStore};
use crate::{Controller, Reconcile};

/// A controller, and what it does.
pub(super) struct Added {
    pub(super) controller: Controller,
    run: Box<Run>,
}

type Run = dyn FnOnce(Controller, CancellationToken) -> BoxFuture<'static, ()> + Send;

/// All controllers.
pub(super) struct Led {
    pub(super) controllers: Vec<Added>,
    pub(super) end: End,
}

impl Added {
    pub(super) fn new(controller: Controller, reconcile: impl Reconcile) -> Self {
        let run: Box<Run> = Box::new(move |controller, stop| {
            Box::pin(async move { controller.run(reconcile, stop.cancelled_owned()).await })
        });
        Self { controller, run }
    }

    /// Runs until it is stopped. If it ends before, so does all (G3).
    async fn run(self, stop: CancellationToken, end: End) {
        let name = self.controller.name().to_owned();
        let primary: Option<Informer> = self.controller.informers().next().cloned();
        (self.run)(self.controller, stop.clone()).await;
        if let (false, Some(primary)) = (stop.is_cancelled(), primary) {
            let why = primary.exited().await;
            end.because(ManagerError::ControllerEnded { name, why });
        }
    }
}

impl Led {
    /// Runs until the leadership is lost or the end begins, and returns when all controllers have ended.
    pub(super) async fn run(self, lost: impl Future<Output = ()>) {
        let Self { controllers, end } = self;
        let stop = CancellationToken::new();
        let running = controllers.into_iter().map(|added| added.run(stop.clone(), end.clone()));
        let running = join_all(running.collect::<Vec<_>>());
        let told = async {
            tokio::select! {
                () = lost => {}
                () = end.is_near() => {}
            }
            stop.cancel();
        };
        join(told, running).await;
    }
}

/// An [`Elector`], whatever its store.
pub(super) trait Elect: Send {
    /// Runs the controllers once, while this process leads, and keeps the lease for so long while they end. If that
    /// ends before the end has begun, so does all.
    fn elect(self: Box<Self>, led: Led, grace: Duration) -> BoxFuture<'static, ()>;
}

impl<S: LeaseStore> Elect for Elector<S> {
    fn elect(self: Box<Self>, led: Led, grace: Duration) -> BoxFuture<'static, ()> {
        let end = led.end.clone();
        let lead = |leadership: Leadership| async move { led.run(leadership.lost()).await };
        Box::pin(async move {
            self.renewed_at_end(grace).run(lead, end.is_near()).await;
            if !end.has_begun() {
                end.because(ManagerError::LeadershipLost);
            }
        })
    }
}
