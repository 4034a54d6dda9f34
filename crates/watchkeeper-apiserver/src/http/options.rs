//! Request options: the parameters in the query, or in the body of a DELETE.
//!
//! Input: [`Query`].
//! Output: the [`Handler`](crate::http::Handler).
//!
//! Invariants:
//! - `options.O1`: an unreadable value is a 400; one that breaks a rule is a 422 about `ListOptions` and so on of
//!   group `meta.k8s.io`, with one cause per rule. Texts are kube-apiserver's, and `testdata` holds recorded
//!   responses.
//! - `options.O2`: unknown parameters are ignored.

use std::time::Duration;

use http::HeaderMap;
use http::header::USER_AGENT;
use serde::Deserialize;
use watchkeeper_core::{CauseType, FieldSelector, GroupKind, LabelSelector, Outcome, Status, StatusCause};

use super::go_text::{parse_duration, parse_u64};
use super::negotiate::PatchType;
use super::query::Query;
use super::selector_text;
use watchkeeper_core::{Quoted, is_printable};

/// Maximum length of a field manager's name in bytes.
pub const FIELD_MANAGER_BYTES: usize = 128;

/// The requested resource version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AtVersion {
    /// Not set: the newest.
    #[default]
    Unset,
    /// `0`: any version.
    Any,
    /// This version; its meaning depends on the match.
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
    /// Whether a watch begins with the current objects. Set for every watch without a version, as in kube-apiserver.
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

/// The treatment of unknown and duplicate fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FieldValidation {
    /// They are dropped silently.
    Ignore,
    /// They are dropped with a warning.
    #[default]
    Warn,
    /// The request is rejected.
    Strict,
}

/// The options of a create, an update or a patch.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WriteOptions {
    /// Whether to skip storing the result.
    pub dry_run: bool,
    /// The field manager; empty if it is derived from the user agent.
    pub field_manager: String,
    /// The treatment of unknown and duplicate fields.
    pub field_validation: FieldValidation,
    /// Whether an apply takes over fields of other managers.
    pub force: bool,
}

impl WriteOptions {
    /// Reads the options of a create.
    ///
    /// # Errors
    /// Returns 422 if one of them is invalid.
    pub fn of_create(query: &Query) -> Result<Self, Status> {
        Self::read(query, "CreateOptions", Vec::new())
    }

    /// Reads the options of an update.
    ///
    /// # Errors
    /// Returns 422 if one of them is invalid.
    pub fn of_update(query: &Query) -> Result<Self, Status> {
        Self::read(query, "UpdateOptions", Vec::new())
    }

    /// Derives a missing field manager from the beginning of the `User-Agent`.
    #[must_use]
    pub fn by_agent(mut self, headers: &HeaderMap) -> Self {
        if self.field_manager.is_empty()
            && let Some(agent) = headers.get(USER_AGENT)
        {
            let agent = String::from_utf8_lossy(agent.as_bytes());
            let name = agent.split('/').next().unwrap_or_default();
            for character in name.chars().filter(|character| is_printable(*character)) {
                if self.field_manager.len() + character.len_utf8() > FIELD_MANAGER_BYTES {
                    break;
                }
                self.field_manager.push(character);
            }
        }
        self
    }

    /// Reads the options of a patch.
    ///
    /// # Errors
    /// Returns 422 if one of them is invalid: an apply requires a field manager, and only an apply allows force.
    pub fn of_patch(query: &Query, patch: PatchType) -> Result<Self, Status> {
        let mut faults = Vec::new();
        match patch {
            PatchType::Apply if query.text("fieldManager").is_empty() => faults.push(fault(
                CauseType::FieldValueRequired,
                "fieldManager",
                "Required value: is required for apply patch",
            )),
            PatchType::Apply => {}
            _ if query.first("force").is_some() => {
                faults.push(forbidden("force", "may not be specified for non-apply patch"));
            }
            _ => {}
        }
        Self::read(query, "PatchOptions", faults)
    }

