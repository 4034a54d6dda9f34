//! A lease behind a faulty network: requests are delayed, lost, or executed without a response.

use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;
use parking_lot::Mutex;
use tokio::time::{Instant, sleep};
use watchkeeper_controller::leader::{Held, LeaseError, LeaseStore, Record};
use watchkeeper_core::ResourceVersion;

/// State shared by all processes. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct World {
    lease: Arc<Mutex<Option<Held>>>,
    leads: Arc<Mutex<Vec<Lead>>>,
}

/// A term: which process led from when to when, with which token.
#[derive(Debug, Clone)]
pub(crate) struct Lead {
    pub(crate) process: String,
    pub(crate) token: u32,
    pub(crate) from: Instant,
    pub(crate) to: Option<Instant>,
}

/// The connection of one process to the lease.
#[derive(Clone, Debug)]
pub(crate) struct Connection {
    pub(crate) world: World,
    pub(crate) random: Arc<Mutex<Rng>>,
    /// Percentage of requests with a fault.
    pub(crate) trouble: u64,
    pub(crate) requests: Arc<Mutex<Vec<&'static str>>>,
}

impl World {
    pub(crate) fn connection(&self, seed: u64, trouble: u64) -> Connection {
        Connection {
            world: self.clone(),
            random: Arc::new(Mutex::new(Rng::with_seed(seed))),
            trouble,
            requests: Arc::default(),
        }
    }

    pub(crate) fn lease(&self) -> Option<Held> {
        self.lease.lock().clone()
    }

    pub(crate) fn set(&self, record: Record) {
        let mut lease = self.lease.lock();
        let version = lease.as_ref().and_then(|held| held.version.as_u64()).unwrap_or(0) + 1;
        *lease = Some(Held { record, version: version.into() });
    }

    /// Records a term that lasts until the returned guard is dropped.
    pub(crate) fn lead(&self, process: &str, token: u32) -> impl Drop + use<> {
        let mut leads = self.leads.lock();
        leads.push(Lead { process: process.to_owned(), token, from: Instant::now(), to: None });
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

impl Connection {
    fn draw(&self, below: u64) -> u64 {
        self.random.lock().u64(..below)
    }

    /// Executes a request, with a delay or a fault.
    async fn send<T: Send + 'static>(
        &self,
        what: &'static str,
        act: impl FnOnce(&World) -> Result<T, LeaseError> + Send + 'static,
    ) -> Result<T, LeaseError> {
        self.requests.lock().push(what);
        let lost = || Err(LeaseError::Failed("no response".into()));
        if self.draw(100) >= self.trouble {
            sleep(Duration::from_millis(self.draw(200))).await;
            let done = act(&self.world);
            sleep(Duration::from_millis(self.draw(200))).await;
            return done;
        }
        let long = Duration::from_millis(self.draw(30_000));
        match self.draw(5) {
            // Never arrives, without or with an error.
            0 => std::future::pending().await,
            1 => {
                sleep(long / 10).await;
                lost()
            }
            // Arrives late, when the caller may no longer wait.
            2 => {
                let world = self.world.clone();
                let done = tokio::spawn(async move {
                    sleep(long).await;
                    act(&world)
                });
                done.await.unwrap()
            }
            // Executed at once; the response is late or lost.
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

impl LeaseStore for Connection {
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
