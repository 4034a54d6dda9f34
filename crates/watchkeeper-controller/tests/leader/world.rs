//! A lease in a world where requests are slow, get lost, and are done although nobody hears of it.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::{Instant, sleep};
use watchkeeper_controller::leader::{Held, LeaseError, LeaseStore, Record};
use watchkeeper_core::ResourceVersion;

/// What all see. Clones are the same world.
#[derive(Clone, Debug, Default)]
pub(crate) struct World {
    lease: Arc<Mutex<Option<Held>>>,
    leads: Arc<Mutex<Vec<Lead>>>,
}

/// Who has led, from when to when, with which token.
#[derive(Debug, Clone)]
pub(crate) struct Lead {
    pub(crate) who: String,
    pub(crate) token: u32,
    pub(crate) from: Instant,
    pub(crate) to: Option<Instant>,
}

/// The way of one process to the lease.
#[derive(Clone, Debug)]
pub(crate) struct Way {
    pub(crate) world: World,
    pub(crate) random: Arc<Mutex<u64>>,
    /// Of a hundred requests, how many have trouble.
    pub(crate) trouble: u64,
    pub(crate) requests: Arc<Mutex<Vec<&'static str>>>,
}

impl World {
    pub(crate) fn way(&self, seed: u64, trouble: u64) -> Way {
        Way { world: self.clone(), random: Arc::new(Mutex::new(seed)), trouble, requests: Arc::default() }
    }

    pub(crate) fn lease(&self) -> Option<Held> {
        self.lease.lock().clone()
    }

    pub(crate) fn set(&self, record: Record) {
        let mut lease = self.lease.lock();
        let version = lease.as_ref().and_then(|held| held.version.as_u64()).unwrap_or(0) + 1;
        *lease = Some(Held { record, version: version.into() });
    }

    /// Somebody leads, until what is returned is dropped.
    pub(crate) fn lead(&self, who: &str, token: u32) -> impl Drop + use<> {
        let mut leads = self.leads.lock();
        leads.push(Lead { who: who.to_owned(), token, from: Instant::now(), to: None });
        Leading { world: self.clone(), at: leads.len() - 1 }
    }

    pub(crate) fn leads(&self) -> Vec<Lead> {
        self.leads.lock().clone()
    }

    fn write(&self, expected: Option<&ResourceVersion>, record: &Record) -> Result<Held, LeaseError> {
        let mut lease = self.lease.lock();
        if lease.as_ref().map(|held| &held.version) != expected {
            return Err(LeaseError::Conflict);
        }
        let version = expected.and_then(ResourceVersion::as_u64).unwrap_or(0) + 1;
        let held = Held { record: record.clone(), version: version.into() };
        *lease = Some(held.clone());
        Ok(held)
    }
}

struct Leading {
    world: World,
    at: usize,
}

impl Drop for Leading {
    fn drop(&mut self) {
        self.world.leads.lock()[self.at].to = Some(Instant::now());
    }
}

impl Way {
    fn draw(&self, below: u64) -> u64 {
        let mut state = self.random.lock();
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = *state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % below
    }

    /// Does it, and says so; or not, or too late, or without a word.
    async fn send<T: Send + 'static>(
        &self,
        what: &'static str,
        act: impl FnOnce(&World) -> Result<T, LeaseError> + Send + 'static,
    ) -> Result<T, LeaseError> {
        self.requests.lock().push(what);
        let lost = || Err(LeaseError::Failed("nobody answers".into()));
        if self.draw(100) >= self.trouble {
            sleep(Duration::from_millis(self.draw(200))).await;
            let done = act(&self.world);
            sleep(Duration::from_millis(self.draw(200))).await;
            return done;
        }
        let long = Duration::from_millis(self.draw(30_000));
        match self.draw(5) {
            // Never arrives, and nobody says so; or somebody does.
            0 => std::future::pending().await,
            1 => {
                sleep(long / 10).await;
                lost()
            }
            // Arrives late, when nobody may wait for it any more.
            2 => {
                let world = self.world.clone();
                let done = tokio::spawn(async move {
                    sleep(long).await;
                    act(&world)
                });
                done.await.unwrap()
            }
            // Is done at once, and the answer comes late or not at all.
            3 => {
                let done = act(&self.world);
                sleep(long).await;
                done
            }
            _ => {
                drop(act(&self.world));
                lost()
            }
        }
    }
}

impl LeaseStore for Way {
    async fn read(&self) -> Result<Option<Held>, LeaseError> {
        self.send("read", |world| Ok(world.lease())).await
    }

    async fn create(&self, record: &Record) -> Result<Held, LeaseError> {
        let record = record.clone();
        self.send("create", move |world| world.write(None, &record)).await
    }

    async fn replace(&self, version: &ResourceVersion, record: &Record) -> Result<Held, LeaseError> {
        let (version, record) = (version.clone(), record.clone());
        self.send("replace", move |world| world.write(Some(&version), &record)).await
    }
}