    fn read(query: &Query, kind: &str, mut faults: Vec<StatusCause>) -> Result<Self, Status> {
        let field_manager = query.text("fieldManager");
        let dry_run: Vec<&str> = query.all("dryRun").collect();
        let field_validation = match query.text("fieldValidation") {
            "" | "Warn" => Some(FieldValidation::Warn),
            "Ignore" => Some(FieldValidation::Ignore),
            "Strict" => Some(FieldValidation::Strict),
            _ => None,
        };
        faults.extend(field_manager_faults(field_manager));
        faults.extend(dry_run_fault(&dry_run));
        if field_validation.is_none() {
            let value = Quoted(query.text("fieldValidation")).to_string();
            faults.push(not_supported("fieldValidation", &value, &["", "Ignore", "Strict", "Warn"]));
        }
        invalid(kind, faults)?;
        Ok(Self {
            dry_run: !dry_run.is_empty(),
            field_manager: field_manager.to_owned(),
            field_validation: field_validation.unwrap_or_default(),
            force: query.switch("force").unwrap_or_default(),
        })
    }
}

/// The treatment of an object's dependents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Propagation {
    /// They are deleted first.
    Foreground,
    /// They are deleted in the background.
    Background,
    /// They are kept.
    Orphan,
}

/// The options of a delete.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DeleteOptions {
    /// The grace period; `None` for the default of the kind.
    pub grace_period_seconds: Option<i64>,
    /// The propagation policy; `None` for the default of the kind.
    pub propagation: Option<Propagation>,
    /// The deprecated form of the propagation policy.
    pub orphan_dependents: Option<bool>,
    /// Precondition: the UID of the object.
    pub uid: Option<String>,
    /// Precondition: the resource version of the object.
    pub resource_version: Option<String>,
    /// Whether to skip the deletion itself.
    pub dry_run: bool,
}

/// The options of a delete as encoded in a body.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct DeleteBody {
    grace_period_seconds: Option<i64>,
    propagation_policy: Option<String>,
    orphan_dependents: Option<bool>,
    preconditions: Option<Preconditions>,
    dry_run: Option<Vec<String>>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Preconditions {
    uid: Option<String>,
    resource_version: Option<String>,
}

impl DeleteOptions {
    /// Reads the options of a delete without a body. If there is a body, the query is ignored.
    ///
    /// # Errors
    /// Returns 400 if a number is invalid, and 422 if an option is.
    pub fn of_query(query: &Query) -> Result<Self, Status> {
        let text = |name| query.first(name).filter(|text| !text.is_empty()).map(str::to_owned);
        let dry_run: Vec<String> = query.all("dryRun").map(str::to_owned).collect();
        Self::check(DeleteBody {
            grace_period_seconds: query.number("gracePeriodSeconds")?,
            propagation_policy: query.first("propagationPolicy").map(str::to_owned),
            orphan_dependents: query.switch("orphanDependents"),
            preconditions: Some(Preconditions {
                uid: text("uid"),
                resource_version: text("resourceVersion"),
            }),
            dry_run: Some(dry_run),
        })
    }

    /// Reads the options of a delete from its [decoded](crate::http::decode_delete_options) body.
    ///
    /// # Errors
    /// Returns 422 if an option is invalid; 400 if the body has wrong types, which decoding has already checked.
    pub fn of_body(body: serde_json::Value) -> Result<Self, Status> {
        let body: Option<DeleteBody> =
            serde_json::from_value(body).map_err(|error| Status::bad_request(format!("json: {error}")))?;
        Self::check(body.unwrap_or_default())
    }

    fn check(body: DeleteBody) -> Result<Self, Status> {
        const FIELD: &str = "propagationPolicy";
        let mut faults = Vec::new();
        let mut propagation = None;
        if let Some(policy) = &body.propagation_policy {
            let value = Quoted(policy).to_string();
            if body.orphan_dependents.is_some() {
                let detail = "orphanDependents and deletionPropagation cannot be both set";
                let message = format!("Invalid value: {value}: {detail}");
                faults.push(fault(CauseType::FieldValueInvalid, FIELD, &message));
            }
            propagation = match policy.as_str() {
                "Foreground" => Some(Propagation::Foreground),
                "Background" => Some(Propagation::Background),
                "Orphan" => Some(Propagation::Orphan),
                _ => {
                    let supported = ["Foreground", "Background", "Orphan", "nil"];
                    faults.push(not_supported(FIELD, &value, &supported));
                    None
                }
            };
        }
        let dry_run = body.dry_run.unwrap_or_default();
        faults.extend(dry_run_fault(&dry_run));
        invalid("DeleteOptions", faults)?;
        let preconditions = body.preconditions.unwrap_or_default();
        Ok(Self {
            grace_period_seconds: body.grace_period_seconds,
            propagation,
            orphan_dependents: body.orphan_dependents,
            uid: preconditions.uid,
            resource_version: preconditions.resource_version,
            dry_run: !dry_run.is_empty(),
        })
    }
}

