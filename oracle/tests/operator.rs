//! The example operator on the real server: it reaches the desired state after twenty changes of the leader, while
//! websites are created, changed and deleted.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "../../examples/operator/tests/chaos/author.rs"]
mod author;
#[path = "../../examples/operator/tests/chaos/collector.rs"]
mod collector;
#[path = "../../examples/operator/tests/chaos/fleet.rs"]
mod fleet;
#[path = "../../examples/operator/tests/chaos/journal.rs"]
mod journal;
#[path = "../../examples/operator/tests/chaos/quiet.rs"]
mod quiet;

use std::cell::Cell;
use std::time::Duration;

use fastrand::Rng;
use operator_example::install;
use tokio::time::{sleep, timeout};
use watchkeeper_client::kubeconfig::{Overrides, Sources};
use watchkeeper_client::{Client, Config};
use watchkeeper_kinds::TypedFactory;
use watchkeeper_oracle::Cluster;

use author::Author;
use fleet::Fleet;

const CHANGES: i32 = 20;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_desired_state_is_reached_despite_twenty_leader_changes() {
    let cluster = Cluster::start().await.unwrap();
    let sources = Sources::File(cluster.kubeconfig().to_owned());
    let config = Config::load(&sources, &Overrides::default()).unwrap();
    let client = Client::new(&config).unwrap();
    install(&client).await.unwrap();
    install(&client).await.unwrap(); // idempotent: every process installs the definition

    let factory = TypedFactory::new(&client); // for the test's own observations
    let mut random = Rng::with_seed(20);
    let mut author = Author::new(&client, "default", random.fork());
    author.create_all().await;
    let collector = tokio::spawn(collector::run(client.clone(), factory.clone()));
    let mut fleet = Fleet::start(&config, &factory, 3);

    let changes_done = Cell::new(false);
    let writes = async {
        while !changes_done.get() {
            author.act().await;
            sleep(Duration::from_millis(random.u64(..40))).await;
        }
    };
    let changes = async {
        let first = fleet.leader(0).await;
        let mut leader = first.clone();
        for change in 1..=CHANGES {
            let worked = fleet.journal.has_called(&leader.name, 20);
            let _ = timeout(Duration::from_secs(1), worked).await;
            match change % 2 {
                0 => fleet.kill(&leader.name).await,
                _ => fleet.stop(&leader.name).await,
            }
            leader = fleet.leader(leader.token + 1).await;
        }
        changes_done.set(true);
        leader.token - first.token
    };
    let ((), changes) = tokio::join!(writes, changes);
    assert!(changes >= CHANGES);
    println!("{} calls by {changes} leaders", fleet.journal.count());

    let settled = quiet::comes(&client, &factory, "default", author.wanted()).await;
    assert_eq!(fleet.journal.overlaps(), Vec::<String>::new());

    // The next leader reconciles everything, and writes nothing.
    let leader = fleet.leader(0).await;
    fleet.stop(&leader.name).await;
    let next = fleet.leader(leader.token + 1).await;
    fleet.journal.has_called(&next.name, u64::try_from(author.wanted().len()).unwrap()).await;
    let after = quiet::comes(&client, &factory, "default", author.wanted()).await;
    assert_eq!(after.versions(), settled.versions());

    fleet.end().await;
    collector.abort();
    factory.stop().await;
}
