//! Options of reads: list, watch and get.

use std::time::Duration;

use watchkeeper_core::{FieldSelector, LabelSelector, Quoted, Status, StatusCause};

use super::cause::{forbidden, invalid, not_supported};
use super::unexplained;
use crate::http::go_text::parse_u64;
use crate::http::query::Query;
use crate::http::selector_text;

/// The requested resource version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AtVersion {
    /// Not set: the newest.
    #[default]
    Unset,
    /// `0`: any version.
    Any,
    /// This version: the oldest acceptable one of a get, the start of a watch, and for a list as [`VersionMatch`] says.
    At(u64),
}

/// The interpretation of a resource version in a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VersionMatch {
    /// Exactly this version.
    Exact,
    /// This version or a newer one.
    NotOlderThan,
}

/// The options of a list or a watch.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ListOptions {
    /// The label selector.
    pub label_selector: LabelSelector,
    /// The field selector. The handler checks whether the resource supports its fields.
    pub field_selector: FieldSelector,
    /// Whether the query requests a watch.
    pub watch: bool,
    /// Whether a watch may send bookmarks.
    pub allow_watch_bookmarks: bool,
    /// The version to list at or to watch from.
    pub resource_version: AtVersion,
    /// The interpretation of the version.
    pub resource_version_match: Option<VersionMatch>,
    /// The duration of a watch; `None` if the server chooses.
    pub timeout: Option<Duration>,
    /// The page size; `None` for no limit.
    pub limit: Option<u64>,
    /// The token of the next page; empty for the first. Opaque here.
    pub continue_token: String,
    /// Whether a watch begins with the current objects. As in kube-apiserver, [`read`](Self::read) sets it for a watch
    /// without a version or from version `0`, unless the query sets it or `resourceVersionMatch`.
    pub send_initial_events: Option<bool>,
}

impl ListOptions {
    /// Reads and validates the options of a list or a watch.
    ///
    /// ```
    /// use watchkeeper_apiserver::http::{ListOptions, Query};
    ///
    /// let options = ListOptions::read(&Query::parse("labelSelector=app%3Dweb&limit=500"))?;
    /// assert_eq!(options.limit, Some(500));
    /// let status = ListOptions::read(&Query::parse("resourceVersionMatch=Exact")).unwrap_err();
    /// assert_eq!(status.code, 422);
    /// # Ok::<(), watchkeeper_core::Status>(())
    /// ```
    ///
    /// # Errors
    /// Returns 400 and 422 (`options.O1`), and 500 for a watch from an invalid version, like kube-apiserver.
    pub fn read(query: &Query) -> Result<Self, Status> {
        let timeout_seconds = query.number("timeoutSeconds")?;
        let limit = query.number("limit")?.unwrap_or_default();
        let mut options = Self {
            label_selector: LabelSelector::default(),
            field_selector: FieldSelector::default(),
            watch: query.switch("watch").unwrap_or_default(),
            allow_watch_bookmarks: query.switch("allowWatchBookmarks").unwrap_or_default(),
            resource_version: AtVersion::Unset,
            resource_version_match: None,
            // A negative timeout ends the watch at once, like Go's context.
            timeout: timeout_seconds
                .filter(|seconds| *seconds != 0)
                .map(|seconds| Duration::from_secs(u64::try_from(seconds).unwrap_or_default())),
            limit: u64::try_from(limit).ok().filter(|limit| *limit > 0),
            continue_token: query.text("continue").to_owned(),
            send_initial_events: query.switch("sendInitialEvents"),
        };
        let labels = query.text("labelSelector");
        options.label_selector = LabelSelector::parse(labels)
            .map_err(|error| Status::bad_request(selector_text::of_labels(labels, &error)))?;
        let fields = query.text("fieldSelector");
        options.field_selector = FieldSelector::parse(fields)
            .map_err(|error| Status::bad_request(selector_text::of_fields(fields, &error)))?;

        let version = query.text("resourceVersion");
        let mut matching = query.text("resourceVersionMatch");
        if options.watch
            && matches!(version, "" | "0")
            && options.send_initial_events.is_none()
            && matching.is_empty()
        {
            options.send_initial_events = Some(true);
            matching = NOT_OLDER_THAN;
        }
        let faults = if options.watch {
            options.watch_faults(matching)
        } else {
            options.list_faults(version, matching)
        };
        invalid("ListOptions", faults)?;
        options.resource_version_match = match matching {
            EXACT => Some(VersionMatch::Exact),
            NOT_OLDER_THAN => Some(VersionMatch::NotOlderThan),
            _ => None,
        };
        options.resource_version = AtVersion::read(version).map_err(|why| {
            if options.watch {
                unexplained(why)
            } else {
                Status::bad_request(format!("invalid resource version: {why}"))
            }
        })?;
        Ok(options)
    }