/// Returns the time limit of a request that is not long-running: `?timeout=`, capped at `maximum`, which is also the
/// default.
///
/// # Errors
/// Returns 400 if it is not a Go duration.
pub fn request_timeout(query: &Query, maximum: Duration) -> Result<Duration, Status> {
    match query.text("timeout") {
        "" => Ok(maximum),
        text => match parse_duration(text) {
            Ok((_, Duration::ZERO)) => Ok(maximum),
            Ok((true, _)) => Ok(maximum), // negative
            Ok((false, timeout)) => Ok(timeout.min(maximum)),
            Err(error) => {
                Err(Status::bad_request(format!("invalid timeout specified in the request URL - {error}")))
            }
        },
    }
}

fn field_manager_faults(name: &str) -> Vec<StatusCause> {
    const FIELD: &str = "fieldManager";
    let mut faults = Vec::new();
    if name.len() > FIELD_MANAGER_BYTES {
        let message = format!("Too long: may not be more than {FIELD_MANAGER_BYTES} bytes");
        faults.push(fault(CauseType::FieldValueTooLong, FIELD, &message));
    }
    // One fault per character, up to the number that fits into a valid name.
    let unprintable = name.char_indices().filter(|(_, c)| !is_printable(*c)).take(FIELD_MANAGER_BYTES);
    faults.extend(unprintable.map(|(position, c)| {
        let detail = format!("invalid character U+{:04X} (at position {position})", u32::from(c));
        let message = format!("Invalid value: {}: {detail}", Quoted(name));
        fault(CauseType::FieldValueInvalid, FIELD, &message)
    }));
    faults
}

fn dry_run_fault<T: AsRef<str>>(values: &[T]) -> Option<StatusCause> {
    let supported = values.iter().all(|value| value.as_ref() == "All");
    (!supported).then(|| {
        let values: Vec<&str> = values.iter().map(AsRef::as_ref).collect();
        not_supported("dryRun", &serde_json::json!(values).to_string(), &["All"])
    })
}

fn forbidden(field: &str, detail: &str) -> StatusCause {
    fault(CauseType::FieldValueForbidden, field, &format!("Forbidden: {detail}"))
}

fn not_supported(field: &str, value: &str, supported: &[&str]) -> StatusCause {
    let supported: Vec<String> = supported.iter().map(|it| Quoted(it).to_string()).collect();
    let message = format!("Unsupported value: {value}: supported values: {}", supported.join(", "));
    fault(CauseType::FieldValueNotSupported, field, &message)
}

fn fault(cause: CauseType, field: &str, message: &str) -> StatusCause {
    StatusCause { cause, message: message.to_owned(), field: field.to_owned() }
}

fn invalid(kind: &str, faults: Vec<StatusCause>) -> Result<(), Status> {
    if faults.is_empty() {
        return Ok(());
    }
    let kind = GroupKind { group: "meta.k8s.io".to_owned(), kind: kind.to_owned() };
    Err(Status::invalid(&kind, "", faults))
}

