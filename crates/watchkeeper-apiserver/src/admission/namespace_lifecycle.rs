//! `NamespaceLifecycle`: objects are created only in namespaces that exist and stay, and some namespaces cannot be deleted.

use std::sync::Arc;

use watchkeeper_core::{CauseType, GroupResource, ObjectKey, Status};

use super::{AdmissionFuture, AdmissionPlugin, AdmissionRequest, Operation};
use crate::rules::PROTECTED_NAMESPACES;
use crate::store::{CollectionId, Store};
use crate::write::{fault, unavailable};

const NAMESPACES: &str = "namespaces";

pub(super) struct NamespaceLifecycle {
    store: Arc<dyn Store>,
}

impl NamespaceLifecycle {
    pub(super) fn new(store: Arc<dyn Store>) -> Self {
        Self { store }
    }

    /// Returns 404 if the namespace of a new object does not exist, and 403 if it is terminating.
    async fn check_namespace(&self, request: &AdmissionRequest<'_>) -> Result<(), Status> {
        let namespace = request.namespace.filter(|_| request.resource.is_namespaced());
        let Some(namespace) = namespace else { return Ok(()) };
        let key = ObjectKey::cluster(namespace);
        let stored = self.store.get(&CollectionId::from(NAMESPACES), &key).await.map_err(unavailable)?;
        let Some(stored) = stored else {
            let namespaces = GroupResource { group: String::new(), resource: NAMESPACES.to_owned() };
            return Err(Status::not_found(&namespaces, namespace));
        };
        if stored.object().metadata.deletion_timestamp().is_none() {
            return Ok(());
        }
        let mut status = request.forbid(format_args!(
            "unable to create new content in namespace {namespace} because it is being terminated"
        ));
        status.details.get_or_insert_default().causes = vec![fault(
            CauseType::from("NamespaceTerminating"),
            "metadata.namespace",
            format!("namespace {namespace} is being terminated"),
        )];
        Err(status)
    }
}

impl AdmissionPlugin for NamespaceLifecycle {
    fn name(&self) -> &str {
        "NamespaceLifecycle"
    }

    /// Reviews are not stored, and may be about any namespace.
    fn handles(&self, request: &AdmissionRequest<'_>) -> bool {
        match request.operation {
            Operation::Create => request.subresource.is_none() && request.resource.storage.is_some(),
            Operation::Delete => request.is_for("", NAMESPACES),
            Operation::Update | Operation::Connect => false,
        }
    }

    fn mutate<'a>(&'a self, request: &'a mut AdmissionRequest<'_>) -> AdmissionFuture<'a> {
        Box::pin(async move {
            match request.operation {
                Operation::Delete if PROTECTED_NAMESPACES.contains(&request.display_name()) => {
                    Err(request.forbid("this namespace may not be deleted"))
                }
                Operation::Create => self.check_namespace(request).await,
                _ => Ok(()),
            }
        })
    }
}
