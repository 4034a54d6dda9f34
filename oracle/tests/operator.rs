//! The example operator on the real server: twenty processes lead one after the other while websites come, change
//! and go, and in the end everything is as it is wanted.
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
#[path = "../../examples/operator/tests/chaos/random.rs"]
mod random;

use std::cell::Cell;
use std::time::Duration;

use operator_example::install;
use tokio::time::{sleep, timeout};
use watchkeeper_client::kubeconfig::{Overrides, Sources};
use watchkeeper_client::{Client, Config};
use watchkeeper_kinds::TypedFactory;
use watchkeeper_oracle::Cluster;

use author::Author;
use fleet::Fleet;
use random::Random;

const CHANGES: i32 = 20;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twenty_leaders_leave_everything_as_it_is_wanted() {
    let cluster = Cluster::start().await.unwrap();
    let sources = Sources::File(cluster.kubeconfig().to_owned());
    let config = Config::load(&sources, &Overrides::default()).unwrap();
    let client = Client::new(&config).unwrap();
    install(&client).await.unwrap();
    install(&client).await.unwrap(); // every process does, and nothing comes of it

    let factory = TypedFactory::new(&client); // of who looks on
    let mut random = Random::new(20);
    let mut author = Author::new(&client, "default", random.fork());
    author.create_all().await;
    let collector = tokio::spawn(collector::run(client.clone(), factory.clone()));
    let mut fleet = Fleet::start(&config, &factory, 3);

    let is_over = Cell::new(false);
    let writing = async {
        while !is_over.get() {
            author.act().await;
            sleep(Duration::from_millis(random.below(40))).await;
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
        is_over.set(true);
        leader.token - first.token
    };
    let ((), changes) = tokio::join!(writing, changes);
    assert!(changes >= CHANGES);
    println!("{} calls by {changes} leaders", fleet.journal.count());

    let there = quiet::comes(&client, &factory, "default", author.wanted()).await;
    assert_eq!(fleet.journal.overlaps(), Vec::<String>::new());

    // Whoever leads next looks at everything, and finds nothing to do.
    let leader = fleet.leader(0).await;
    fleet.stop(&leader.name).await;
    let next = fleet.leader(leader.token + 1).await;
    fleet.journal.has_called(&next.name, u64::try_from(author.wanted().len()).unwrap()).await;
    let after = quiet::comes(&client, &factory, "default", author.wanted()).await;
    assert_eq!(after.versions(), there.versions());

    fleet.end().await;
    collector.abort();
    factory.stop().await;
}
