//! `DefaultIngressClass`: an ingress without a class gets the default one.

use std::sync::Arc;

use super::stored::{annotation, newest_marked};
use super::{AdmissionFuture, AdmissionPlugin, AdmissionRequest};
use crate::store::Store;

/// The annotation that marks the default class.
const MARKS: [&str; 1] = ["ingressclass.kubernetes.io/is-default-class"];

pub(super) struct DefaultIngressClass {
    store: Arc<dyn Store>,
}

impl DefaultIngressClass {
    pub(super) fn new(store: Arc<dyn Store>) -> Self {
        Self { store }
    }
}

impl AdmissionPlugin for DefaultIngressClass {
    fn name(&self) -> &str {
        "DefaultIngressClass"
    }

    fn handles(&self, request: &AdmissionRequest<'_>) -> bool {
        request.creates("networking.k8s.io", "ingresses")
    }

    fn mutate<'a>(&'a self, request: &'a mut AdmissionRequest<'_>) -> AdmissionFuture<'a> {
        Box::pin(async move {
            let Some(ingress) = request.object.as_deref_mut() else { return Ok(()) };
            let annotation = annotation(ingress, "kubernetes.io/ingress.class");
            let has_class = ingress.part("spec").is_some_and(|spec| spec.get("ingressClassName").is_some());
            if !has_class
                && annotation.is_none()
                && let Some(class) =
                    newest_marked(&*self.store, "networking.k8s.io/ingressclasses", &MARKS).await?
            {
                ingress.set_in("spec", "ingressClassName", Some(class.into()));
            }
            Ok(())
        })
    }
}
