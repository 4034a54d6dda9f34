//! How a lease is given up.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;
use watchkeeper_controller::leader::{Elector, Held, Leadership, LeaseError, LeaseStore, Record};
use watchkeeper_core::ResourceVersion;

use crate::world::{Way, World};

/// What somebody else does to the lease after it was read, each once.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Meddling {
    /// Writes the same once more.
    Touches,
    Seizes,
    /// Has the write that follows not be answered.
    Mutes,
}

#[derive(Clone)]
struct Meddled {
    way: Way,
    /// Begins when somebody leads.
    meddling: Arc<Mutex<Vec<Meddling>>>,
    is_mute: Arc<Mutex<bool>>,
}

impl LeaseStore for Meddled {
    async fn read(&self) -> Result<Option<Held>, LeaseError> {
        let held = self.way.read().await?;
        let meddling = self.meddling.lock().pop();
        if let (Some(meddling), Some(held)) = (meddling, &held) {
            match meddling {
                Meddling::Touches => self.way.world.set(held.record.clone()),
                Meddling::Seizes => {
                    self.way.world.set(Record { holder: "thief".to_owned(), ..held.record.clone() });
                }
                Meddling::Mutes => *self.is_mute.lock() = true,
            }
        }
        Ok(held)
    }

    async fn create(&self, record: &Record) -> Result<Held, LeaseError> {
        self.way.create(record).await
    }

    async fn replace(&self, version: &ResourceVersion, record: &Record) -> Result<Held, LeaseError> {
        if *self.is_mute.lock() {
            std::future::pending::<()>().await;
        }
        self.way.replace(version, record).await
    }
}

/// Who has the lease after one has given it up, what was asked for meanwhile, and how long that took.
async fn released(meddling: &[Meddling]) -> (String, Vec<&'static str>, Duration) {
    let world = World::default();
    let store = Meddled { way: world.way(1, 0), meddling: Arc::default(), is_mute: Arc::default() };
    let elector = Elector::new(store.clone(), "me").unwrap();
    let (told, begun) = tokio::sync::oneshot::channel();
    let lead = |_: Leadership| async {
        store.meddling.lock().extend(meddling.iter().rev());
        store.way.requests.lock().clear();
        told.send(Instant::now()).unwrap();
    };
    assert!(elector.run(lead, std::future::pending()).await);
    let begun = begun.await.unwrap();
    let requests = store.way.requests.lock().clone();
    (world.lease().unwrap().record.holder, requests, begun.elapsed())
}

#[tokio::test(start_paused = true)]
async fn it_is_given_up_although_somebody_else_writes_to_it() {
    let (holder, requests, _) = released(&[]).await;
    assert_eq!((holder.as_str(), &requests[..]), ("", &["read", "replace"][..]));
    let (holder, requests, _) = released(&[Meddling::Touches, Meddling::Touches]).await;
    assert_eq!(holder, "");
    assert_eq!(
        requests,
        ["read", "replace", "read", "replace", "read", "replace"],
        "until there is no conflict"
    );
}

#[tokio::test(start_paused = true)]
async fn what_is_not_ours_any_more_is_not_given_up() {
    let (holder, requests, _) = released(&[Meddling::Seizes]).await;
    assert_eq!((holder.as_str(), &requests[..]), ("thief", &["read", "replace", "read"][..]));
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_given_up_in_time_runs_out() {
    let (holder, _, took) = released(&[Meddling::Mutes]).await;
    assert_eq!((holder.as_str(), took.as_secs()), ("me", 10), "as long as it would be tried to renew it");
}
