//! A new leader finishes what the previous one did not.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::json;
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};
use watchkeeper_cache::InformerFactory;
use watchkeeper_controller::leader::Elector;
use watchkeeper_controller::{Action, Controller, Manager, Request};
use watchkeeper_core::{Collection, ObjectKey};
use watchkeeper_testkit::TestCluster;

use crate::world::World;

const PROCESSES: u64 = 3;
const SECOND: Duration = Duration::from_secs(1);

/// The running calls and the finished work.
#[derive(Clone, Default)]
struct Ledger {
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    /// Number of running calls per process.
    working: BTreeMap<String, u32>,
    done: BTreeSet<ObjectKey>,
    begun: u64,
    /// Finished objects with the process that did the work, in order.
    history: Vec<String>,
}

/// A running call, until it is dropped.
struct Working {
    ledger: Ledger,
    process: String,
    /// Sequence number of the call.
    number: u64,
}

impl Ledger {
    fn begin(&self, process: &str) -> Working {
        let mut state = self.state.lock();
        *state.working.entry(process.to_owned()).or_default() += 1;
        assert_eq!(state.working.len(), 1, "two processes work at once: {:?}", state.working);
        state.begun += 1;
        Working { ledger: self.clone(), process: process.to_owned(), number: state.begun }
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        let mut state = self.ledger.state.lock();
        let left = state.working.get(&self.process).map_or(0, |count| count - 1);
        match left {
            0 => drop(state.working.remove(&self.process)),
            _ => drop(state.working.insert(self.process.clone(), left)),
        }
    }
}

/// One process that runs, stops or crashes, and starts again.
async fn live(cluster: Arc<TestCluster>, world: World, ledger: Ledger, number: u64) {
    let maps = Collection::new("", "v1", "configmaps", "ConfigMap").namespace(cluster.namespace());
    let connection = world.connection(number * 31, 3);
    for life in 0_u64.. {
        let process = format!("{number}-{life}");
        let factory = InformerFactory::new(cluster.server().sources());
        let controller = Controller::new("maps", &factory.informer(&maps)).concurrency(2);
        let leads = Arc::new(Notify::new());
        let (notify, own) = (leads.clone(), process.clone());
        let elector = Elector::new(connection.clone(), &process).unwrap().on_change(move |holder| {
            if holder == own {
                notify.notify_one();
            }
        });
        let mut manager = Manager::new(&factory).elector(elector);
        let ledger = ledger.clone();
        manager.add(
            controller,
            move |request: Request, _| {
                let (ledger, process) = (ledger.clone(), process.clone());
                async move {
                    if ledger.state.lock().done.contains(request.key()) {
                        return Ok(Action::await_change());
                    }
                    let working = ledger.begin(&process);
                    sleep(Duration::from_millis(working.number * 389 % 5000)).await;
                    if working.number.is_multiple_of(3) {
                        return Err("not this time".into());
                    }
                    let mut state = ledger.state.lock();
                    state.done.insert(request.key().clone());
                    state.history.push(format!("{process}: {}", request.key().name()));
                    Ok(Action::await_change())
                }
            },
            Arc::new(()),
        );
        let time = Duration::from_millis(500 + (number * 1511 + life * 2711) % 9000);
        let enough = async {
            leads.notified().await;
            sleep(time).await;
        };
        if (number + life).is_multiple_of(4) {
            tokio::select! { // it crashes
                _ = manager.run_until(std::future::pending()) => {}
                () = enough => {}
            }
        } else {
            let _ = manager.run_until(enough).await; // losing the leadership is expected
        }
    }
}

/// Runs until the leader has changed a number of times while objects are created, and returns which process
/// handled which object, in order.
fn history(changes: u32) -> Vec<String> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let cluster = Arc::new(TestCluster::start().await.unwrap());
        let (world, ledger) = (World::default(), Ledger::default());
        let processes: Vec<_> = (0..PROCESSES)
            .map(|number| tokio::spawn(live(cluster.clone(), world.clone(), ledger.clone(), number)))
            .collect();
        let mut created = BTreeSet::new();
        while world.lease().is_none_or(|held| held.record.transitions < changes) {
            let name = format!("map-{:04}", created.len());
            let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
            cluster.create(map).await.unwrap();
            created.insert(ObjectKey::namespaced(cluster.namespace(), &name));
            sleep(SECOND * 61).await;
        }
        let all_done = async {
            while !created.is_subset(&ledger.state.lock().done) {
                sleep(SECOND).await;
            }
        };
        timeout(SECOND * 600, all_done).await.unwrap();
        for process in processes {
            process.abort();
            assert!(process.await.unwrap_err().is_cancelled(), "it panicked");
        }
        let state = ledger.state.lock();
        assert_eq!(state.done, created, "no other work was done");
        state.history.clone()
    })
}

#[test]
fn no_work_is_lost_across_a_thousand_leaders() {
    let history = history(1000);
    assert!(history.len() > 100, "only {} objects", history.len());
}

#[test]
fn runs_are_deterministic() {
    assert_eq!(history(30), history(30));
}
