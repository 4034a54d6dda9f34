//! Options of requests.

use std::num::NonZeroU32;

use serde_json::{Value, json};
use watchkeeper_core::{FieldSelector, LabelSelector, ListRequest, SelectorError};

use crate::rest::Request;

/// Options of lists and watches. (kube-rs: `ListParams`.)
///
/// ```
/// use watchkeeper_client::resource::ListOptions;
///
/// let web = ListOptions::default().labels("app=web,!canary")?.fields("status.phase=Running")?.limit(100);
/// assert_eq!(web.labels.to_string(), "app=web,!canary");
/// assert!(ListOptions::default().labels("app in web").is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ListOptions {
    /// Selects by labels.
    pub labels: LabelSelector,
    /// Selects by fields.
    pub fields: FieldSelector,
    /// Resource version, page and limit.
    pub request: ListRequest,
}

impl ListOptions {
    /// Selects by labels, in place of the current label selector.
    ///
    /// # Errors
    /// If the selector is invalid.
    pub fn labels(mut self, selector: &str) -> Result<Self, SelectorError> {
        self.labels = selector.parse()?;
        Ok(self)
    }

    /// Selects by fields, in place of the current field selector.
    ///
    /// # Errors
    /// If the selector is invalid.
    pub fn fields(mut self, selector: &str) -> Result<Self, SelectorError> {
        self.fields = selector.parse()?;
        Ok(self)
    }

    /// Sets the maximum number of items per page; 0 for no limit.
    #[must_use]
    pub fn limit(mut self, limit: u32) -> Self {
        self.request.limit = NonZeroU32::new(limit);
        self
    }

    pub(super) fn add_to(&self, request: Request) -> Request {
        request.params(self.request.query()).selecting(&self.labels, &self.fields)
    }
}

/// Options of writes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WriteOptions {
    /// Whether to validate the request without persisting it.
    pub dry_run: bool,
    /// The field manager; by default the server derives it from the user agent.
    pub field_manager: Option<String>,
    /// Treatment of unknown and duplicate fields: `Strict` rejects the request, `Warn` drops them with a
    /// warning, `Ignore` drops them silently. The server's default if not set.
    pub field_validation: Option<String>,
}

impl WriteOptions {
    pub(super) fn add_to(&self, mut request: Request) -> Request {
        if self.dry_run {
            request = request.param("dryRun", "All");
        }
        for (name, value) in
            [("fieldManager", &self.field_manager), ("fieldValidation", &self.field_validation)]
        {
            if let Some(value) = value {
                request = request.param(name, value);
            }
        }
        request
    }
}

/// Options of server-side apply.
///
/// ```
/// use watchkeeper_client::resource::ApplyOptions;
///
/// let forced = ApplyOptions::new("scaler").force();
/// assert_eq!(forced, ApplyOptions { field_manager: "scaler".to_owned(), force: true, dry_run: false });
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApplyOptions {
    /// The field manager, which owns the applied fields.
    pub field_manager: String,
    /// Whether to take over fields owned by other managers.
    pub force: bool,
    /// Whether to validate the request without persisting it.
    pub dry_run: bool,
}

impl ApplyOptions {
    /// Creates options for a field manager, without force.
    pub fn new(field_manager: impl Into<String>) -> Self {
        Self { field_manager: field_manager.into(), force: false, dry_run: false }
    }

    /// Takes over fields owned by other managers.
    #[must_use]
    pub fn force(mut self) -> Self {
        self.force = true;
        self
    }

    /// Validates the request without persisting it.
    #[must_use]
    pub fn dry_run(mut self) -> Self {
        self.dry_run = true;
        self
    }
}

/// Propagation policy: what the garbage collector does with the dependents of a deleted object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Propagation {
    /// Delete them after the object.
    Background,
    /// Delete them before the object.
    Foreground,
    /// Keep them, without their owner reference.
    Orphan,
}

/// Options of deletions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeleteOptions {
    /// Grace period in seconds; the kind's default if not set.
    pub grace_period_seconds: Option<i64>,
    /// Propagation policy; the kind's default if not set.
    pub propagation: Option<Propagation>,
    /// Precondition: the UID of the object.
    pub uid: Option<String>,
    /// Precondition: the resource version of the object.
    pub resource_version: Option<String>,
    /// Whether to validate the request without persisting it.
    pub dry_run: bool,
}

impl DeleteOptions {
    pub(super) fn body(&self) -> Value {
        let mut body = json!({"kind": "DeleteOptions", "apiVersion": "v1"});
        if let Some(seconds) = self.grace_period_seconds {
            body["gracePeriodSeconds"] = seconds.into();
        }
        if let Some(propagation) = self.propagation {
            body["propagationPolicy"] = format!("{propagation:?}").into();
        }
        for (name, value) in [("uid", &self.uid), ("resourceVersion", &self.resource_version)] {
            if let Some(value) = value {
                body["preconditions"][name] = value.as_str().into();
            }
        }
        if self.dry_run {
            body["dryRun"] = json!(["All"]);
        }
        body
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_are_parsed_and_a_limit_of_zero_is_none() {
        let options = ListOptions::default().labels("app=web").unwrap().fields("metadata.name=a").unwrap();
        assert_eq!(
            (options.labels.to_string(), options.fields.to_string()),
            ("app=web".into(), "metadata.name=a".into())
        );
        assert_eq!(options.clone().limit(5).request.limit, NonZeroU32::new(5));
        assert_eq!(options.clone().limit(5).limit(0), options);
        assert!(options.clone().labels("app in").is_err());
        assert!(options.fields("metadata.name").is_err());
    }

    #[test]
    fn apply_options_neither_force_nor_dry_run_unless_requested() {
        let plain = ApplyOptions { field_manager: "me".to_owned(), force: false, dry_run: false };
        assert_eq!(ApplyOptions::new("me"), plain);
        assert_eq!(ApplyOptions::new("me").force(), ApplyOptions { force: true, ..plain.clone() });
        assert_eq!(ApplyOptions::new("me").dry_run(), ApplyOptions { dry_run: true, ..plain });
    }
}
