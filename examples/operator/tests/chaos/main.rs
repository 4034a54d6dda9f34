//! The operator under fault injection: websites are created, changed and deleted while requests fail, watches break,
//! resource versions expire, and operator processes are stopped, killed and cut off from their lease.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod author;
mod collector;
mod faults;
mod fleet;
mod journal;
mod quiet;

use std::cell::Cell;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fastrand::Rng;
use operator_example::install;
use tokio::time::{sleep, timeout};
use watchkeeper_client::kubeconfig::{Overrides, Sources};
use watchkeeper_client::{Client, Config};
use watchkeeper_kinds::TypedFactory;
use watchkeeper_testkit::TestCluster;

use author::Author;
use fleet::{Fleet, Leader};

/// Sets the seed: `CHAOS_SEED=7 cargo test -p operator-example --test chaos`.
const SEED: &str = "CHAOS_SEED";
/// Number of leader changes.
const CHANGES: i32 = 22;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_desired_state_is_reached_despite_faults() {
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let seed = std::env::var(SEED).map_or_else(|_| now(), |seed| seed.parse().unwrap());
    println!("{SEED}={seed}");
    let mut random = Rng::with_seed(seed);

    let cluster = TestCluster::start().await.unwrap();
    let sources = Sources::File(cluster.kubeconfig_path().to_owned());
    let mut config = Config::load(&sources, &Overrides::default()).unwrap();
    config.user_agent = "author".to_owned();
    let client = Client::new(&config).unwrap();
    install(&client).await.unwrap();

    let factory = TypedFactory::new(&client); // of the test itself
    let mut author = Author::new(&client, cluster.namespace(), random.fork());
    author.create_all().await;
    let collector = tokio::spawn(collector::run(client.clone(), factory.clone()));
    let mut fleet = Fleet::start(&config, &factory, 3);

    let is_done = Cell::new(false);
    let mut leader = fleet.leader(0).await;
    let first = leader.token;
    let (mut of_author, mut of_faults) = (random.fork(), random.fork());
    let writing = async {
        while !is_done.get() {
            author.act().await;
            sleep(Duration::from_millis(of_author.u64(..40))).await;
        }
    };
    let injecting = async {
        while !is_done.get() {
            match of_faults.u64(..12) {
                0 => faults::stall(&cluster, Duration::from_millis(of_faults.u64(..1000))).await,
                _ => faults::inject(&cluster, &mut of_faults).await,
            }
            sleep(Duration::from_millis(of_faults.u64(..200))).await;
        }
    };
    let changes = async {
        while leader.token < first + CHANGES {
            let calls = random.u64(..40);
            let _ = timeout(Duration::from_millis(500), fleet.journal.has_called(&leader.name, calls)).await;
            leader = depose(&mut fleet, &cluster, leader.clone(), &mut random).await;
        }
        is_done.set(true);
    };
    tokio::join!(writing, injecting, changes);
    println!("last leader {:?}, {} calls", leader, fleet.journal.count());
    cluster.faults().clear();

    let there = quiet::comes(&client, &factory, cluster.namespace(), author.wanted()).await;
    assert_eq!(fleet.journal.overlaps(), Vec::<String>::new());

    // The next leader reconciles everything, and finds nothing to do.
    let leader = fleet.leader(0).await;
    fleet.stop(&leader.name).await;
    let next = fleet.leader(leader.token + 1).await;
    let all = u64::try_from(author.wanted().len()).unwrap();
    fleet.journal.has_called(&next.name, all).await;
    let after = quiet::comes(&client, &factory, cluster.namespace(), author.wanted()).await;
    assert_eq!(after.versions(), there.versions());

    fleet.end().await;
    collector.abort();
    factory.stop().await;
    cluster.stop().await;
}

/// Forces a change of leader in one of three ways.
async fn depose(fleet: &mut Fleet, cluster: &TestCluster, leader: Leader, random: &mut Rng) -> Leader {
    match random.u64(..8) {
        0 => fleet.kill(&leader.name).await,
        1 => {
            let restore = faults::cut_off(cluster, &leader.name);
            let next = fleet.leader(leader.token + 1).await;
            restore();
            return next;
        }
        _ => fleet.stop(&leader.name).await,
    }
    fleet.leader(leader.token + 1).await
}
