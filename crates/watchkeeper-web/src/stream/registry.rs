//! Registry: the streams that there are, and until when.

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
use super::session::Session;
use super::start::Starter;
use super::subscription::Set;
use super::{KEPT, MAX_STREAMS};
use crate::access::{Access, Who};
use crate::catalog::Catalog;
use crate::envelope::Failure;

/// So often in the time that a stream is kept it is looked for those whose time is over.
const SWEEPS: u32 = 12;

/// What bounds the streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// How many there may be: [`MAX_STREAMS`].
    pub streams: usize,
    /// How long one waits for its reader to come back: [`KEPT`].
    pub kept: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { streams: MAX_STREAMS, kept: KEPT }
    }
}

/// The streams that there are. Clones are of the same ones.
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
    /// Begins with the first stream.
    sweeper: Option<AbortOnDropHandle<()>>,
}

impl Streams {
    pub(crate) fn new(catalog: Catalog, access: Access) -> Self {
        let starter = Starter::new(catalog, access);
        let (limits, inner) = (Mutex::default(), Mutex::default());
        Self { registry: Arc::new(Registry { starter, limits, inner }) }
    }

    /// Bounds them otherwise. There may be more than so many until they end.
    pub fn limit(&self, limits: Limits) {
        *self.registry.limits.lock() = limits;
    }

    /// Has them counted: `watchkeeper_web_streams`.
    pub(crate) fn measure(&self, metrics: &Metrics) -> Result<(), RegisterError> {
        let registry = Arc::downgrade(&self.registry);
        let count =
            move || registry.upgrade().map_or(0, |registry| registry.inner.lock().sessions.len()) as f64;
        let help = "Streams that are open, with those that wait for their readers to come back.";
        metrics.computed("watchkeeper_web_streams", help, count)
    }

    /// How many there are, with those that wait for their readers.
    pub fn len(&self) -> usize {
        self.registry.inner.lock().sessions.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Ends all of them, and opens no more.
    pub fn close(&self) {
        let mut inner = self.registry.inner.lock();
        inner.is_closed = true;
        inner.sweeper = None;
        let sessions = std::mem::take(&mut inner.sessions);
        drop(inner);
        sessions.values().for_each(|session| session.close());
    }

    /// A new stream.
    pub(super) fn open(&self, who: Who, wanted: Set) -> Result<Connection, Failure> {
        let id: Arc<str> = random()?.into();
        let session = Session::new(Arc::clone(&id), who, Arc::clone(&self.registry.starter));
        let connection = Connection::new(Arc::clone(&session), 0, false);
        self.registry.insert(id, &session)?;
        session.replace(wanted);
        Ok(connection)
    }

    /// A stream goes on after the message with this id; `None` if there is none of theirs, or no more (T4).
    pub(super) fn resume(&self, who: &Who, last: &str) -> Option<Connection> {
        let (id, sequence) = last.rsplit_once('.')?;
        let sequence = sequence.parse().ok()?;
        let session = self.find(who, id)?;
        (sequence <= session.last()).then(|| Connection::new(session, sequence, true))
    }

    /// The stream of this name, if it is theirs (T4).
    pub(super) fn find(&self, who: &Who, id: &str) -> Option<Arc<Session>> {
        let session = self.registry.inner.lock().sessions.get(id).cloned()?;
        (is_same(&session.who, who) && !self.registry.is_over(&session)).then_some(session)
    }
}

impl Registry {
    fn insert(self: &Arc<Self>, id: Arc<str>, session: &Arc<Session>) -> Result<(), Failure> {
        let full = |message| Err(Failure::new(StatusCode::SERVICE_UNAVAILABLE, message).retry_after(5));
        let mut inner = self.inner.lock();
        if inner.is_closed {
            return full("the service is about to end");
        }
        let limits = *self.limits.lock();
        let dropped = match inner.sessions.len() >= limits.streams {
            true => inner.make_room(),
            false => None,
        };
        if inner.sessions.len() >= limits.streams {
            return full("there are too many streams; try again later");
        }
        inner.sessions.insert(id, Arc::clone(session));
        if inner.sweeper.is_none() {
            let every = (limits.kept / SWEEPS).max(Duration::from_millis(1));
            inner.sweeper = Some(AbortOnDropHandle::new(tokio::spawn(sweep(Arc::downgrade(self), every))));
        }
        drop(inner);
        drop(dropped);
        Ok(())
    }