    /// Returns whether this is a watch list: a watch that begins with the current objects and marks their end. Only
    /// such watches are compressed.
    pub fn is_watch_list(&self) -> bool {
        self.send_initial_events == Some(true) && self.allow_watch_bookmarks
    }

    fn list_faults(&self, version: &str, matching: &str) -> Vec<StatusCause> {
        const FIELD: &str = "resourceVersionMatch";
        let mut faults = Vec::new();
        if !matching.is_empty() {
            if version.is_empty() {
                let detail = "resourceVersionMatch is forbidden unless resourceVersion is provided";
                faults.push(forbidden(FIELD, detail));
            }
            if !self.continue_token.is_empty() {
                faults.push(forbidden(FIELD, "resourceVersionMatch is forbidden when continue is provided"));
            }
            if !matches!(matching, EXACT | NOT_OLDER_THAN) {
                faults.push(not_supported(
                    FIELD,
                    &Quoted(matching).to_string(),
                    &[EXACT, NOT_OLDER_THAN, ""],
                ));
            }
            if matching == EXACT && version == "0" {
                let detail = r#"resourceVersionMatch "exact" is forbidden for resourceVersion "0""#;
                faults.push(forbidden(FIELD, detail));
            }
        }
        if self.send_initial_events.is_some() {
            faults.push(forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"));
        }
        faults
    }

    fn watch_faults(&self, matching: &str) -> Vec<StatusCause> {
        const FIELD: &str = "resourceVersionMatch";
        let mut faults = Vec::new();
        if self.send_initial_events.is_some() && matching != NOT_OLDER_THAN {
            let detail = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
            faults.push(forbidden(FIELD, detail));
        }
        if !matching.is_empty() {
            if self.send_initial_events.is_none() {
                let detail =
                    "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
                faults.push(forbidden(FIELD, detail));
            }
            if matching != NOT_OLDER_THAN {
                faults.push(not_supported(FIELD, &Quoted(matching).to_string(), &[NOT_OLDER_THAN]));
            }
            if !self.continue_token.is_empty() {
                faults.push(forbidden(FIELD, "resourceVersionMatch is forbidden when continue is provided"));
            }
        }
        faults
    }
}

const EXACT: &str = "Exact";
const NOT_OLDER_THAN: &str = "NotOlderThan";

impl AtVersion {
    fn read(text: &str) -> Result<Self, String> {
        match text {
            "" => Ok(Self::Unset),
            text => match parse_u64(text) {
                Ok(0) => Ok(Self::Any),
                Ok(version) => Ok(Self::At(version)),
                Err(error) => Err(format!("resourceVersion: Invalid value: {}: {error}", Quoted(text))),
            },
        }
    }
}

/// The options of a get.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct GetOptions {
    /// The oldest acceptable version.
    pub resource_version: AtVersion,
}

impl GetOptions {
    /// Reads the options of a get.
    ///
    /// # Errors
    /// Returns 500 if the version is invalid, like kube-apiserver.
    pub fn read(query: &Query) -> Result<Self, Status> {
        let resource_version = AtVersion::read(query.text("resourceVersion")).map_err(unexplained)?;
        Ok(Self { resource_version })
    }
}
