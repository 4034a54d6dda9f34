//! Open watches, and orders to end them.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Waker;

use futures_util::task::AtomicWaker;
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::{Ending, RequestInfo, Requests};

/// The open watches of a server.
#[derive(Debug, Default)]
pub(crate) struct Watches {
    state: Mutex<State>,
    /// Notified when a watch is opened.
    opened: Notify,
}

#[derive(Debug, Default)]
struct State {
    last_id: u64,
    open: HashMap<u64, Arc<OpenWatch>>,
}

/// An open watch.
#[derive(Debug)]
struct OpenWatch {
    info: RequestInfo,
    /// Whether there is an order, readable without the lock (`faults.X1`).
    ordered: AtomicBool,
    order: Mutex<Option<Ending>>,
    waker: AtomicWaker,
}

/// The registration of an open watch; removed on drop.
#[derive(Debug)]
pub(super) struct WatchRegistration {
    id: u64,
    open: Arc<OpenWatch>,
    watches: Arc<Watches>,
}

impl Watches {
    pub(super) fn open(self: &Arc<Self>, info: RequestInfo) -> WatchRegistration {
        let open =
            OpenWatch { info, ordered: false.into(), order: Mutex::default(), waker: AtomicWaker::new() };
        let open = Arc::new(open);
        let mut state = self.state.lock();
        state.last_id += 1;
        let id = state.last_id;
        state.open.insert(id, open.clone());
        drop(state);
        self.opened.notify_waiters();
        WatchRegistration { id, open, watches: self.clone() }
    }

    pub(super) fn order(&self, which: &Requests, ending: &Ending) -> usize {
        let matching: Vec<_> = self.matching(which);
        for open in &matching {
            *open.order.lock() = Some(ending.clone());
            open.ordered.store(true, Ordering::Release);
            open.waker.wake();
        }
        matching.len()
    }

    pub(super) fn count(&self, which: &Requests) -> usize {
        self.matching(which).len()
    }

    pub(super) async fn opened(&self, which: &Requests, count: usize) {
        loop {
            let opened = self.opened.notified(); // registered before the check, so that nothing is missed
            if self.count(which) >= count {
                return;
            }
            opened.await;
        }
    }

    fn matching(&self, which: &Requests) -> Vec<Arc<OpenWatch>> {
        let state = self.state.lock();
        state.open.values().filter(|open| which.match_with(&open.info)).cloned().collect()
    }
}

impl WatchRegistration {
    /// Returns the order received since the last call.
    pub(super) fn order(&self) -> Option<Ending> {
        if !self.open.ordered.load(Ordering::Acquire) {
            return None;
        }
        let mut order = self.open.order.lock();
        self.open.ordered.store(false, Ordering::Relaxed);
        order.take()
    }

    /// Sets the waker for orders. Check for an order after this.
    pub(super) fn wake(&self, waker: &Waker) {
        self.open.waker.register(waker);
    }
}

impl Drop for WatchRegistration {
    fn drop(&mut self) {
        self.watches.state.lock().open.remove(&self.id);
    }
}
