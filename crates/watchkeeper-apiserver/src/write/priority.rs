//! Priority: what the class of a pod means in numbers.

use crate::store::Collection;
use serde_json::Value;
use watchkeeper_core::{ObjectKey, Status};

use super::draft::Draft;
use super::refusal::unavailable;
use super::{Call, Writer};

const CLASSES: &str = "scheduling.k8s.io/priorityclasses";

impl Writer {
    /// Writes the priority of its class into a pod: 403 where there is no such class, or where the pod says
    /// another priority.
    pub(super) async fn set_priority(&self, call: &Call<'_>, pod: &mut Draft) -> Result<(), Status> {
        let said = |pod: &Draft, name: &str| pod.part("spec").and_then(|spec| spec.get(name).cloned());
        let forbid = |pod: &Draft, why: String| {
            let name = [pod.text("name"), pod.text("generateName")];
            let name = name.into_iter().find(|name| !name.is_empty()).unwrap_or_default();
            Status::forbidden(Some(&call.resource.group_resource()), name, why)
        };
        let class = match said(pod, "priorityClassName").as_ref().and_then(Value::as_str) {
            None | Some("") => self.default_class().await?,
            Some(name) => {
                let key = ObjectKey::cluster(name);
                let found = self.store.get(&Collection::from(CLASSES), &key).await.map_err(unavailable)?;
                let found = found
                    .ok_or_else(|| forbid(pod, format!("no PriorityClass with name {name} was found")))?;
                Some(Draft::of(&found)?)
            }
        };
        let of_class = |name: &str| class.as_ref().and_then(|class| class.part(name));
        let priority = of_class("value").and_then(Value::as_i64).unwrap_or_default();
        let policy = match &class {
            Some(_) => of_class("preemptionPolicy").cloned(),
            None => Some("PreemptLowerPriority".into()),
        };
        if let Some(said) = said(pod, "priority").filter(|said| *said != priority) {
            let why = format!(
                "the integer value of priority ({said}) must not be provided in pod spec; priority admission \
                 controller computed {priority} from the given PriorityClass name"
            );
            return Err(forbid(pod, why));
        }
        if let (Some(said), Some(policy)) = (said(pod, "preemptionPolicy"), &policy)
            && said != *policy
        {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let why = format!(
                "the string value of PreemptionPolicy ({}) must not be provided in pod spec; priority \
                 admission controller computed {} from the given PriorityClass name",
                text(&said),
                text(policy)
            );
            return Err(forbid(pod, why));
        }
        if let Some(class) = &class {
            pod.set_in("spec", "priorityClassName", Some(class.text("name").into()));
        }
        pod.set_in("spec", "priority", Some(priority.into()));
        if policy.is_some() {
            pod.set_in("spec", "preemptionPolicy", policy);
        }
        Ok(())
    }

    /// The class of pods that name none; of several, the one with the lowest value.
    async fn default_class(&self) -> Result<Option<Draft>, Status> {
        let value = |class: &Draft| class.part("value").and_then(Value::as_i64).unwrap_or_default();
        let mut lowest: Option<Draft> = None;
        for stored in self.all(CLASSES).await? {
            let class = Draft::of(&stored)?;
            let is_default = class.part("globalDefault") == Some(&Value::Bool(true));
            if is_default && lowest.as_ref().is_none_or(|lowest| value(lowest) > value(&class)) {
                lowest = Some(class);
            }
        }
        Ok(lowest)
    }
}
