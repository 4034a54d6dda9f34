//! Scale: the `scale` subresource.

use crate::apply::{FieldSet, Managers, Reset, Subject, Writing, managers_of_object, managers_of_scale};
use crate::custom::ReplicaPaths;
use crate::http::{PatchType, WriteOptions, no_such_resource};
use crate::registry::Resource;
use serde_json::{Value, json};
use watchkeeper_core::{
    CauseType, GroupKind, GroupVersionKind, LabelSelector, Quoted, Status, StructuredSelector,
};

use super::applied::Configuration;
use super::draft::Draft;
use super::patched::Patcher;
use super::refusal::{fault, unexplained};
use super::revise::check_path;
use super::{Call, ResponseBody, WriteResponse, Writer, managed};
use crate::clock::now;

/// Returns the `Scale` of an object (with or without its type).
///
/// # Errors
/// 404 if its kind has none; 500 if a custom object does not set its replicas.
pub fn scale_of(resource: &Resource, object: &Value) -> Result<Value, Status> {
    resource.subresource("scale").ok_or_else(no_such_resource)?;
    let Some(replicas) = replicas(resource) else {
        // The default of all kinds.
        let wanted = object["spec"]["replicas"].as_i64().unwrap_or(1);
        let mut status = json!({"replicas": object["status"]["replicas"].as_i64().unwrap_or_default()});
        let selector = selector_text(&object["spec"]["selector"], &resource.group);
        if !selector.is_empty() {
            status["selector"] = selector.into();
        }
        return Ok(written(object, wanted, &status));
    };
    let wanted = replicas.wanted(object).map_err(unexplained)?.ok_or_else(|| {
        let path = Quoted(replicas.wanted_path());
        Status::internal_error(format!("the spec replicas field {path} does not exist"))
    })?;
    Ok(written(object, wanted, &replicas.status(object).map_err(unexplained)?))
}

/// Returns the scale of an object that is about to be written: a custom object may lack its replicas.
fn scale_to_write(resource: &Resource, object: &Value) -> Result<Value, Status> {
    match replicas(resource) {
        Some(replicas) if replicas.wanted(object).map_err(unexplained)?.is_none() => {
            let status = replicas.status(object).map_err(unexplained)?;
            Ok(written(object, i64::from(i32::MIN), &status))
        }
        _ => scale_of(resource, object),
    }
}

fn replicas(resource: &Resource) -> Option<&ReplicaPaths> {
    resource.custom.as_ref()?.replicas()
}

fn written(object: &Value, wanted: i64, status: &Value) -> Value {
    let metadata = &object["metadata"];
    let mut shown = serde_json::Map::new();
    for name in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
        if let Some(value) = metadata.get(name) {
            shown.insert(name.to_owned(), value.clone());
        }
    }
    let spec = if wanted == 0 { json!({}) } else { json!({"replicas": wanted}) };
    json!({
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": shown,
        "spec": spec,
        "status": status,
    })
}

/// Prints the selector of a scale. Selectors are validated when they are written; others print as the empty text.
fn selector_text(selector: &Value, group: &str) -> String {
    if group.is_empty() {
        let pairs = selector.as_object().into_iter().flatten();
        let labels = pairs.filter_map(|(key, value)| Some((key.as_str(), value.as_str()?)));
        return LabelSelector::from_labels(labels).map(|it| it.to_string()).unwrap_or_default();
    }
    let structured: Option<StructuredSelector> = serde_json::from_value(selector.clone()).ok();
    let selector = structured.and_then(|it| LabelSelector::try_from(&it).ok());
    selector.map(|it| it.to_string()).unwrap_or_default()
}

/// A scale, and its managers.
type Managed = (Value, Managers);

impl Writer {
    pub(super) async fn update_scale(
        &self,
        call: &Call<'_>,
        body: &Value,
        options: &WriteOptions,
    ) -> Result<WriteResponse, Status> {
        let mut change = |(scale, managers): Managed| {
            let managers = track(&scale, body, managers, options);
            Ok((body.clone(), managers))
        };
        self.modify_scale(call, options.dry_run, &mut change).await
    }

