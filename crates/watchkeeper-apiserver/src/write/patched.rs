//! Patch: applies a patch, and checks the result like the body of a PUT.

use crate::custom::CustomKind;
use crate::http::{FieldValidation, MediaType, PatchType, WriteOptions, decode_object, read_object};
use crate::patch::{self, PatchFormat};
use serde_json::Value;
use watchkeeper_core::{CauseType, GroupKind, GroupVersionKind, Quoted, Status};
use watchkeeper_wire::schema;

use super::draft::Draft;
use super::refusal::{check, fault, invalid_value, unpatchable};
use super::revise::check_path;
use super::{Call, WriteResponse, Writer, managed};

impl Writer {
    pub(super) async fn patch_object(
        &self,
        call: &Call<'_>,
        form: PatchType,
        patch: &[u8],
        options: &WriteOptions,
    ) -> Result<WriteResponse, Status> {
        let kind = call.resource.group_version_kind();
        let custom = call.resource.custom.as_deref();
        let patcher = Patcher::new(form, patch, &kind, custom, options.field_validation)?;
        let mut warnings = Vec::new();
        let mut change = |old: &Draft| {
            let patched = patcher.apply(old.typed(call.resource))?;
            warnings = patched.warnings;
            let managers = managed::sent(call, &patched.value);
            let mut new = Draft::read(patched.value, call.resource)?;
            managed::track(call, old, &mut new, managers.as_ref(), &options.field_manager);
            check_path(call, &new)?;
            check_uid(call, old, &new)?;
            Ok(new)
        };
        let mut written = self.modify(call, Some(call), options.dry_run, &mut change).await?.written(call);
        written.warnings.splice(0..0, warnings);
        Ok(written)
    }
}

/// 422 if a patch changes the uid. (For an update it is a 409.)
pub(super) fn check_uid(call: &Call<'_>, old: &Draft, new: &Draft) -> Result<(), Status> {
    match new.text("uid") {
        "" => Ok(()),
        uid if uid == old.text("uid") => Ok(()),
        uid => {
            let fault = invalid_value("metadata.uid", uid, "field is immutable");
            check(call.resource, old.text("name"), vec![fault])
        }
    }
}

/// A decoded patch.
pub(super) struct Patcher<'a> {
    format: PatchFormat,
    patch: &'a [u8],
    kind: &'a GroupVersionKind,
    custom: Option<&'a CustomKind>,
    validation: FieldValidation,
    /// Faults of the patch itself, from strict decoding.
    faults: Vec<String>,
}

/// A patched object.
pub(super) struct Patched {
    pub(super) value: Value,
    pub(super) warnings: Vec<String>,
}

impl<'a> Patcher<'a> {
    /// Decodes a patch for objects of a kind: 415 for formats that the kind does not support.
    pub(super) fn new(
        form: PatchType,
        patch: &'a [u8],
        kind: &'a GroupVersionKind,
        custom: Option<&'a CustomKind>,
        validation: FieldValidation,
    ) -> Result<Self, Status> {
        let is_known = schema::builtin().message_of(kind).is_some();
        let format = match form {
            PatchType::Json => PatchFormat::Json,
            PatchType::Merge => PatchFormat::Merge,
            PatchType::Strategic if is_known => PatchFormat::Strategic,
            PatchType::Strategic | PatchType::Apply => {
                let mut taken = vec![PatchType::Json, PatchType::Merge];
                taken.extend(is_known.then_some(PatchType::Strategic));
                taken.push(PatchType::Apply);
                let taken: Vec<&str> = taken.into_iter().map(PatchType::as_str).collect();
                return Err(Status::unsupported_media_type(&taken));
            }
        };
        let faults = match validation {
            FieldValidation::Ignore => Vec::new(),
            _ => patch::faults(format, patch).map_err(|error| unpatchable(&error))?,
        };
        Ok(Self { format, patch, kind, custom, validation, faults })
    }

    /// Applies the patch to an object, which has its type.
    pub(super) fn apply(&self, object: Value) -> Result<Patched, Status> {
        let refused = |error| unpatchable(&error);
        let value = match self.format {
            PatchFormat::Json => patch::json(object, self.patch).map_err(refused)?,
            PatchFormat::Merge => patch::merge(object, self.document()?).map_err(refused)?,
            PatchFormat::Strategic => {
                let message = schema::builtin().message_of(self.kind);
                let message = message.ok_or_else(|| Status::internal_error("the kind has no schema"))?;
                patch::strategic(object, self.document()?, schema::builtin(), message).map_err(refused)?
            }
        };
        self.check(&value)
    }

    /// Returns the patch as JSON.
    fn document(&self) -> Result<Value, Status> {
        serde_json::from_slice(self.patch)
            .map_err(|error| Status::bad_request(format!("error decoding patch: {error}")))
    }

    /// Decodes the result like the body of a request.
    fn check(&self, value: &Value) -> Result<Patched, Status> {
        let text = value.to_string();
        let unfit = |why: &str| {
            // The message shows a strategic patch itself, and the result of other patches.
            let blamed = match self.format {
                PatchFormat::Strategic => {
                    self.document().map_or_else(|_| text.clone(), |patch| patch::go_text(&patch))
                }
                PatchFormat::Json | PatchFormat::Merge => text.clone(),
            };
            let message = format!("Invalid value: {}: {why}", Quoted(&blamed));
            let nobody = GroupKind { group: String::new(), kind: String::new() };
            Status::invalid(&nobody, "", vec![fault(CauseType::FieldValueInvalid, "patch", message)])
        };
        let lenient = match self.validation {
            FieldValidation::Ignore => FieldValidation::Ignore,
            _ => FieldValidation::Warn,
        };
        // A result of another kind is decoded as that kind first.
        let text_of = |name: &str| value[name].as_str().unwrap_or_default();
        let (group, version) = text_of("apiVersion").split_once('/').unwrap_or(("", text_of("apiVersion")));
        let sent_kind = GroupVersionKind::new(group, version, text_of("kind"));
        if sent_kind != *self.kind && schema::builtin().message_of(&sent_kind).is_some() {
            decode_object(text.as_bytes(), MediaType::JSON, &sent_kind, lenient)
                .map_err(|status| unfit(reason_in(&status.message, &sent_kind.kind)))?;
        }
        let decoded = read_object(text.as_bytes(), MediaType::JSON, self.kind)
            .and_then(|sent| sent.pruned_by(self.custom).judge(lenient))
            .map_err(|status| {
                let misfit = match (self.format, schema::builtin().message_of(self.kind)) {
                    (PatchFormat::Strategic, Some(message)) => {
                        patch::misfit(value, schema::builtin(), message)
                    }
                    _ => None,
                };
                unfit(misfit.as_deref().unwrap_or(reason_in(&status.message, &self.kind.kind)))
            })?;
        let mut warnings = self.faults.clone();
        warnings.extend(decoded.warnings);
        if self.validation == FieldValidation::Strict && !warnings.is_empty() {
            return Err(unfit(&format!("strict decoding error: {}", warnings.join(", "))));
        }
        Ok(Patched { value: decoded.value, warnings })
    }
}

/// Returns the reason of a decoding error, without the introduction that names the kind.
pub(super) fn reason_in<'a>(message: &'a str, kind: &str) -> &'a str {
    let introduction = format!("cannot be handled as a {kind}: ");
    message.split_once(&introduction).map_or(message, |(_, reason)| reason)
}
