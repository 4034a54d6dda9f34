//! Requests: where in the history of a collection to begin.

use std::num::NonZeroU32;
use std::time::Duration;

use crate::ResourceVersion;

/// A list, or a page of one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ListRequest {
    /// Which state of the collection.
    pub at: ListAt,
    /// How many items a page should have at most; `None` for all at once. A server can ignore it.
    pub limit: Option<NonZeroU32>,
}

/// Which state of a collection to list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ListAt {
    /// The newest that there is when the request arrives.
    #[default]
    MostRecent,
    /// Any that the server has at hand, even an old one. The server then ignores the limit.
    Any,
    /// This version or a newer one.
    NotOlderThan(ResourceVersion),
    /// This version and no other.
    Exact(ResourceVersion),
    /// This version, without saying how it is meant. A server takes it as
    /// [`NotOlderThan`](Self::NotOlderThan) if there is no limit and as [`Exact`](Self::Exact) if
    /// there is one. This is how client-go relists.
    Unqualified(ResourceVersion),
    /// The page that this token leads to, at the version of the page before it.
    Page(String),
}

impl ListRequest {
    /// The query parameters of the request, less the selectors, which the producer knows.
    ///
    /// ```
    /// use watchkeeper_core::{ListAt, ListRequest};
    ///
    /// let list = ListRequest { at: ListAt::NotOlderThan(10.into()), limit: None };
    /// let expected = [("resourceVersion", "10".to_owned()), ("resourceVersionMatch", "NotOlderThan".to_owned())];
    /// assert_eq!(list.query(), expected);
    /// ```
    pub fn query(&self) -> Vec<(&'static str, String)> {
        let mut query = Vec::new();
        match &self.at {
            ListAt::MostRecent => {}
            ListAt::Any => query.push(("resourceVersion", ResourceVersion::ANY.to_string())),
            ListAt::NotOlderThan(version) => push_version(&mut query, version, Some("NotOlderThan")),
            ListAt::Exact(version) => push_version(&mut query, version, Some("Exact")),
            ListAt::Unqualified(version) => push_version(&mut query, version, None),
            ListAt::Page(token) => query.push(("continue", token.clone())),
        }
        query.extend(self.limit.map(|limit| ("limit", limit.to_string())));
        query
    }
}

/// A watch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchRequest {
    /// Where to begin.
    pub from: WatchFrom,
    /// When the server shall end the watch; `None` leaves it to the server.
    pub timeout: Option<Duration>,
    /// Whether the server may send bookmarks. Without them, nothing marks the end of the initial
    /// events.
    pub bookmarks: bool,
}

/// Where a watch begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WatchFrom {
    /// With the first change after this version. Servers take `""` and `"0"`, which are no versions
    /// of anything, for [`InitialEvents`](Self::InitialEvents) of the most recent state and of any.
    After(ResourceVersion),
    /// With the whole state, as ADDED events up to a bookmark that says so; then with the changes
    /// after it.
    InitialEvents {
        /// Which state: this version or a newer one; [`ResourceVersion::ANY`] for any; `None` for
        /// the most recent.
        not_older_than: Option<ResourceVersion>,
    },
}

impl WatchRequest {
    /// A watch with bookmarks that the server ends when it likes.
    pub fn new(from: WatchFrom) -> Self {
        Self { from, timeout: None, bookmarks: true }
    }

    /// The query parameters of the request, less the selectors, which the producer knows. Servers
    /// count a timeout in seconds: it is rounded up.
    pub fn query(&self) -> Vec<(&'static str, String)> {
        let mut query = vec![("watch", "true".to_owned())];
        match &self.from {
            WatchFrom::After(version) => push_version(&mut query, version, None),
            WatchFrom::InitialEvents { not_older_than } => {
                query.push(("sendInitialEvents", "true".to_owned()));
                query.push(("resourceVersionMatch", "NotOlderThan".to_owned()));
                if let Some(version) = not_older_than {
                    push_version(&mut query, version, None);
                }
            }
        }
        if self.bookmarks {
            query.push(("allowWatchBookmarks", "true".to_owned()));
        }
        if let Some(timeout) = self.timeout {
            let seconds = timeout.as_secs().saturating_add(u64::from(timeout.subsec_nanos() > 0));
            query.push(("timeoutSeconds", seconds.to_string()));
        }
        query
    }
}

/// An empty version is left out, and with it what is said of it: servers refuse one without the
/// other.
fn push_version(query: &mut Vec<(&'static str, String)>, version: &ResourceVersion, how: Option<&str>) {
    if !version.is_empty() {
        query.push(("resourceVersion", version.to_string()));
        query.extend(how.map(|how| ("resourceVersionMatch", how.to_owned())));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(query: &[(&'static str, String)]) -> String {
        query.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("&")
    }

    #[test]
    fn every_row_of_the_list_table_can_be_asked_for_and_no_refused_one() {
        let version = || ResourceVersion::from(10);
        let empty = ResourceVersion::default;
        let table = [
            (ListAt::MostRecent, None, ""),
            (ListAt::MostRecent, Some(500), "limit=500"),
            (ListAt::Any, Some(500), "resourceVersion=0&limit=500"),
            (ListAt::Unqualified(version()), None, "resourceVersion=10"),
            (ListAt::Unqualified(version()), Some(5), "resourceVersion=10&limit=5"),
            (ListAt::NotOlderThan(version()), None, "resourceVersion=10&resourceVersionMatch=NotOlderThan"),
            (ListAt::Exact(version()), Some(5), "resourceVersion=10&resourceVersionMatch=Exact&limit=5"),
            (ListAt::Page("eyJ2".into()), Some(5), "continue=eyJ2&limit=5"),
            (ListAt::NotOlderThan(empty()), None, ""),
            (ListAt::Exact(empty()), None, ""),
            (ListAt::Unqualified(empty()), None, ""),
        ];
        for (at, limit, query) in table {
            let request = ListRequest { at, limit: limit.and_then(NonZeroU32::new) };
            assert_eq!(text(&request.query()), query, "{request:?}");
        }
    }

    #[test]
    fn a_watch_for_initial_events_says_all_that_servers_insist_on() {
        let initial = |not_older_than| WatchRequest::new(WatchFrom::InitialEvents { not_older_than });
        let always = "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan";
        let table = [
            (initial(None), format!("{always}&allowWatchBookmarks=true")),
            (initial(Some(10.into())), format!("{always}&resourceVersion=10&allowWatchBookmarks=true")),
            (
                initial(Some(ResourceVersion::ANY)),
                format!("{always}&resourceVersion=0&allowWatchBookmarks=true"),
            ),
            (initial(Some("".into())), format!("{always}&allowWatchBookmarks=true")),
        ];
        for (request, query) in table {
            assert_eq!(text(&request.query()), query, "{request:?}");
        }
    }

    #[test]
    fn a_watch_after_a_version_rounds_its_timeout_up_to_seconds() {
        let timeout = Some(Duration::from_millis(300_001));
        let watch = WatchRequest { timeout, ..WatchRequest::new(WatchFrom::After(10.into())) };
        assert_eq!(
            text(&watch.query()),
            "watch=true&resourceVersion=10&allowWatchBookmarks=true&timeoutSeconds=301"
        );
        let watch = WatchRequest { bookmarks: false, timeout: None, ..watch };
        assert_eq!(text(&watch.query()), "watch=true&resourceVersion=10");
        let forever = WatchRequest { timeout: Some(Duration::MAX), ..watch };
        assert!(text(&forever.query()).ends_with("&timeoutSeconds=18446744073709551615"));
    }
}
