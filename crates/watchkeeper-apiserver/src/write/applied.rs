//! Apply: server-side apply of a configuration to an object, or as a new object.

use serde_json::{Map, Value, json};
use watchkeeper_core::{GroupVersionKind, Status};

use super::draft::{Draft, empty_object};
use super::modify::ATTEMPTS;
use super::patched::{check_uid, reason_in};
use super::refusal::{MODIFIED, unexplained};
use super::revise::check_path;
use super::{Call, WriteResponse, Writer, managed};
use crate::apply::{Applied, ApplyError, Managers, Subject, Writing, renew_last_applied};
use crate::clock::now;
use crate::http::{FieldValidation, Finding, MediaType, PatchType, WriteOptions, decode_patch, read_object};

impl Writer {
    pub(super) async fn apply_object(
        &self,
        call: &Call<'_>,
        body: &[u8],
        options: &WriteOptions,
    ) -> Result<WriteResponse, Status> {
        let kind = call.resource.group_version_kind();
        let configuration = Configuration::read(body, kind)?;
        let subject = managed::subject(call);
        for _ in 0..ATTEMPTS {
            let mut change = |old: &Draft| {
                let live = managed::shown(call, old);
                let managers = managed::managers_of(old);
                let applied = configuration.apply(&subject, &live, managers, options)?;
                let mut new = configuration.draft(&applied.object, call)?;
                managed::set_managers(&mut new, &applied.managers);
                check_path(call, &new)?;
                check_uid(call, old, &new)?;
                Ok(new)
            };
            let outcome = match self.modify(call, Some(call), options.dry_run, &mut change).await {
                Err(status) if status.is_not_found() && call.subresource.is_none() => {
                    self.create_applied(call, &configuration, &subject, options).await
                }
                outcome => outcome.map(|modified| modified.written(call)),
            };
            match outcome {
                Err(status) if status.is_already_exists() => {} // created concurrently: apply to it
                Err(status) => return Err(status),
                Ok(mut written) => {
                    written.warnings.extend(configuration.warnings(options.field_validation)?);
                    return Ok(written);
                }
            }
        }
        Err(call.conflict(MODIFIED))
    }

    async fn create_applied(
        &self,
        call: &Call<'_>,
        configuration: &Configuration,
        subject: &Subject,
        options: &WriteOptions,
    ) -> Result<WriteResponse, Status> {
        let nothing = Value::Object(Map::new());
        let applied = configuration.apply(subject, &nothing, Managers::default(), options)?;
        let sent = configuration.draft(&applied.object, call)?;
        match sent.text("uid") {
            "" => {}
            uid => {
                return Err(call.conflict(format_args!(
                    "uid mismatch: the provided object specified uid {uid}, and no existing object was found"
                )));
            }
        }
        check_path(call, &sent)?;
        self.create_by_update(call, &sent, applied.object, applied.managers.json(), options).await
    }
}

/// An applied configuration.
pub(super) struct Configuration {
    kind: GroupVersionKind,
    value: Value,
    /// Duplicate fields.
    findings: Vec<Finding>,
}

impl Configuration {
    /// Decodes the body of an apply: 400 if it is not an object of the kind.
    pub(super) fn read(body: &[u8], kind: GroupVersionKind) -> Result<Self, Status> {
        let decoded = decode_patch(body, PatchType::Apply)?;
        let value = match decoded.value {
            Value::Null => json!({}),
            value @ Value::Object(_) => value,
            other => {
                let found = match other {
                    Value::Array(_) => "array",
                    Value::String(_) => "string",
                    Value::Number(_) => "number",
                    _ => "bool",
                };
                return Err(Status::bad_request(format!(
                    "error decoding patch: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal \
                     {found} into Go value of type map[string]interface {{}}"
                )));
            }
        };
        let found_kind = kind_of(&value);
        if found_kind != kind {
            return Err(Status::bad_request(format!("invalid object type: {}", shown_kind(&found_kind))));
        }
        if value.pointer("/metadata/managedFields").is_some_and(Value::is_array) {
            return Err(Status::bad_request("metadata.managedFields must be nil"));
        }
        Ok(Self { kind, value, findings: decoded.findings })
    }

    /// Applies it to a live object: 409 if other managers own what it changes.
    pub(super) fn apply(
        &self,
        subject: &Subject,
        live: &Value,
        managers: Managers,
        options: &WriteOptions,
    ) -> Result<Applied, Status> {
        let empty = empty_object(&self.kind);
        let by = Writing { manager: &options.field_manager, now: now() };
        let applied = subject.apply(live, &empty, &self.value, managers, options.force, by);
        let mut applied = applied.map_err(|error| match error {
            ApplyError::Conflicts(conflicts) => conflicts.status(),
            ApplyError::Misfits(misfits) => {
                unexplained(format!("failed to create typed patch object ({}): {misfits}", self.shown()))
            }
        })?;
        renew_last_applied(&mut applied.object, &options.field_manager, &self.value);
        self.warnings(options.field_validation)?;
        Ok(applied)
    }

    /// Converts the merged object to a draft: 500 if a string does not have its format.
    fn draft(&self, object: &Value, call: &Call<'_>) -> Result<Draft, Status> {
        let text = object.to_string();
        let decoded = read_object(text.as_bytes(), MediaType::JSON, &self.kind)
            .and_then(|sent| sent.pruned_by(call.resource.custom.as_deref()).judge(FieldValidation::Ignore));
        decoded.and_then(|decoded| Draft::read(decoded.value, call.resource)).map_err(|status| {
            let why = reason_in(&status.message, &self.kind.kind);
            unexplained(format!(
                "failed to convert new object ({}) to proper version: unable to convert unstructured object to {}: {why}",
                self.shown(),
                shown_kind(&self.kind),
            ))
        })
    }

    /// Returns the warnings: 400 if validation is strict and there are any.
    pub(super) fn warnings(&self, validation: FieldValidation) -> Result<Vec<String>, Status> {
        match (validation, self.findings.first()) {
            (FieldValidation::Strict, Some(found)) => Err(Status::bad_request(format!(
                "error strict decoding patch: error converting YAML to JSON: {found}"
            ))),
            (FieldValidation::Warn, _) => Ok(self.findings.iter().flat_map(Finding::warnings).collect()),
            _ => Ok(Vec::new()),
        }
    }

    /// Formats the identity of the object for messages.
    fn shown(&self) -> String {
        let text = |name: &str| self.value["metadata"][name].as_str().unwrap_or_default();
        format!("{}/{}; {}", text("namespace"), text("name"), shown_kind(&self.kind))
    }
}

fn kind_of(value: &Value) -> GroupVersionKind {
    let text = |name: &str| value[name].as_str().unwrap_or_default();
    let (group, version) = text("apiVersion").split_once('/').unwrap_or(("", text("apiVersion")));
    if group.contains('/') || version.contains('/') {
        GroupVersionKind::new("", "", "")
    } else {
        GroupVersionKind::new(group, version, text("kind"))
    }
}

/// Formats `apps/v1, Kind=Deployment`.
fn shown_kind(kind: &GroupVersionKind) -> String {
    format!("{}/{}, Kind={}", kind.group, kind.version, kind.kind)
}
