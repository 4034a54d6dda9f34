//! `StorageObjectInUseProtection`: storage that is in use outlives its deletion, until a controller removes the finalizer.

use serde_json::Value;

use super::{AdmissionFuture, AdmissionPlugin, AdmissionRequest};

/// Group, resource and finalizer.
const PROTECTED: [(&str, &str, &str); 3] = [
    ("", "persistentvolumes", "kubernetes.io/pv-protection"),
    ("", "persistentvolumeclaims", "kubernetes.io/pvc-protection"),
    ("storage.k8s.io", "volumeattributesclasses", "kubernetes.io/vac-protection"),
];

pub(super) struct StorageObjectInUseProtection;

impl StorageObjectInUseProtection {
    fn finalizer(request: &AdmissionRequest<'_>) -> Option<&'static str> {
        PROTECTED
            .iter()
            .find(|(group, name, _)| request.creates(group, name))
            .map(|(.., finalizer)| *finalizer)
    }
}

impl AdmissionPlugin for StorageObjectInUseProtection {
    fn name(&self) -> &str {
        "StorageObjectInUseProtection"
    }

    fn handles(&self, request: &AdmissionRequest<'_>) -> bool {
        Self::finalizer(request).is_some()
    }

    fn mutate<'a>(&'a self, request: &'a mut AdmissionRequest<'_>) -> AdmissionFuture<'a> {
        if let (Some(finalizer), Some(object)) = (Self::finalizer(request), request.object.as_deref_mut()) {
            let mut finalizers: Vec<Value> = object.finalizers().into_iter().map(Into::into).collect();
            if !finalizers.iter().any(|known| known == finalizer) {
                finalizers.push(finalizer.into());
                object.set_meta("finalizers", Some(finalizers.into()));
            }
        }
        Box::pin(std::future::ready(Ok(())))
    }
}
