//! Releasing the lease.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;
use watchkeeper_controller::leader::{Elector, Held, Leadership, LeaseError, LeaseStore, Record};
use watchkeeper_core::ResourceVersion;

use crate::world::{Connection, World};

/// A concurrent change to the lease right after it was read, each once.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Interference {
    /// Writes the same record again.
    Touches,
    Seizes,
    /// Leaves the next write unanswered.
    Mutes,
}

#[derive(Clone)]
struct InterferingStore {
    connection: Connection,
    /// Filled once the process leads.
    interference: Arc<Mutex<Vec<Interference>>>,
    is_mute: Arc<Mutex<bool>>,
}

impl LeaseStore for InterferingStore {
    async fn read(&self) -> Result<Option<Held>, LeaseError> {
        let held = self.connection.read().await?;
        let interference = self.interference.lock().pop();
        if let (Some(interference), Some(held)) = (interference, &held) {
            match interference {
                Interference::Touches => self.connection.world.set(held.record.clone()),
                Interference::Seizes => {
                    self.connection.world.set(Record { holder: "thief".to_owned(), ..held.record.clone() });
                }
                Interference::Mutes => *self.is_mute.lock() = true,
            }
        }
        Ok(held)
    }

    async fn create(&self, record: &Record) -> Result<Held, LeaseError> {
        self.connection.create(record).await
    }

    async fn replace(&self, version: &ResourceVersion, record: &Record) -> Result<Held, LeaseError> {
        if *self.is_mute.lock() {
            std::future::pending::<()>().await;
        }
        self.connection.replace(version, record).await
    }
}

/// Returns the holder after a release, the requests sent for it, and how long it took.
async fn released(interference: &[Interference]) -> (String, Vec<&'static str>, Duration) {
    let world = World::default();
    let store = InterferingStore {
        connection: world.connection(1, 0),
        interference: Arc::default(),
        is_mute: Arc::default(),
    };
    let elector = Elector::new(store.clone(), "me").unwrap();
    let (sender, begun) = tokio::sync::oneshot::channel();
    let lead = |_: Leadership| async {
        store.interference.lock().extend(interference.iter().rev());
        store.connection.requests.lock().clear();
        sender.send(Instant::now()).unwrap();
    };
    assert!(elector.run(lead, std::future::pending()).await);
    let begun = begun.await.unwrap();
    let requests = store.connection.requests.lock().clone();
    (world.lease().unwrap().record.holder, requests, begun.elapsed())
}

#[tokio::test(start_paused = true)]
async fn a_release_is_retried_on_conflict() {
    let (holder, requests, _) = released(&[]).await;
    assert_eq!((holder.as_str(), &requests[..]), ("", &["read", "replace"][..]));
    let (holder, requests, _) = released(&[Interference::Touches, Interference::Touches]).await;
    assert_eq!(holder, "");
    assert_eq!(
        requests,
        ["read", "replace", "read", "replace", "read", "replace"],
        "until there is no conflict"
    );
}

#[tokio::test(start_paused = true)]
async fn a_lost_lease_is_not_released() {
    let (holder, requests, _) = released(&[Interference::Seizes]).await;
    assert_eq!((holder.as_str(), &requests[..]), ("thief", &["read", "replace", "read"][..]));
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_cannot_be_released_in_time_expires() {
    let (holder, _, took) = released(&[Interference::Mutes]).await;
    assert_eq!((holder.as_str(), took.as_secs()), ("me", 10), "for the renew deadline");
}
