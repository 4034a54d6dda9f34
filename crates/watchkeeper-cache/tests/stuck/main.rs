//! Memory with stuck handlers: a million changes of a thousand objects take no more than one change of each.
//!
//! In its own binary, because it measures the memory of the whole process.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![cfg(target_os = "linux")]

use watchkeeper_cache::handler::{Filter, Handler, RawEvents, Subscription, SubscriptionOptions};
use watchkeeper_cache::store::Writer;
use watchkeeper_cache::{Sink as _, Store};
use watchkeeper_core::{Encoded, Object, ObjectMetaBuilder};

const OBJECTS: u64 = 1_000;
const CHANGES: u64 = 1_000_000;
const BODY: usize = 256;
/// Capacity of the raw event buffer.
const EVENTS: usize = 1_000;
/// Tolerated growth of the process. Keeping all changes would take at least 256 MB for their bodies.
const SLACK: u64 = 16 << 20;

/// Writes these versions, cycling through the objects.
fn write(writer: &mut Writer, versions: std::ops::Range<u64>) {
    let mut head = ObjectMetaBuilder::default();
    for version in versions {
        head.clear();
        head.namespace("x").name(&(version % OBJECTS).to_string()).uid("u").version(&version.to_string());
        writer.put(Object { metadata: head.finish(), encoded: Encoded::json([b' '; BODY]) });
    }
}

/// Returns the resident memory of the process, in bytes.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse::<u64>().unwrap() << 10
}

#[tokio::test]
async fn a_stuck_handler_does_not_grow_memory_over_a_million_changes() {
    let (store, mut writer) = Store::new();
    let (enter, mut entered) = tokio::sync::mpsc::unbounded_channel();
    let _stuck = Handler::start(Subscription::new(&store, SubscriptionOptions::default()), move |_| {
        enter.send(()).unwrap();
        Box::pin(std::future::pending())
    });
    let unread = Subscription::new(&store, SubscriptionOptions::default());
    let unread_events = RawEvents::new(&store, Filter::default(), EVENTS);
    write(&mut writer, 1..2 * OBJECTS);
    entered.recv().await.unwrap();

    // All objects exist and the buffer is full: from here on nothing may grow.
    let before = resident();
    write(&mut writer, 2 * OBJECTS..CHANGES);
    let grown = resident().saturating_sub(before);
    assert!(grown < SLACK, "grew by {grown} bytes");
    assert_eq!((unread.pending(), unread_events.pending()), (1_000, EVENTS));
    assert_eq!(store.snapshot().version(), &(CHANGES - 1).into());
    assert!(entered.try_recv().is_err(), "the handler is not stuck");
}
