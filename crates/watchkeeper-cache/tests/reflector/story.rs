//! A story: the requests of a reflector, the calls of its sink, and the calls of its observer.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;
use watchkeeper_cache::reflector::{ExitReason, Failure, Next, Observer};
use watchkeeper_cache::{Reflector, Sink};
use watchkeeper_core::{
    Bookmark, BoxError, ListAt, Object, ObjectKey, ObjectMeta, ResourceVersion, Status, WatchFrom,
    WatchRequest,
};
use watchkeeper_testkit::script::{Request, Script};

/// A sink that keeps names and versions, and records every call.
#[derive(Clone, Default)]
pub(crate) struct Recorder(Arc<Mutex<Recorded>>);

#[derive(Default)]
struct Recorded {
    staged: Option<BTreeMap<String, ResourceVersion>>,
    copy: BTreeMap<String, ResourceVersion>,
    notes: Vec<String>,
}

/// `a@7 b@8`.
fn shown(objects: &BTreeMap<String, ResourceVersion>) -> String {
    objects.iter().map(|(key, version)| format!("{key}@{version}")).collect::<Vec<_>>().join(" ")
}

fn named(object: &Object) -> String {
    format!("{}@{}", object.metadata.key(), object.metadata.resource_version())
}

impl Recorder {
    pub(crate) fn notes(&self) -> Vec<String> {
        self.0.lock().notes.clone()
    }

    pub(crate) fn copy(&self) -> BTreeMap<String, ResourceVersion> {
        self.0.lock().copy.clone()
    }
}

impl Sink for Recorder {
    fn begin(&mut self) {
        self.0.lock().staged = Some(BTreeMap::new());
    }

    fn stage(&mut self, object: Object) {
        let entry = (object.metadata.key().to_string(), object.metadata.resource_version().clone());
        self.0.lock().staged.as_mut().expect("a list has begun").extend([entry]);
    }

    fn stage_as_it_was(&mut self, key: &ObjectKey) {
        let mut state = self.0.lock();
        if let Some(known) = state.copy.get(&key.to_string()).cloned() {
            state.staged.as_mut().expect("a list has begun").entry(key.to_string()).or_insert(known);
        }
    }

    fn unstage(&mut self, key: &ObjectKey) {
        self.0.lock().staged.as_mut().expect("a list has begun").remove(&key.to_string());
    }

    fn commit(&mut self, version: ResourceVersion) {
        let mut state = self.0.lock();
        state.copy = state.staged.take().expect("a list has begun");
        let note = format!("commit @{version}: {}", shown(&state.copy));
        state.notes.push(note);
    }

    fn put(&mut self, object: Object) {
        let mut state = self.0.lock();
        assert!(state.staged.is_none(), "K2");
        state.copy.insert(object.metadata.key().to_string(), object.metadata.resource_version().clone());
        state.notes.push(format!("put {}", named(&object)));
    }

    fn delete(&mut self, last: Object) {
        let mut state = self.0.lock();
        assert!(state.staged.is_none(), "K2");
        state.copy.remove(&last.metadata.key().to_string());
        state.notes.push(format!("delete {}", named(&last)));
    }

    fn delete_unseen(&mut self, last: &ObjectMeta) {
        let mut state = self.0.lock();
        state.copy.remove(&last.key().to_string());
        state.notes.push(format!("delete unseen {}@{}", last.key(), last.resource_version()));
    }

    fn bookmark(&mut self, bookmark: &Bookmark) {
        self.0.lock().notes.push(format!("bookmark @{}", bookmark.version));
    }
}

/// An observer that records every call.
#[derive(Clone, Default)]
pub(crate) struct RecordingObserver(Arc<Mutex<Observations>>);

#[derive(Default, Clone)]
pub(crate) struct Observations {
    pub(crate) failures: Vec<String>,
    pub(crate) delays: Vec<Duration>,
    pub(crate) gone: u32,
    pub(crate) skipped: Vec<String>,
    pub(crate) untransformed: Vec<String>,
    pub(crate) stalls: Vec<String>,
    pub(crate) lists_begun: u32,
    pub(crate) lists: Vec<(Duration, u64)>,
    pub(crate) watches_begun: u32,
    /// Duration, number of events, whether short.
    pub(crate) watches: Vec<(Duration, u64, bool)>,
    pub(crate) versions: Vec<String>,
}