/// Returns 500 without a reason, like kube-apiserver for unexpected errors.
pub(crate) fn unexplained(message: impl Into<String>) -> Status {
    Status { outcome: Some(Outcome::Failure), code: 500, message: message.into(), ..Default::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares a status with a recorded response: code, reason, message, details.
    fn assert_recorded(what: &str, status: Result<(), Status>, recorded: &[&str]) {
        let shown = match status {
            Ok(()) => "200".to_owned(),
            Err(status) => {
                let text = |value: serde_json::Value| value.to_string();
                let details = text(serde_json::to_value(&status.details).unwrap());
                format!("{}\t{}\t{}\t{details}", status.code, status.reason, text(status.message.into()))
            }
        };
        let recorded = match recorded {
            [code, reason, message, details] => {
                let details: serde_json::Value = serde_json::from_str(details).unwrap();
                let message: serde_json::Value = serde_json::from_str(message).unwrap();
                format!("{code}\t{reason}\t{message}\t{details}")
            }
            [code, ..] => (*code).to_owned(),
            [] => panic!("{what}: nothing was recorded"),
        };
        assert_eq!(shown, recorded, "{what}");
    }

    #[test]
    fn list_options_are_checked_like_kube_apiserver() {
        let mut checked = 0;
        for line in include_str!("testdata/list_options.tsv").lines() {
            let (query, recorded) = line.split_once('\t').unwrap();
            let recorded: Vec<&str> = recorded.split('\t').collect();
            let query = Query::parse(query);
            let timeout = request_timeout(&query, Duration::from_secs(60));
            let outcome = timeout.and_then(|_| ListOptions::read(&query)).map(|_| ());
            assert_recorded(line, outcome, &recorded);
            checked += 1;
        }
        assert!(checked > 60, "{checked} lines");
    }

    #[test]
    fn write_options_are_checked_like_kube_apiserver() {
        let mut checked = 0;
        for line in include_str!("testdata/write_options.tsv").lines() {
            let fields: Vec<&str> = line.split('\t').collect();
            let [request, query, ref recorded @ ..] = fields[..] else { panic!("{line}") };
            let query = Query::parse(query);
            let outcome = match request {
                "POST" => WriteOptions::of_create(&query).map(|_| ()),
                "PUT" => WriteOptions::of_update(&query).map(|_| ()),
                "PATCH merge" => WriteOptions::of_patch(&query, PatchType::Merge).map(|_| ()),
                "PATCH apply" => WriteOptions::of_patch(&query, PatchType::Apply).map(|_| ()),
                "DELETE" => DeleteOptions::of_query(&query).map(|_| ()),
                "GET" => GetOptions::read(&query).map(|_| ()),
                other => panic!("{other}"),
            };
            assert_recorded(line, outcome, recorded);
            checked += 1;
        }
        assert!(checked > 30, "{checked} lines");
    }

    #[test]
    fn a_watch_without_a_version_sends_initial_events() {
        let read = |query| ListOptions::read(&Query::parse(query)).unwrap();
        for query in ["watch=1", "watch=1&resourceVersion=0"] {
            let options = read(query);
            assert_eq!(options.send_initial_events, Some(true));
            assert_eq!(options.resource_version_match, Some(VersionMatch::NotOlderThan));
        }
        assert_eq!(read("watch=1&resourceVersion=5").send_initial_events, None);
        assert!(!read("watch=1").is_watch_list());
        assert!(read("watch=1&allowWatchBookmarks=true").is_watch_list());
    }

    #[test]
    fn values_are_typed() {
        let options =
            ListOptions::read(&Query::parse("limit=5&timeoutSeconds=7&resourceVersion=12&continue=x"))
                .unwrap();
        assert_eq!((options.limit, options.timeout), (Some(5), Some(Duration::from_secs(7))));
        assert_eq!(options.resource_version, AtVersion::At(12));
        assert_eq!(options.continue_token, "x");
        assert_eq!(ListOptions::read(&Query::parse("limit=-1")).unwrap().limit, None);
        let options = ListOptions::read(&Query::parse("resourceVersion=00")).unwrap();
        assert_eq!(options.resource_version, AtVersion::Any);
    }

    #[test]
    fn delete_options_can_be_in_the_body() {
        let body = serde_json::json!({
            "gracePeriodSeconds": 5, "propagationPolicy": "Orphan", "dryRun": ["All"],
            "preconditions": {"uid": "u", "resourceVersion": "7"}
        });
        let options = DeleteOptions::of_body(body).unwrap();
        let expected = DeleteOptions {
            grace_period_seconds: Some(5),
            propagation: Some(Propagation::Orphan),
            orphan_dependents: None,
            uid: Some("u".into()),
            resource_version: Some("7".into()),
            dry_run: true,
        };
        assert_eq!(options, expected);
        assert_eq!(DeleteOptions::of_body(serde_json::Value::Null).unwrap(), DeleteOptions::default());
        let status = DeleteOptions::of_body(serde_json::json!({"propagationPolicy": "Bogus"})).unwrap_err();
        assert_eq!(status.code, 422);
    }

    #[test]
    fn timeouts_have_a_maximum() {
        let read = |query| request_timeout(&Query::parse(query), Duration::from_secs(60)).unwrap();
        assert_eq!(read(""), Duration::from_secs(60));
        assert_eq!(read("timeout=0s"), Duration::from_secs(60));
        assert_eq!(read("timeout=5s"), Duration::from_secs(5));
        assert_eq!(read("timeout=1h"), Duration::from_secs(60));
    }
}
