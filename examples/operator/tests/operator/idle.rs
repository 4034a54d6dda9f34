//! An operator that has nothing to do writes nothing, and records no events.

use std::time::Duration;

use tokio::time::timeout;
use watchkeeper_client::Client;
use watchkeeper_core::ObjectKey;
use watchkeeper_testkit::{Requests, Verb};

use crate::{Operator, TIMEOUT, create_website, start};

/// Number of reconcile calls.
const CALLS: u64 = 10;
const WRITES: [Verb; 4] = [Verb::Create, Verb::Update, Verb::Patch, Verb::Delete];

/// Runs the operator until it has reconciled a website this many times and written all events that it recorded.
async fn operate(client: &Client, website: &ObjectKey, times: u64) {
    let mut operator = Operator::start(client).await;
    for time in 1..=times {
        timeout(TIMEOUT, operator.calls.wait_for(|calls| *calls >= time)).await.unwrap().unwrap();
        operator.keys.send(website.clone()).await.unwrap();
    }
    operator.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_idle_reconciles_write_nothing_and_record_no_event() {
    let (cluster, client) = start().await;
    create_website(&client).await;

    let website = ObjectKey::namespaced(cluster.namespace(), "hello");
    let count = |requests: Requests| cluster.faults().add(requests.delay(Duration::ZERO));
    let first = count(Requests::of(Verb::Create).resource("events"));
    // Writes the finalizer, the deployment, the registration and the status; each write causes another call.
    operate(&client, &website, CALLS).await;
    assert!(first.hits() > 0, "the creation of the deployment is recorded");
    first.remove();

    let events = WRITES.map(|verb| count(Requests::of(verb).resource("events")));
    let writes = WRITES.map(|verb| count(Requests::of(verb)));
    operate(&client, &website, CALLS).await;
    assert_eq!(writes.map(|rule| rule.hits()), [0; 4], "creates, updates, patches and deletes");
    assert_eq!(events.map(|rule| rule.hits()), [0; 4], "of events");
    cluster.stop().await;
}
