//! Scale: how many replicas an object wants and has, whatever its kind.

use crate::http::{PatchType, WriteOptions, method_not_allowed};
use crate::registry::Resource;
use serde_json::{Value, json};
use watchkeeper_core::{CauseType, GroupKind, GroupVersionKind, LabelSelector, Status, StructuredSelector};

use super::draft::Draft;
use super::patched::Patcher;
use super::refusal::fault;
use super::revise::{check_path, revise};
use super::{Answer, Call, Writer, Written};

/// The `Scale` of an object (with or without its type), or `None` where its kind has none.
pub fn scale_of(resource: &Resource, object: &Value) -> Option<Value> {
    resource.subresource("scale")?;
    let metadata = &object["metadata"];
    let mut shown = serde_json::Map::new();
    for name in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
        if let Some(value) = metadata.get(name) {
            shown.insert(name.to_owned(), value.clone());
        }
    }
    let wanted = object["spec"]["replicas"].as_i64().unwrap_or(1); // what the kinds default to
    let spec = if wanted == 0 { json!({}) } else { json!({"replicas": wanted}) };
    let mut status = json!({"replicas": object["status"]["replicas"].as_i64().unwrap_or_default()});
    let selector = selector_text(&object["spec"]["selector"], &resource.group);
    if !selector.is_empty() {
        status["selector"] = selector.into();
    }
    Some(json!({
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": shown,
        "spec": spec,
        "status": status,
    }))
}

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

impl Writer {
    pub(super) async fn update_scale(
        &self,
        call: &Call<'_>,
        body: &Value,
        options: &WriteOptions,
    ) -> Result<Written, Status> {
        self.modify_scale(call, options.dry_run, &mut |_| Ok(body.clone())).await
    }

    pub(super) async fn patch_scale(
        &self,
        call: &Call<'_>,
        form: PatchType,
        patch: &[u8],
        options: &WriteOptions,
    ) -> Result<Written, Status> {
        let kind = GroupVersionKind::new("autoscaling", "v1", "Scale");
        let patcher = Patcher::new(form, patch, &kind, options.field_validation)?;
        let mut warnings = Vec::new();
        let mut change = |scale| {
            let patched = patcher.apply(scale)?;
            warnings = patched.warnings;
            Ok(patched.value)
        };
        let mut written = self.modify_scale(call, options.dry_run, &mut change).await?;
        written.warnings = warnings;
        Ok(written)
    }

    async fn modify_scale(
        &self,
        call: &Call<'_>,
        dry_run: bool,
        change: &mut (dyn FnMut(Value) -> Result<Value, Status> + Send),
    ) -> Result<Written, Status> {
        let resource = call.resource;
        let whole = Call { subresource: None, ..*call };
        let mut rescale = |old: &Draft| {
            let scale = scale_of(resource, &old.typed(resource)).ok_or_else(method_not_allowed)?;
            let scale = change(scale)?;
            let said = Draft::read(json!({"metadata": scale["metadata"]}), resource)?;
            check_path(call, &said)?;
            let replicas = check_replicas(call.name.unwrap_or_default(), &scale)?;
            let mut new = old.clone();
            for name in ["uid", "resourceVersion"] {
                let said = said.meta(name).filter(|value| **value != "0").cloned();
                new.set_meta(name, said.or_else(|| old.meta(name).cloned()));
            }
            new.set_in("spec", "replicas", Some(replicas.into()));
            revise(&whole, old, &mut new, dry_run)?;
            Ok(new)
        };
        let modified = self.modify(call, dry_run, &mut rescale).await?;
        let draft = match &modified.stored {
            Some(stored) => Draft::of(stored)?,
            None => modified.draft,
        };
        let scale = scale_of(resource, &draft.typed(resource)).ok_or_else(method_not_allowed)?;
        Ok(Written::new(200, Answer::Value(scale)))
    }
}

/// How many are wanted: none where the scale does not say, 422 where it is less.
fn check_replicas(name: &str, scale: &Value) -> Result<i64, Status> {
    match scale["spec"]["replicas"].as_i64().unwrap_or_default() {
        replicas if replicas >= 0 => Ok(replicas),
        replicas => {
            let message = format!("Invalid value: {replicas}: must be greater than or equal to 0");
            let kind = GroupKind { group: "autoscaling".to_owned(), kind: "Scale".to_owned() };
            let fault = fault(CauseType::FieldValueInvalid, "spec.replicas", message);
            Err(Status::invalid(&kind, name, vec![fault]))
        }
    }
}