    pub(super) async fn patch_scale(
        &self,
        call: &Call<'_>,
        form: PatchType,
        patch: &[u8],
        options: &WriteOptions,
    ) -> Result<WriteResponse, Status> {
        let kind = scale_kind();
        let patcher = Patcher::new(form, patch, &kind, None, options.field_validation)?;
        let mut warnings = Vec::new();
        let mut change = |(scale, managers): Managed| {
            let patched = patcher.apply(scale.clone())?;
            warnings = patched.warnings;
            let managers = track(&scale, &patched.value, managers, options);
            Ok((patched.value, managers))
        };
        let mut written = self.modify_scale(call, options.dry_run, &mut change).await?;
        written.warnings = warnings;
        Ok(written)
    }

    pub(super) async fn apply_scale(
        &self,
        call: &Call<'_>,
        body: &[u8],
        options: &WriteOptions,
    ) -> Result<WriteResponse, Status> {
        let configuration = Configuration::read(body, scale_kind())?;
        let mut change = |(scale, managers): Managed| {
            let applied = configuration.apply(&subject(), &scale, managers, options)?;
            Ok((applied.object, applied.managers))
        };
        let mut written = self.modify_scale(call, options.dry_run, &mut change).await?;
        written.warnings = configuration.warnings(options.field_validation)?;
        Ok(written)
    }

    async fn modify_scale(
        &self,
        call: &Call<'_>,
        dry_run: bool,
        change: &mut (dyn FnMut(Managed) -> Result<Managed, Status> + Send),
    ) -> Result<WriteResponse, Status> {
        let resource = call.resource;
        let whole = Call { subresource: None, ..*call };
        let api_version = resource.group_version().to_string();
        let path = replicas(resource).map_or_else(|| vec!["spec", "replicas"], ReplicaPaths::wanted_names);
        let mut rescale = |old: &Draft| {
            let scale = scale_to_write(resource, &old.typed(resource))?;
            let managers = managed::managers_of(old);
            let (scale, of_scale) = change((scale, managers_of_scale(&managers, &api_version, &path)))?;
            let sent = Draft::read(json!({"metadata": scale["metadata"]}), resource)?;
            check_path(call, &sent)?;
            let wanted = scale["spec"]["replicas"].as_i64().unwrap_or_default();
            match replicas(resource) {
                Some(replicas) if wanted == i64::from(i32::MIN) => {
                    let path = Quoted(replicas.wanted_path());
                    return Err(Status::bad_request(format!(
                        "the spec replicas field {path} cannot be empty"
                    )));
                }
                Some(_) => {} // validated by its definition
                None => check_replicas(call.name.unwrap_or_default(), wanted)?,
            }
            let mut new = old.clone();
            for name in ["uid", "resourceVersion"] {
                let sent = sent.meta(name).filter(|value| **value != "0").cloned();
                new.set_meta(name, sent.or_else(|| old.meta(name).cloned()));
            }
            match replicas(resource) {
                Some(replicas) => new.change(|fields| replicas.set_wanted(fields, wanted)),
                None => new.set_in("spec", "replicas", Some(wanted.into())),
            }
            managed::set_managers(&mut new, &managers_of_object(&managers, &of_scale, &api_version, &path));
            Ok(new)
        };
        let modified = self.modify(call, Some(&whole), dry_run, &mut rescale).await?;
        let draft = match &modified.stored {
            Some(stored) => Draft::shown(stored, resource)?,
            None => modified.draft,
        };
        let scale = scale_of(resource, &draft.typed(resource))?;
        Ok(WriteResponse::new(200, ResponseBody::Value(scale)))
    }
}

fn scale_kind() -> GroupVersionKind {
    GroupVersionKind::new("autoscaling", "v1", "Scale")
}

/// Returns the subject of scales: their endpoint writes all fields.
fn subject() -> Subject {
    Subject::new(scale_kind(), Some("scale"), Reset::But(FieldSet::default()))
}

fn track(before: &Value, after: &Value, managers: Managers, options: &WriteOptions) -> Managers {
    subject().update(before, after, managers, Writing { manager: &options.field_manager, now: now() })
}

/// 422 if the replicas are negative.
fn check_replicas(name: &str, wanted: i64) -> Result<(), Status> {
    match wanted {
        replicas if replicas >= 0 => Ok(()),
        replicas => {
            let message = format!("Invalid value: {replicas}: must be greater than or equal to 0");
            let kind = GroupKind { group: "autoscaling".to_owned(), kind: "Scale".to_owned() };
            let fault = fault(CauseType::FieldValueInvalid, "spec.replicas", message);
            Err(Status::invalid(&kind, name, vec![fault]))
        }
    }
}
