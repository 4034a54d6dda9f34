//! Memory under handlers that are stuck: a million changes of a thousand objects leave no more behind than one.
//!
//! A binary of its own, for the size of a process is that of all tests in it.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![cfg(target_os = "linux")]

use watchkeeper_cache::handler::{EveryEvent, Filter, Handler, Subscription, SubscriptionOptions};
use watchkeeper_cache::store::Writer;
use watchkeeper_cache::{Sink as _, Store};
use watchkeeper_core::{Encoded, Object, ObjectMetaBuilder};

const OBJECTS: u64 = 1_000;
const CHANGES: u64 = 1_000_000;
const BODY: usize = 256;
/// How many events may wait where every event is wanted.
const EVENTS: usize = 1_000;
/// What the process may grow. Changes that are kept take at least their bodies: 256 MB.
const SLACK: u64 = 16 << 20;

/// Writes so many versions, round and round.
fn write(writer: &mut Writer, versions: std::ops::Range<u64>) {
    let mut head = ObjectMetaBuilder::default();
    for version in versions {
        head.clear();
        head.namespace("x").name(&(version % OBJECTS).to_string()).uid("u").version(&version.to_string());
        writer.put(Object { metadata: head.finish(), encoded: Encoded::json([b' '; BODY]) });
    }
}

/// What of the process is in memory.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse::<u64>().unwrap() << 10
}

#[tokio::test]
async fn a_million_changes_leave_nothing_behind_a_stuck_handler() {
    let (store, mut writer) = Store::new();
    let (enter, mut entered) = tokio::sync::mpsc::unbounded_channel();
    let _stuck = Handler::start_async(Subscription::new(&store, SubscriptionOptions::default()), move |_| {
        enter.send(()).unwrap();
        std::future::pending()
    });
    let unread = Subscription::new(&store, SubscriptionOptions::default());
    let unheard = EveryEvent::new(&store, Filter::default(), EVENTS);
    write(&mut writer, 1..2 * OBJECTS);
    entered.recv().await.unwrap();

    // All objects are there, the ring is full: from here on nothing may grow.
    let before = resident();
    write(&mut writer, 2 * OBJECTS..CHANGES);
    let grown = resident().saturating_sub(before);
    assert!(grown < SLACK, "it has grown by {grown} bytes");
    assert_eq!((unread.pending(), unheard.pending()), (1_000, EVENTS));
    assert_eq!(store.snapshot().version(), &(CHANGES - 1).into());
    assert!(entered.try_recv().is_err(), "the handler is not stuck");
}
