//! The open streams and their expiry.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use http::StatusCode;
use parking_lot::Mutex;
use ring::rand::{SecureRandom as _, SystemRandom};
use tokio::time::sleep;
use tokio_util::task::AbortOnDropHandle;
use watchkeeper_metrics::{RegisterError, Registry as Metrics};

use super::connection::Connection;
use super::request::SubscriptionSet;
use super::session::Session;
use super::start::Starter;
use super::{MAX_STREAMS, RETENTION};
use crate::access::{Access, Identity};
use crate::catalog::Catalog;
use crate::envelope::Failure;
use crate::undecodable::Undecodable;

/// Expired sessions are swept this many times per retention period.
const SWEEPS: u32 = 12;

/// Limits of the streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Maximum number of streams. Default: [`MAX_STREAMS`].
    pub streams: usize,
    /// Retention of a stream without a connection. Default: [`RETENTION`].
    pub retention: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { streams: MAX_STREAMS, retention: RETENTION }
    }
}

/// The open streams. Clones share them.
#[derive(Debug, Clone)]
pub struct Streams {
    registry: Arc<Registry>,
}

#[derive(Debug)]
struct Registry {
    starter: Arc<Starter>,
    limits: Mutex<Limits>,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    sessions: HashMap<Arc<str>, Arc<Session>>,
    is_closed: bool,
    /// Started with the first stream.
    sweeper: Option<AbortOnDropHandle<()>>,
}

impl Streams {
    pub(crate) fn new(catalog: Catalog, access: Access, undecodable: Undecodable) -> Self {
        let starter = Starter::new(catalog, access, undecodable);
        let (limits, inner) = (Mutex::default(), Mutex::default());
        Self { registry: Arc::new(Registry { starter, limits, inner }) }
    }

    /// Sets the limits. Existing streams above the limit stay open.
    pub fn limit(&self, limits: Limits) {
        *self.registry.limits.lock() = limits;
    }

    /// Registers the gauge `watchkeeper_web_streams`.
    pub(crate) fn measure(&self, metrics: &Metrics) -> Result<(), RegisterError> {
        let registry = Arc::downgrade(&self.registry);
        let count =
            move || registry.upgrade().map_or(0, |registry| registry.inner.lock().sessions.len()) as f64;
        let help = "Open streams, including disconnected ones that can still be resumed.";
        metrics.computed("watchkeeper_web_streams", help, count)
    }

    /// Returns the number of streams, including disconnected ones.
    pub fn len(&self) -> usize {
        self.registry.inner.lock().sessions.len()
    }

    /// Returns whether there are no streams.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Closes all streams, and rejects new ones.
    pub fn close(&self) {
        let mut inner = self.registry.inner.lock();
        inner.is_closed = true;
        inner.sweeper = None;
        let sessions = std::mem::take(&mut inner.sessions);
        drop(inner);
        sessions.values().for_each(|session| session.close());
    }

    /// Opens a stream.
    pub(super) fn open(&self, identity: Identity, requests: SubscriptionSet) -> Result<Connection, Failure> {
        let id: Arc<str> = random()?.into();
        let session = Session::new(Arc::clone(&id), identity, Arc::clone(&self.registry.starter));
        let connection = Connection::new(Arc::clone(&session), 0, false);
        self.registry.insert(id, &session)?;
        session.replace(requests);
        Ok(connection)
    }

    /// Resumes a stream after the message with this id; `None` if the user has no such stream (`stream.S4`).
    pub(super) fn resume(&self, identity: &Identity, last: &str) -> Option<Connection> {
        let (id, sequence) = last.rsplit_once('.')?;
        let sequence = sequence.parse().ok()?;
        let session = self.find(identity, id)?;
        (sequence <= session.last()).then(|| Connection::new(session, sequence, true))
    }

    /// Finds a stream by id, if it belongs to the user (`stream.S4`).
    pub(super) fn find(&self, identity: &Identity, id: &str) -> Option<Arc<Session>> {
        let session = self.registry.inner.lock().sessions.get(id).cloned()?;
        (is_same(&session.identity, identity) && !self.registry.is_over(&session)).then_some(session)
    }
}

impl Registry {
    fn insert(self: &Arc<Self>, id: Arc<str>, session: &Arc<Session>) -> Result<(), Failure> {
        let full = |message| Err(Failure::new(StatusCode::SERVICE_UNAVAILABLE, message).retry_after(5));
        let mut inner = self.inner.lock();
        if inner.is_closed {
            return full("the service is shutting down");
        }
        let limits = *self.limits.lock();
        let dropped = if inner.sessions.len() >= limits.streams { inner.make_room() } else { None };
        if inner.sessions.len() >= limits.streams {
            return full("too many streams; try again later");
        }
        inner.sessions.insert(id, Arc::clone(session));
        if inner.sweeper.is_none() {
            let every = (limits.retention / SWEEPS).max(Duration::from_millis(1));
            inner.sweeper = Some(AbortOnDropHandle::new(tokio::spawn(sweep(Arc::downgrade(self), every))));
        }
        drop(inner);
        drop(dropped);
        Ok(())
    }

    fn is_over(&self, session: &Session) -> bool {
        let retention = self.limits.lock().retention;
        session.disconnected_since().is_some_and(|since| since.elapsed() >= retention)
    }

    /// Removes expired streams.
    fn sweep(&self) {
        let mut inner = self.inner.lock();
        let over: Vec<_> = inner.sessions.extract_if(|_, session| self.is_over(session)).collect();
        drop(inner);
        drop(over);
    }
}

