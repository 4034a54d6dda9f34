//! List and watch requests: where in a collection's history to start.

use std::num::NonZeroU32;
use std::time::Duration;

use crate::ResourceVersion;

/// A request for a list, or for a page of one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ListRequest {
    /// The state of the collection to list.
    pub at: ListAt,
    /// The maximum number of items per page; `None` for no limit. A server may ignore it.
    pub limit: Option<NonZeroU32>,
}

/// The state of a collection to list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ListAt {
    /// The most recent state when the request arrives.
    #[default]
    MostRecent,
    /// Any state in the server's cache, even an old one. The server then ignores the limit.
    Any,
    /// This version or a newer one.
    NotOlderThan(ResourceVersion),
    /// Exactly this version.
    Exact(ResourceVersion),
    /// This version, without `resourceVersionMatch`. A server treats it as
    /// [`NotOlderThan`](Self::NotOlderThan) without a limit and as [`Exact`](Self::Exact) with one.
    /// client-go relists this way.
    Unqualified(ResourceVersion),
    /// The page for this continue token, at the version of the previous page.
    Page(String),
}

impl ListRequest {
    /// Returns the query parameters, without selectors.
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

/// A request for a watch.
///
/// The default starts with the most recent state as ADDED events, and continues with changes, as client-go's `Watch`
/// does without options. It works with every server. Nothing marks the end of the initial events: use
/// [`WatchFrom::InitialEvents`] for that.
///
/// ```
/// use watchkeeper_core::{WatchFrom, WatchRequest};
///
/// assert_eq!(WatchRequest::default(), WatchRequest::new(WatchFrom::After("".into())));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchRequest {
    /// The starting point.
    pub from: WatchFrom,
    /// The time after which the server ends the watch; `None` for the server's default.
    pub timeout: Option<Duration>,
    /// Whether to request bookmarks. Without them, nothing marks the end of the initial events.
    pub bookmarks: bool,
}

/// The starting point of a watch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WatchFrom {
    /// With the first change after this version. Servers treat `""` and `"0"` as
    /// [`InitialEvents`](Self::InitialEvents) of the most recent state and of any state.
    After(ResourceVersion),
    /// With the whole state as ADDED events, ended by a bookmark, followed by changes.
    InitialEvents {
        /// The oldest acceptable version: [`ResourceVersion::ANY`] for any, `None` for the most recent
        /// state.
        not_older_than: Option<ResourceVersion>,
    },
}

impl Default for WatchRequest {
    fn default() -> Self {
        Self::new(WatchFrom::After(ResourceVersion::default()))
    }
}

impl WatchRequest {
    /// Creates a watch with bookmarks and the server's default timeout.
    pub fn new(from: WatchFrom) -> Self {
        Self { from, timeout: None, bookmarks: true }
    }

    /// Returns the query parameters, without selectors. The timeout is rounded up to whole seconds.
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

/// Omits an empty version together with its match rule: servers reject one without the other.
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
    fn every_list_request_has_a_valid_query() {
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
    fn a_watch_for_initial_events_has_all_required_parameters() {
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
    fn a_default_watch_has_no_version() {
        assert_eq!(text(&WatchRequest::default().query()), "watch=true&allowWatchBookmarks=true");
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
