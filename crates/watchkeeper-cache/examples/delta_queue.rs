//! A delta queue and its consumer, without any server: what happens to an object while the consumer is busy
//! becomes one change.
//!
//! ```sh
//! cargo run -p watchkeeper-cache --example delta_queue
//! ```

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;
use watchkeeper_cache::delta::{Delta, Incarnation, TrackingQueue};

/// A parcel on its way.
#[derive(Debug, Clone, PartialEq)]
struct Parcel {
    number: u32,
    at: &'static str,
}

/// Another number under the same name is another parcel.
impl Incarnation for Parcel {
    fn is_same_as(&self, other: &Self) -> bool {
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

    // The consumer is busy with the second. Of all this it will see what matters.
    queue.put("anna", parcel(1, "van"));
    queue.put("anna", parcel(1, "door"));
    queue.put("cleo", parcel(3, "depot"));
    queue.delete("cleo", parcel(3, "depot")); // came and went
    queue.delete("bert", parcel(2, "door"));
    queue.put("bert", parcel(4, "depot")); // another parcel for bert
    println!("{} names wait", queue.len());
    sleep(Duration::from_millis(500)).await;

    // A list that lacks anna's parcel: it has gone while nobody looked.
    queue.replace([("bert", parcel(4, "van"))]);
    queue.close();
    consumer.await.expect("the consumer does not panic");
}

async fn consume(queue: Arc<TrackingQueue<&'static str, Parcel>>) {
    while let Some((name, delta)) = queue.pop().await {
        match delta {
            Delta::Added { new, initial: true } => println!("{name}: there is {new:?}"),
            Delta::Added { new, .. } => println!("{name}: new is {new:?}"),
            Delta::Updated { old, new } => println!("{name}: from {} to {}", old.at, new.at),
            Delta::Deleted { last: Some(last), .. } => println!("{name}: gone, last at {}", last.at),
            Delta::Deleted { old, .. } => println!("{name}: gone unseen, last known at {}", old.at),
            Delta::Resync(parcel) => println!("{name}: look again at {parcel:?}"),
        }
        sleep(Duration::from_millis(100)).await; // slow work
    }
}