impl Inner {
    /// Removes the stream that has been disconnected for longest.
    fn make_room(&mut self) -> Option<Arc<Session>> {
        let disconnected =
            self.sessions.values().filter_map(|session| Some((session.disconnected_since()?, &session.id)));
        let (_, id) = disconnected.min_by_key(|(since, _)| *since)?;
        let id = Arc::clone(id);
        self.sessions.remove(&id)
    }
}

async fn sweep(registry: Weak<Registry>, every: Duration) {
    loop {
        sleep(every).await;
        match registry.upgrade() {
            Some(registry) => registry.sweep(),
            None => return,
        }
    }
}

/// Returns whether both identities are the same user, regardless of the token.
fn is_same(one: &Identity, other: &Identity) -> bool {
    match (one, other) {
        (Identity::Local, Identity::Local) => true,
        (Identity::User(one), Identity::User(other)) => {
            (&one.name, &one.uid, &one.groups, &one.extra)
                == (&other.name, &other.uid, &other.groups, &other.extra)
        }
        (Identity::Local, Identity::User(_)) | (Identity::User(_), Identity::Local) => false,
    }
}

/// Creates a random id.
fn random() -> Result<String, Failure> {
    let mut bytes = [0; 16];
    let error = |_| Failure::new(StatusCode::SERVICE_UNAVAILABLE, "system random number generator failed");
    SystemRandom::new().fill(&mut bytes).map_err(error)?;
    Ok(format!("{:032x}", u128::from_be_bytes(bytes)))
}

#[cfg(test)]
mod tests {
    use super::super::PING;
    use super::*;
    use futures_util::future::join_all;
    use tokio::time::{Instant, advance};
    use watchkeeper_client::Client;
    use watchkeeper_client::config::Config;

    /// Creates streams over a server that does not exist.
    fn streams() -> Streams {
        let client = Client::new(&Config::new("http://127.0.0.1:1".parse().unwrap())).unwrap();
        let undecodable = Undecodable::new(&Metrics::new()).unwrap();
        Streams::new(Catalog::builder(&client).build(), Access::new(&client), undecodable)
    }

    /// Opens a stream without subscriptions; returns it and the id of its first message.
    async fn open(streams: &Streams) -> (Connection, String) {
        let mut connection = streams.open(Identity::Local, SubscriptionSet::new(vec![]).unwrap()).unwrap();
        let hello = next(&mut connection).await.unwrap();
        let id = hello.split("id: ").nth(1).unwrap().lines().next().unwrap().to_owned();
        (connection, id)
    }

    async fn next(connection: &mut Connection) -> Option<String> {
        Some(String::from_utf8(connection.next().await?.to_vec()).unwrap())
    }

    #[tokio::test(start_paused = true)]
    async fn disconnected_streams_expire_after_their_retention() {
        let streams = streams();
        let (mut connection, id) = open(&streams).await;
        advance(10 * RETENTION).await;
        assert!(streams.resume(&Identity::Local, &id).is_some(), "connected streams do not expire");
        assert_eq!(next(&mut connection).await, None, "a new connection replaces the old one");
        drop(connection);
        advance(RETENTION.checked_sub(Duration::from_secs(1)).unwrap()).await;
        let mut again = streams.resume(&Identity::Local, &id).unwrap();
        assert!(next(&mut again).await.unwrap().ends_with("\"resumed\":true}\n\n"));
        drop(again);
        advance(RETENTION).await;
        assert!(streams.resume(&Identity::Local, &id).is_none());
        assert!(streams.find(&Identity::Local, id.rsplit_once('.').unwrap().0).is_none());
        tokio::time::sleep(RETENTION / SWEEPS).await;
        assert!(streams.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn silent_streams_send_pings() {
        let (mut connection, _) = open(&streams()).await;
        let begun = Instant::now();
        for times in 1..4 {
            assert_eq!(next(&mut connection).await.as_deref(), Some(": ping\n\n"));
            assert_eq!(begun.elapsed(), times * PING);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn ten_thousand_silent_streams_ping_and_close_together() {
        let streams = streams();
        let mut open: Vec<_> = (0..10_000)
            .map(|_| streams.open(Identity::Local, SubscriptionSet::new(vec![]).unwrap()).unwrap())
            .collect();
        let (begun, metrics) = (Instant::now(), Metrics::new());
        streams.measure(&metrics).unwrap();
        assert!(metrics.render().contains("\nwatchkeeper_web_streams 10000\n"));
        for connection in &mut open {
            assert!(next(connection).await.unwrap().starts_with("event: hello"));
        }
        let pings = open.iter_mut().map(next);
        assert!(join_all(pings).await.iter().all(|ping| ping.as_deref() == Some(": ping\n\n")));
        assert_eq!(begun.elapsed(), PING);
        streams.close();
        assert!(join_all(open.iter_mut().map(next)).await.iter().all(Option::is_none));
        assert_eq!(begun.elapsed(), PING);
    }

    #[tokio::test(start_paused = true)]
    async fn closing_ends_all_streams_and_rejects_new_ones() {
        let streams = streams();
        let (mut connection, id) = open(&streams).await;
        streams.close();
        assert_eq!(next(&mut connection).await, None);
        assert!(streams.resume(&Identity::Local, &id).is_none());
        let refused = streams.open(Identity::Local, SubscriptionSet::new(vec![]).unwrap()).unwrap_err();
        assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
    }
}
