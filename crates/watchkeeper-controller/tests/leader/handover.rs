//! What one leader has not done the next one does.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::json;
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};
use watchkeeper_cache::InformerFactory;
use watchkeeper_controller::leader::Elector;
use watchkeeper_controller::{Action, Controller, Failure, Manager, Request};
use watchkeeper_core::{Collection, ObjectKey};
use watchkeeper_testkit::TestCluster;

use crate::world::World;

const PROCESSES: u64 = 3;
const SECOND: Duration = Duration::from_secs(1);

/// Who works, and what was done.
#[derive(Clone, Default)]
struct Ledger {
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    /// How many calls of each are under way.
    working: BTreeMap<String, u32>,
    done: BTreeSet<ObjectKey>,
    begun: u64,
    /// Who has done what, in order.
    history: Vec<String>,
}

/// A call that is under way, until it is dropped.
struct Working {
    ledger: Ledger,
    who: String,
    /// The how manieth this is.
    number: u64,
}

impl Ledger {
    fn begin(&self, who: &str) -> Working {
        let mut state = self.state.lock();
        *state.working.entry(who.to_owned()).or_default() += 1;
        assert_eq!(state.working.len(), 1, "two work at once: {:?}", state.working);
        state.begun += 1;
        Working { ledger: self.clone(), who: who.to_owned(), number: state.begun }
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        let mut state = self.ledger.state.lock();
        let left = state.working.get(&self.who).map_or(0, |count| count - 1);
        match left {
            0 => drop(state.working.remove(&self.who)),
            _ => drop(state.working.insert(self.who.clone(), left)),
        }
    }
}

/// One of the processes, which lives, ends or breaks down, and lives again.
async fn live(cluster: Arc<TestCluster>, world: World, ledger: Ledger, number: u64) {
    let maps = Collection::CONFIG_MAPS.namespace(cluster.namespace());
    let way = world.way(number * 31, 3);
    for life in 0_u64.. {
        let who = format!("{number}-{life}");
        let factory = InformerFactory::new(cluster.server().sources());
        let controller = Controller::new("maps", &factory.informer(&maps)).concurrency(2);
        let leads = Arc::new(Notify::new());
        let (told, own) = (leads.clone(), who.clone());
        let elector = Elector::new(way.clone(), &who).unwrap().on_change(move |holder| {
            if holder == own {
                told.notify_one();
            }
        });
        let mut manager = Manager::new(&factory).elector(elector);
        let ledger = ledger.clone();
        manager.add(controller, move |request: Request| {
            let (ledger, who) = (ledger.clone(), who.clone());
            async move {
                if ledger.state.lock().done.contains(request.key()) {
                    return Ok(Action::Done);
                }
                let working = ledger.begin(&who);
                sleep(Duration::from_millis(working.number * 389 % 5000)).await;
                if working.number.is_multiple_of(3) {
                    return Err(Failure::retry("not this time"));
                }
                let mut state = ledger.state.lock();
                state.done.insert(request.key().clone());
                state.history.push(format!("{who}: {}", request.key().name()));
                Ok(Action::Done)
            }
        });
        let time = Duration::from_millis(500 + (number * 1511 + life * 2711) % 9000);
        let enough = async {
            leads.notified().await;
            sleep(time).await;
        };
        if (number + life).is_multiple_of(4) {
            tokio::select! { // it breaks down
                _ = manager.run_until(std::future::pending()) => {}
                () = enough => {}
            }
        } else {
            let _ = manager.run_until(enough).await; // that it does not lead any more is no failure
        }
    }
}

/// So many leaders follow each other while objects are made: who has done which of them, in order.
fn history(changes: u32) -> Vec<String> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let cluster = Arc::new(TestCluster::start().await.unwrap());
        let (world, ledger) = (World::default(), Ledger::default());
        let processes: Vec<_> = (0..PROCESSES)
            .map(|number| tokio::spawn(live(cluster.clone(), world.clone(), ledger.clone(), number)))
            .collect();
        let mut made = BTreeSet::new();
        while world.lease().is_none_or(|held| held.record.transitions < changes) {
            let name = format!("map-{:04}", made.len());
            let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
            cluster.create(map).await.unwrap();
            made.insert(ObjectKey::namespaced(cluster.namespace(), &name));
            sleep(SECOND * 61).await;
        }
        let all_done = async {
            while !made.is_subset(&ledger.state.lock().done) {
                sleep(SECOND).await;
            }
        };
        timeout(SECOND * 600, all_done).await.unwrap();
        for process in processes {
            process.abort();
            assert!(process.await.unwrap_err().is_cancelled(), "it has failed");
        }
        let state = ledger.state.lock();
        assert_eq!(state.done, made, "nothing else is done");
        state.history.clone()
    })
}

#[test]
fn a_thousand_leaders_follow_each_other_and_no_work_is_lost() {
    let history = history(1000);
    assert!(history.len() > 100, "{} objects are too few to say anything", history.len());
}

#[test]
fn the_same_leaders_do_the_same_each_time() {
    assert_eq!(history(30), history(30));
}
