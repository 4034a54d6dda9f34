//! Bindings and evictions: assigning a pod to a node, and asking it to leave.

use crate::http::{DeleteOptions, WriteOptions};
use crate::registry::{self, Resource};
use serde_json::{Value, json};
use watchkeeper_core::{GroupResource, Outcome, Quoted, Status};

use super::delete::check_preconditions;
use super::draft::Draft;
use super::refusal::unexplained;
use super::revise::check_versions;
use super::{Call, ResponseBody, WriteResponse, Writer};
use crate::clock::now;

impl Writer {
    /// Handles the POST of a binding, to the pod or to the bindings of its namespace.
    pub(super) async fn bind(
        &self,
        call: &Call<'_>,
        binding: &Value,
        options: &WriteOptions,
    ) -> Result<WriteResponse, Status> {
        let name = binding["metadata"]["name"].as_str().unwrap_or_default();
        if call.name.is_some_and(|path| path != name) {
            return Err(Status::bad_request("name in URL does not match name in Binding object"));
        }
        let call = Call { resource: pods()?, name: Some(name), subresource: Some("binding"), ..*call };
        let target = check_binding(binding)?;
        let sent = Draft::read(json!({"metadata": binding["metadata"]}), call.resource)?;
        let mut change = |pod: &Draft| {
            check_versions(&call, pod, &sent, options.dry_run)?;
            let mut pod = pod.clone();
            assign(&mut pod, target)?;
            for name in ["annotations", "labels"] {
                let pairs = sent.meta(name).and_then(Value::as_object);
                for (key, value) in pairs.into_iter().flatten() {
                    pod.set_pair(name, key, value.as_str().unwrap_or_default());
                }
            }
            Ok(pod)
        };
        self.modify(&call, None, options.dry_run, &mut change).await?;
        Ok(created())
    }

    /// Handles the POST of an eviction: deletes the pod. Disruption budgets are not enforced.
    pub(super) async fn evict(
        &self,
        call: &Call<'_>,
        eviction: &Value,
        options: &WriteOptions,
    ) -> Result<WriteResponse, Status> {
        let name = eviction["metadata"]["name"].as_str().unwrap_or_default();
        if call.name.is_some_and(|path| path != name) {
            return Err(Status::bad_request("name in URL does not match name in Eviction object"));
        }
        let mut how = match &eviction["deleteOptions"] {
            Value::Null => DeleteOptions::default(),
            body => DeleteOptions::of_body(body.clone())?,
        };
        how.dry_run |= options.dry_run;
        if !how.dry_run {
            let call = Call { subresource: Some("status"), ..*call };
            let mut change = |pod: &Draft| {
                check_preconditions(&call, pod, &how)?;
                let mut pod = pod.clone();
                set_evicted(&mut pod);
                Ok(pod)
            };
            let modified = self.modify(&call, None, false, &mut change).await?;
            // The precondition named the version before this write.
            let stored = modified.stored.filter(|_| how.resource_version.is_some());
            how.resource_version = stored.map(|stored| stored.modified().to_string());
        }
        self.remove_object(&Call { subresource: None, ..*call }, &how, false).await?;
        Ok(created())
    }
}

/// Sets the condition that explains the deletion.
fn set_evicted(pod: &mut Draft) {
    const KIND: &str = "DisruptionTarget";
    let mut condition = json!({"type": KIND, "status": "True", "lastProbeTime": null,
        "lastTransitionTime": now().to_string(), "reason": "EvictionByEvictionAPI",
        "message": "Eviction API: evicting"});
    let status = pod.part("status");
    let listed = status.and_then(|status| status["conditions"].as_array()).cloned().unwrap_or_default();
    let mut conditions = listed;
    match conditions.iter_mut().find(|it| it["type"] == KIND) {
        Some(known) => {
            if known["status"] == "True" {
                condition["lastTransitionTime"] = known["lastTransitionTime"].clone();
            }
            *known = condition;
        }
        None => conditions.push(condition),
    }
    pod.set_in("status", "conditions", Some(conditions.into()));
}

fn pods() -> Result<&'static Resource, Status> {
    let pods = registry::builtin().get("", "v1", "pods");
    pods.map(|row| &**row).ok_or_else(|| Status::internal_error("pods is not a registered resource"))
}

/// 201 without an object.
fn created() -> WriteResponse {
    let status = Status { outcome: Some(Outcome::Success), code: 201, ..Default::default() };
    WriteResponse::new(201, ResponseBody::Status(status))
}

/// Returns the node of a binding; 500 without one, as in kube-apiserver.
fn check_binding(binding: &Value) -> Result<&str, Status> {
    let mut faults = Vec::new();
    let kind = binding["target"]["kind"].as_str().unwrap_or_default();
    if !matches!(kind, "" | "Node") {
        let message = format!("Unsupported value: {}: supported values: \"Node\", \"<empty>\"", Quoted(kind));
        faults.push(format!("target.kind: {message}"));
    }
    let target = binding["target"]["name"].as_str().unwrap_or_default();
    if target.is_empty() {
        faults.push("target.name: Required value".to_owned());
    }
    match faults.as_slice() {
        [] => Ok(target),
        [fault] => Err(unexplained(fault)),
        faults => Err(unexplained(format!("[{}]", faults.join(", ")))),
    }
}

/// Assigns a pod to a node: 409 if it is assigned or being deleted.
fn assign(pod: &mut Draft, node: &str) -> Result<(), Status> {
    let name = pod.text("name");
    let bindings = GroupResource { group: String::new(), resource: "pods/binding".to_owned() };
    let conflict = |why: String| Err(Status::conflict(&bindings, name, why));
    if pod.is_being_deleted() {
        return conflict(format!("pod {name} is being deleted, cannot be assigned to a host"));
    }
    let assigned = node_of(pod);
    if !assigned.is_empty() {
        return conflict(format!("pod {name} is already assigned to node {}", Quoted(assigned)));
    }
    let conditions = pod.part("status").and_then(|status| status["conditions"].as_array().cloned());
    let mut conditions = conditions.unwrap_or_default();
    conditions.retain(|condition| condition["type"] != "PodScheduled");
    conditions.push(json!({
        "type": "PodScheduled",
        "status": "True",
        "lastProbeTime": null,
        "lastTransitionTime": now().to_string(),
    }));
    pod.set_in("spec", "nodeName", Some(node.into()));
    pod.set_in("status", "conditions", Some(conditions.into()));
    Ok(())
}

fn node_of(pod: &Draft) -> &str {
    pod.part("spec").and_then(|spec| spec["nodeName"].as_str()).unwrap_or_default()
}
