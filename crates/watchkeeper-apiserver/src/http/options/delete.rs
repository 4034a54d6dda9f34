//! Options of deletes, from the query or from a body.

use serde::Deserialize;
use watchkeeper_core::{CauseType, Quoted, Status};

use super::cause::{dry_run_fault, fault, invalid, not_supported};
use crate::http::query::Query;

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
