//! `Priority`: resolves the priority class of a pod.

use std::sync::Arc;

use serde_json::Value;
use watchkeeper_core::{ObjectKey, Status};

use super::stored::all;
use super::{AdmissionFuture, AdmissionPlugin, AdmissionRequest, Operation};
use crate::store::{CollectionId, Store};
use crate::write::{Draft, unavailable};

const CLASSES: &str = "scheduling.k8s.io/priorityclasses";

pub(super) struct Priority {
    store: Arc<dyn Store>,
}

impl AdmissionPlugin for Priority {
    fn name(&self) -> &str {
        "Priority"
    }

    fn handles(&self, request: &AdmissionRequest<'_>) -> bool {
        matches!(request.operation, Operation::Create | Operation::Update) && request.is_for("", "pods")
    }

    fn mutate<'a>(&'a self, request: &'a mut AdmissionRequest<'_>) -> AdmissionFuture<'a> {
        Box::pin(async move {
            if request.operation == Operation::Update {
                keep_priority(request);
                return Ok(());
            }
            self.set_priority(request).await
        })
    }
}

/// Keeps the priority and the preemption policy that an update omits.
fn keep_priority(request: &mut AdmissionRequest<'_>) {
    let (Some(old), Some(new)) = (request.old_object, request.object.as_deref_mut()) else { return };
    for name in ["priority", "preemptionPolicy"] {
        let before = old.part("spec").and_then(|spec| spec.get(name));
        if let Some(before) = before {
            new.part_mut("spec").entry(name).or_insert_with(|| before.clone());
        }
    }
}

impl Priority {
    pub(super) fn new(store: Arc<dyn Store>) -> Self {
        Self { store }
    }

    /// Sets the priority of a pod to that of its class: 403 if the class does not exist, or if the pod sets another
    /// priority.
    async fn set_priority(&self, request: &mut AdmissionRequest<'_>) -> Result<(), Status> {
        let Some(pod) = request.object.as_deref() else { return Ok(()) };
        let in_spec = |name: &str| pod.part("spec").and_then(|spec| spec.get(name).cloned());
        let class = match in_spec("priorityClassName").as_ref().and_then(Value::as_str) {
            None | Some("") => self.default_class().await?,
            Some(name) => {
                let key = ObjectKey::cluster(name);
                let found = self.store.get(&CollectionId::from(CLASSES), &key).await.map_err(unavailable)?;
                let missing = || request.forbid(format_args!("no PriorityClass with name {name} was found"));
                Some(Draft::of(&*found.ok_or_else(missing)?)?)
            }
        };
        let of_class = |name: &str| class.as_ref().and_then(|class| class.part(name));
        let priority = of_class("value").and_then(Value::as_i64).unwrap_or_default();
        let policy = match &class {
            Some(_) => of_class("preemptionPolicy").cloned(),
            None => Some("PreemptLowerPriority".into()),
        };
        if let Some(set) = in_spec("priority").filter(|set| *set != priority) {
            return Err(request.forbid(format_args!(
                "the integer value of priority ({set}) must not be provided in pod spec; priority admission \
                 controller computed {priority} from the given PriorityClass name"
            )));
        }
        if let (Some(set), Some(policy)) = (in_spec("preemptionPolicy"), &policy)
            && set != *policy
        {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            return Err(request.forbid(format_args!(
                "the string value of PreemptionPolicy ({}) must not be provided in pod spec; priority \
                 admission controller computed {} from the given PriorityClass name",
                text(&set),
                text(policy)
            )));
        }
        let Some(pod) = request.object.as_deref_mut() else { return Ok(()) };
        if let Some(class) = &class {
            pod.set_in("spec", "priorityClassName", Some(class.text("name").into()));
        }
        pod.set_in("spec", "priority", Some(priority.into()));
        if policy.is_some() {
            pod.set_in("spec", "preemptionPolicy", policy);
        }
        Ok(())
    }

    /// Returns the class of pods that name none; of several defaults the one with the lowest value.
    async fn default_class(&self) -> Result<Option<Draft>, Status> {
        let value = |class: &Draft| class.part("value").and_then(Value::as_i64).unwrap_or_default();
        let mut lowest: Option<Draft> = None;
        for stored in all(&*self.store, CLASSES).await? {
            let class = Draft::of(&stored)?;
            let is_default = class.part("globalDefault") == Some(&Value::Bool(true));
            if is_default && lowest.as_ref().is_none_or(|lowest| value(lowest) > value(&class)) {
                lowest = Some(class);
            }
        }
        Ok(lowest)
    }
}
