//! A delta queue and its consumer, without a server: changes that arrive while the consumer is busy are coalesced.
//!
//! ```sh
//! cargo run -p watchkeeper-cache --example delta_queue
//! ```

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;
use watchkeeper_cache::delta::{Delta, Incarnation, TrackingQueue};

/// A parcel in transit.
#[derive(Debug, Clone, PartialEq)]
struct Parcel {
    number: u32,
    at: &'static str,
}

/// The number is the identity: another number under the same name is another parcel.
impl Incarnation for Parcel {
    fn same_uid(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let queue = Arc::new(TrackingQueue::default());
    let consumer = tokio::spawn(consume(queue.clone()));

    let parcel = |number, at| Parcel { number, at };
    queue.replace([("anna", parcel(1, "depot")), ("bert", parcel(2, "depot"))]);
    sleep(Duration::from_millis(150)).await;

    // The consumer is busy with the second parcel, and receives these changes coalesced.
    queue.put("anna", parcel(1, "van"));
    queue.put("anna", parcel(1, "door"));
    queue.put("cleo", parcel(3, "depot"));
    queue.delete("cleo", parcel(3, "depot")); // transient
    queue.delete("bert", parcel(2, "door"));
    queue.put("bert", parcel(4, "depot")); // another parcel for bert
    println!("{} names pending", queue.len());
    sleep(Duration::from_millis(500)).await;

    // A list without anna's parcel: its deletion was missed.
    queue.replace([("bert", parcel(4, "van"))]);
    queue.close();
    consumer.await.expect("the consumer does not panic");
}

async fn consume(queue: Arc<TrackingQueue<&'static str, Parcel>>) {
    while let Some((name, delta)) = queue.pop().await {
        match delta {
            Delta::Added { new, initial: true } => println!("{name}: existing {new:?}"),
            Delta::Added { new, .. } => println!("{name}: added {new:?}"),
            Delta::Updated { old, new } => println!("{name}: from {} to {}", old.at, new.at),
            Delta::Deleted { last: Some(last), .. } => println!("{name}: deleted at {}", last.at),
            Delta::Deleted { old, .. } => println!("{name}: deleted, last seen at {}", old.at),
            Delta::Resync(parcel) => println!("{name}: resync {parcel:?}"),
        }
        sleep(Duration::from_millis(100)).await; // slow work
    }
}
