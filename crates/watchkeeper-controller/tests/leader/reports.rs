//! Metrics, callbacks and health of an election.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::sleep;
use watchkeeper_controller::leader::{Elector, Held, Leadership, LeaseError, LeaseStore, Record};
use watchkeeper_core::{Health, ResourceVersion};
use watchkeeper_metrics::Registry;

use crate::world::{Connection, World};

const SECOND: Duration = Duration::from_secs(1);

/// A connection that stops answering.
#[derive(Clone)]
struct Line {
    connection: Connection,
    is_dead: Arc<AtomicBool>,
    /// Number of requests that stay unanswered before others are answered.
    lost: Arc<Mutex<u32>>,
}

impl Line {
    fn new(world: &World) -> Self {
        Self { connection: world.connection(1, 0), is_dead: Arc::default(), lost: Arc::default() }
    }

    async fn pass(&self) {
        let is_lost = {
            let mut lost = self.lost.lock();
            let is_lost = *lost > 0;
            *lost = lost.saturating_sub(1);
            is_lost
        };
        if is_lost || self.is_dead.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
    }
}

impl LeaseStore for Line {
    async fn read(&self) -> Result<Option<Held>, LeaseError> {
        self.pass().await;
        self.connection.read().await
    }

    async fn create(&self, record: &Record) -> Result<Held, LeaseError> {
        self.pass().await;
        self.connection.create(record).await
    }

    async fn replace(&self, version: &ResourceVersion, record: &Record) -> Result<Held, LeaseError> {
        self.pass().await;
        self.connection.replace(version, record).await
    }
}

fn value(registry: &Registry, metric: &str) -> String {
    let page = registry.render();
    let series = format!("{metric}{{name=\"shops\"}} ");
    page.lines().find_map(|line| line.strip_prefix(&series)).unwrap_or("none").to_owned()
}

#[tokio::test(start_paused = true)]
async fn metrics_report_leadership_and_slow_renewals() {
    let (world, registry) = (World::default(), Registry::new());
    let elector = Elector::new(world.connection(1, 0), "me").unwrap().metrics(&registry, "shops").unwrap();
    assert_eq!(value(&registry, "leader_election_master_status"), "0");
    let (metrics, changed) = (registry.clone(), world.clone());
    let lead = |_: Leadership| async move {
        assert_eq!(value(&metrics, "leader_election_master_status"), "1");
        sleep(SECOND * 10).await;
        assert_eq!(value(&metrics, "leader_election_slowpath_total"), "0");
        changed.set(changed.lease().unwrap().record); // another client changes the object
        sleep(SECOND * 10).await;
        assert_eq!(value(&metrics, "leader_election_slowpath_total"), "1");
    };
    elector.run(lead, std::future::pending()).await;
    assert_eq!(value(&registry, "leader_election_master_status"), "0");
}

#[tokio::test(start_paused = true)]
async fn every_change_of_leader_is_reported_once() {
    let (world, seen) = (World::default(), Arc::new(Mutex::new(Vec::new())));
    let record = |holder: &str, lasts: u64| Record {
        holder: holder.to_owned(),
        lasts: SECOND * u32::try_from(lasts).unwrap(),
        acquired: None,
        renewed: None,
        transitions: 3,
    };
    world.set(record("first", 30));
    let noted = seen.clone();
    let elector = Elector::new(world.connection(1, 0), "me").unwrap();
    let elector = elector.on_change(move |holder| noted.lock().push(holder.to_owned()));
    let next = tokio::spawn({
        let (world, record) = (world.clone(), record("second", 20));
        async move {
            sleep(SECOND * 10).await;
            world.set(record);
        }
    });
    elector.run(|leadership| async move { leadership.lost().await }, sleep(SECOND * 60)).await;
    next.await.unwrap();
    assert_eq!(*seen.lock(), ["first", "second", "me", ""]);

    let (noted, lost) = (seen.clone(), world.clone());
    seen.lock().clear();
    let elector = Elector::new(world.connection(2, 0), "me").unwrap();
    let elector = elector.on_change(move |holder| noted.lock().push(holder.to_owned()));
    let thief = record("thief", 20);
    let lead = |leadership: Leadership| async move {
        lost.set(thief);
        leadership.lost().await;
    };
    elector.run(lead, std::future::pending()).await;
    assert_eq!(*seen.lock(), ["", "me", "thief"]);
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_cannot_renew_becomes_unhealthy() {
    let world = World::default();
    let line = Line::new(&world);
    let elector = Elector::new(line.clone(), "me").unwrap();
    let health = Health::default().check(elector.check(SECOND * 20));
    let is_well = || health.answer("/livez/leaderElection", &[], false).unwrap().is_healthy;
    let is_dead = line.is_dead.clone();
    let running = tokio::spawn(elector.run(
        |leadership| async move {
            sleep(SECOND * 60).await;
            is_dead.store(true, Ordering::Relaxed);
            leadership.lost().await;
            std::future::pending::<()>().await;
        },
        std::future::pending(),
    ));
    assert!(is_well(), "not leading");
    sleep(SECOND * 60).await;
    assert!(is_well(), "leading and renewed");
    sleep(SECOND * 32).await;
    assert!(is_well());
    sleep(SECOND * 6).await;
    assert!(!is_well(), "35 seconds after the last renewal");
    assert!(running.await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn one_unanswered_request_does_not_cost_the_leadership() {
    let world = World::default();
    let line = Line::new(&world);
    let elector = Elector::new(line.clone(), "me").unwrap();
    let lead = |leadership: Leadership| async move {
        for _ in 0..5 {
            *line.lost.lock() = 1;
            sleep(SECOND * 20).await;
            assert!(leadership.is_valid());
        }
    };
    assert!(elector.run(lead, std::future::pending()).await);
    assert_eq!(world.lease().unwrap().record.transitions, 0);
}
