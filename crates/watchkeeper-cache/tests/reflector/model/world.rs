//! The world: a collection with its complete history, and a source of random failures.

use std::collections::BTreeMap;
use std::time::Duration;

use fastrand::Rng;
use tokio::sync::watch;
use watchkeeper_core::{GroupResource, ListAt, ListError, ListRequest, Status, WatchError, WatchEvent};
use watchkeeper_testkit::script::object;

/// Objects and their versions.
pub(super) type State = BTreeMap<String, u64>;

/// A collection with its complete history, one change for each version.
pub(super) struct World {
    /// Each change: its key, and whether the object exists after it. The first has version 1.
    pub(super) history: Vec<(String, bool)>,
    /// Versions below this one have expired.
    pub(super) oldest: u64,
    /// Whether requests can fail.
    pub(super) noisy: bool,
    pub(super) initial_events: bool,
    /// Whether lists at any version are paged.
    pub(super) paged: bool,
    pub(super) random: Rng,
    pub(super) changed: watch::Sender<u64>,
}

impl World {
    pub(super) fn newest(&self) -> u64 {
        self.history.len() as u64
    }

    pub(super) fn state(&self, version: u64) -> State {
        let mut state = State::new();
        for (number, (key, there)) in (1..).zip(&self.history).take(version as usize) {
            match there {
                true => state.insert(key.clone(), number),
                false => state.remove(key),
            };
        }
        state
    }

    /// Returns the event with this version.
    pub(super) fn event(&self, version: u64) -> WatchEvent {
        let (key, there) = &self.history[version as usize - 1];
        let object = object(key, version);
        match (there, self.state(version - 1).contains_key(key)) {
            (false, _) => WatchEvent::Deleted(object),
            (true, true) => WatchEvent::Modified(object),
            (true, false) => WatchEvent::Added(object),
        }
    }

    pub(super) fn change(&mut self) {
        let key = format!("o{}", self.roll(8));
        let there = !self.state(self.newest()).contains_key(&key) || self.roll(3) > 0;
        self.history.push((key, there));
        self.changed.send_replace(self.newest());
    }

    /// Returns a random number below `sides`.
    pub(super) fn roll(&mut self, sides: u64) -> u64 {
        self.random.u64(..sides)
    }

    pub(super) fn fails(&mut self, one_in: u64) -> bool {
        self.noisy && self.roll(one_in) == 0
    }

    pub(super) fn between(&mut self, least: u64) -> u64 {
        least + self.roll(self.newest() - least + 1)
    }

    /// Returns a random error status.
    fn status(&mut self) -> Status {
        match self.roll(7) {
            0 | 1 => Status::expired("too old"),
            2 => Status::too_large_resource_version(&9.into(), &8.into(), Duration::from_secs(1)),
            3 => Status::too_many_requests("busy", Duration::from_secs(2)),
            4 => Status::internal_error("why"),
            5 => Status::not_found(&GroupResource { group: String::new(), resource: "things".into() }, ""),
            _ => Status::service_unavailable("down"),
        }
    }

    pub(super) fn list_error(&mut self) -> ListError {
        match self.roll(6) {
            0 => ListError::ConnectionRefused("nobody".into()),
            1 => ListError::Interrupted("reset".into()),
            2 => ListError::Malformed("a table".into()),
            _ => self.status().into(),
        }
    }

    pub(super) fn watch_error(&mut self) -> WatchError {
        match self.roll(6) {
            0 => WatchError::ConnectionRefused("nobody".into()),
            1 => WatchError::Interrupted("reset".into()),
            2 => WatchError::Malformed("not JSON".into()),
            _ => self.status().into(),
        }
    }

    /// Returns the version of a list, and the index of its first key.
    pub(super) fn list_from(&mut self, request: &ListRequest) -> Result<(u64, usize), ListError> {
        let expired = || ListError::from(Status::expired("too old"));
        let known = |version: u64, oldest| if version < oldest { Err(expired()) } else { Ok(version) };
        Ok(match &request.at {
            ListAt::MostRecent => (self.newest(), 0),
            ListAt::Any => (self.between(self.oldest), 0),
            ListAt::Unqualified(version) => match (version.as_u64().unwrap(), request.limit) {
                (version, _) if version > self.newest() => {
                    let newest = self.newest().into();
                    let wait = Duration::from_secs(1);
                    return Err(Status::too_large_resource_version(&version.into(), &newest, wait).into());
                }
                (version, None) => (self.between(version.max(self.oldest)), 0),
                (version, Some(_)) => (known(version, self.oldest)?, 0),
            },
            ListAt::Page(token) => {
                let (version, from) = token.split_once('/').unwrap();
                (known(version.parse().unwrap(), self.oldest)?, from.parse().unwrap())
            }
            other => panic!("unexpected request: {other:?}"),
        })
    }
}
