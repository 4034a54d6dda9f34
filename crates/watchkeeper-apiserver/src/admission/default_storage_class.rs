//! `DefaultStorageClass`: a claim without a storage class gets the default one.

use std::sync::Arc;

use super::stored::{annotation, newest_marked};
use super::{AdmissionFuture, AdmissionPlugin, AdmissionRequest};
use crate::store::Store;

/// Annotations that mark the default class.
const MARKS: [&str; 2] =
    ["storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"];

pub(super) struct DefaultStorageClass {
    store: Arc<dyn Store>,
}

impl DefaultStorageClass {
    pub(super) fn new(store: Arc<dyn Store>) -> Self {
        Self { store }
    }
}

impl AdmissionPlugin for DefaultStorageClass {
    fn name(&self) -> &str {
        "DefaultStorageClass"
    }

    fn handles(&self, request: &AdmissionRequest<'_>) -> bool {
        request.creates("", "persistentvolumeclaims")
    }

    fn mutate<'a>(&'a self, request: &'a mut AdmissionRequest<'_>) -> AdmissionFuture<'a> {
        Box::pin(async move {
            let Some(claim) = request.object.as_deref_mut() else { return Ok(()) };
            let annotation = annotation(claim, "volume.beta.kubernetes.io/storage-class");
            let has_class = claim.part("spec").is_some_and(|spec| spec.get("storageClassName").is_some());
            if !has_class
                && annotation.is_none()
                && let Some(class) =
                    newest_marked(&*self.store, "storage.k8s.io/storageclasses", &MARKS).await?
            {
                claim.set_in("spec", "storageClassName", Some(class.into()));
            }
            Ok(())
        })
    }
}