    fn is_over(&self, session: &Session) -> bool {
        let kept = self.limits.lock().kept;
        session.alone_since().is_some_and(|since| since.elapsed() >= kept)
    }

    /// Forgets those whose time is over.
    fn sweep(&self) {
        let mut inner = self.inner.lock();
        let over: Vec<_> = inner.sessions.extract_if(|_, session| self.is_over(session)).collect();
        drop(inner);
        drop(over);
    }
}

impl Inner {
    /// Gives up the one that has waited longest for its reader.
    fn make_room(&mut self) -> Option<Arc<Session>> {
        let alone = self.sessions.values().filter_map(|session| Some((session.alone_since()?, &session.id)));
        let (_, id) = alone.min_by_key(|(since, _)| *since)?;
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

/// Whether both are the same person, with whichever token.
fn is_same(one: &Who, other: &Who) -> bool {
    match (one, other) {
        (Who::Local, Who::Local) => true,
        (Who::User(one), Who::User(other)) => {
            (&one.name, &one.uid, &one.groups, &one.extra)
                == (&other.name, &other.uid, &other.groups, &other.extra)
        }
        (Who::Local, Who::User(_)) | (Who::User(_), Who::Local) => false,
    }
}

/// A name that cannot be guessed.
fn random() -> Result<String, Failure> {
    let mut bytes = [0; 16];
    let none = |_| Failure::new(StatusCode::SERVICE_UNAVAILABLE, "the system has no random numbers to give");
    SystemRandom::new().fill(&mut bytes).map_err(none)?;
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

    /// Over a server that is not there.
    fn streams() -> Streams {
        let client = Client::new(&Config::new("http://127.0.0.1:1".parse().unwrap())).unwrap();
        Streams::new(Catalog::builder(&client).build(), Access::new(&client))
    }

    /// A stream of nothing, and the id that it begins with.
    async fn open(streams: &Streams) -> (Connection, String) {
        let mut connection = streams.open(Who::Local, Set::new(vec![]).unwrap()).unwrap();
        let hello = next(&mut connection).await.unwrap();
        let id = hello.split("id: ").nth(1).unwrap().lines().next().unwrap().to_owned();
        (connection, id)
    }

    async fn next(connection: &mut Connection) -> Option<String> {
        Some(String::from_utf8(connection.next().await?.to_vec()).unwrap())
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_waits_so_long_for_its_reader_and_no_longer() {
        let streams = streams();
        let (mut connection, id) = open(&streams).await;
        advance(10 * KEPT).await;
        assert!(streams.resume(&Who::Local, &id).is_some(), "while he is there it lasts");
        assert_eq!(next(&mut connection).await, None, "and ends where another has come in his place");
        drop(connection);
        advance(KEPT.checked_sub(Duration::from_secs(1)).unwrap()).await;
        let mut again = streams.resume(&Who::Local, &id).unwrap();
        assert!(next(&mut again).await.unwrap().ends_with("\"resumed\":true}\n\n"));
        drop(again);
        advance(KEPT).await;
        assert!(streams.resume(&Who::Local, &id).is_none());
        assert!(streams.find(&Who::Local, id.rsplit_once('.').unwrap().0).is_none());
        tokio::time::sleep(KEPT / SWEEPS).await;
        assert!(streams.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_that_has_nothing_to_say_says_so() {
        let (mut connection, _) = open(&streams()).await;
        let begun = Instant::now();
        for times in 1..4 {
            assert_eq!(next(&mut connection).await.as_deref(), Some(": ping\n\n"));
            assert_eq!(begun.elapsed(), times * PING);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn ten_thousand_that_have_nothing_to_say_cost_a_wake_up_each_and_end_together() {
        let streams = streams();
        let mut open: Vec<_> =
            (0..10_000).map(|_| streams.open(Who::Local, Set::new(vec![]).unwrap()).unwrap()).collect();
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
    async fn what_is_closed_ends_and_opens_no_more() {
        let streams = streams();
        let (mut connection, id) = open(&streams).await;
        streams.close();
        assert_eq!(next(&mut connection).await, None);
        assert!(streams.resume(&Who::Local, &id).is_none());
        let refused = streams.open(Who::Local, Set::new(vec![]).unwrap()).unwrap_err();
        assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
    }
}
