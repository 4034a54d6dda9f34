//! Namespaces: objects come only into those that are there and stay, and they go when they are empty.

use crate::store::Collection;
use serde_json::{Value, json};
use watchkeeper_core::{CauseType, ObjectKey, Status};

use super::draft::Draft;
use super::refusal::{fault, unavailable};
use super::{Call, Writer};
use crate::clock::now;

const NAME_LABEL: &str = "kubernetes.io/metadata.name";
/// Those that must not go.
const IMMORTAL: [&str; 3] = ["default", "kube-public", "kube-system"];

impl Writer {
    /// Refuses new objects where their namespace is not there (404) or going (403).
    pub(super) async fn check_namespace(&self, call: &Call<'_>, name: &str) -> Result<(), Status> {
        let Some(namespace) = call.namespace.filter(|_| call.resource.is_namespaced()) else { return Ok(()) };
        let key = ObjectKey::cluster(namespace);
        let stored = self.store.get(&Collection::from("namespaces"), &key).await.map_err(unavailable)?;
        let Some(stored) = stored else {
            let namespaces =
                watchkeeper_core::GroupResource { group: String::new(), resource: "namespaces".to_owned() };
            return Err(Status::not_found(&namespaces, namespace));
        };
        if stored.object().head.deleted().is_none() {
            return Ok(());
        }
        let why =
            format!("unable to create new content in namespace {namespace} because it is being terminated");
        let mut status = Status::forbidden(Some(&call.resource.group_resource()), name, why);
        status.details.get_or_insert_default().causes = vec![fault(
            CauseType::from("NamespaceTerminating"),
            "metadata.namespace",
            format!("namespace {namespace} is being terminated"),
        )];
        Err(status)
    }
}

/// What a new namespace is given.
pub(super) fn begin(draft: &mut Draft) {
    let mut finalizers: Vec<Value> = draft.spec_finalizers().into_iter().map(Into::into).collect();
    if !finalizers.contains(&json!("kubernetes")) {
        finalizers.push("kubernetes".into());
    }
    draft.set_in("spec", "finalizers", Some(finalizers.into()));
    draft.set_part("status", Some(json!({"phase": "Active"})));
}

/// A namespace can be selected by its name.
pub(super) fn label(draft: &mut Draft) {
    let name = draft.text("name").to_owned();
    if name.is_empty() {
        return;
    }
    draft.set_pair("labels", NAME_LABEL, &name);
}

/// Refuses to delete those that must stay.
pub(super) fn check_mortal(call: &Call<'_>, name: &str) -> Result<(), Status> {
    match IMMORTAL.contains(&name) {
        true => Err(Status::forbidden(
            Some(&call.resource.group_resource()),
            name,
            "this namespace may not be deleted",
        )),
        false => Ok(()),
    }
}

/// Marks a namespace as going. It stays until its finalizers are gone.
pub(super) fn terminate(draft: &mut Draft) {
    if !draft.is_being_deleted() {
        draft.set_meta("deletionTimestamp", Some(now().to_string().into()));
    }
    draft.set_in("status", "phase", Some("Terminating".into()));
}