impl RecordingObserver {
    pub(crate) fn now(&self) -> Observations {
        self.0.lock().clone()
    }
}

impl Observer for RecordingObserver {
    fn failed(&mut self, _: &str, failure: &Failure, next: Next, after: Duration) {
        let what = match failure {
            Failure::List(error) => format!("list: {error}"),
            Failure::Watch(error) => format!("watch: {error}"),
            other => other.to_string(),
        };
        let mut observed = self.0.lock();
        observed.failures.push(format!("{what}: {next:?}"));
        observed.delays.push(after);
    }

    fn gone(&mut self, _: &str, status: &Status) {
        assert!(status.is_not_found());
        self.0.lock().gone += 1;
    }

    fn skipped(&mut self, _: &str, object: &Object, reason: &BoxError) {
        self.0.lock().skipped.push(format!("{}: {reason}", named(object)));
    }

    fn transform_failed(&mut self, _: &str, object: &ObjectMeta, reason: &BoxError) {
        self.0.lock().untransformed.push(format!("{}@{}: {reason}", object.key(), object.resource_version()));
    }

    fn stalled(&mut self, _: &str, asked: Duration, last: Option<Duration>) {
        self.0.lock().stalls.push(match last {
            None => format!("{asked:?}: nothing"),
            Some(last) => format!("{asked:?}: last {last:?} ago"),
        });
    }

    fn list_begins(&mut self) {
        self.0.lock().lists_begun += 1;
    }

    fn list_ends(&mut self, took: Duration, items: u64) {
        self.0.lock().lists.push((took, items));
    }

    fn watch_begins(&mut self) {
        self.0.lock().watches_begun += 1;
    }

    fn watch_ends(&mut self, took: Duration, events: u64, short: bool) {
        self.0.lock().watches.push((took, events, short));
    }

    fn version(&mut self, version: &ResourceVersion) {
        self.0.lock().versions.push(version.to_string());
    }
}

/// The outcome of a script.
pub(crate) struct Story {
    /// `list rv=0 limit=500`, `stream rv=10`, `watch rv=10`.
    pub(crate) asked: Vec<String>,
    pub(crate) writes: Vec<String>,
    pub(crate) observed: Observations,
    pub(crate) took: Duration,
    pub(crate) reason: ExitReason,
    /// Number of requests still in flight.
    pub(crate) open: usize,
}

/// Runs a reflector with these settings against a script until the script ends.
pub(crate) async fn story_of(
    script: &Script,
    settings: impl FnOnce(Reflector<Recorder>) -> Reflector<Recorder>,
) -> Story {
    let (copy, observed) = (Recorder::default(), RecordingObserver::default());
    let reflector = Reflector::new(script.clone(), copy.clone()).observer(observed.clone()).seed(1);
    let begun = Instant::now();
    let ended = settings(reflector).run(script.played()).await;
    Story {
        asked: script.requests().iter().map(asked).collect(),
        writes: copy.notes(),
        observed: observed.now(),
        took: begun.elapsed(),
        reason: ended.reason,
        open: script.open(),
    }
}

/// Runs a reflector against a script until the script ends.
pub(crate) async fn story(script: Script) -> Story {
    story_of(&script, |reflector| reflector).await
}

pub(crate) fn asked(request: &Request) -> String {
    let (mut text, limit) = match request {
        Request::Watch(request) => (watched(request), None),
        Request::List(request) => {
            let at = match &request.at {
                ListAt::MostRecent => "list".to_owned(),
                ListAt::Any => "list rv=0".to_owned(),
                ListAt::Unqualified(version) => format!("list rv={version}"),
                ListAt::Page(token) => format!("list continue={token}"),
                other => format!("list {other:?}"),
            };
            (at, request.limit)
        }
    };
    if let Some(limit) = limit {
        text += &format!(" limit={limit}");
    }
    text
}

fn watched(request: &WatchRequest) -> String {
    assert!(request.bookmarks && request.timeout.is_some());
    match &request.from {
        WatchFrom::After(version) => format!("watch rv={version}"),
        WatchFrom::InitialEvents { not_older_than: None } => "stream".to_owned(),
        WatchFrom::InitialEvents { not_older_than: Some(version) } => format!("stream rv={version}"),
    }
}
