//! Registry: a namespace with a ConfigMap for each website.
//!
//! An owner must be in the same namespace, so the garbage collector does not clean up here: the operator does, before it
//! removes its finalizer from a website.

use watchkeeper_core::{LabelSelector, Object, ObjectKey};
use watchkeeper_kinds::api::core::v1::ConfigMap;
use watchkeeper_kinds::apply::core::v1::ConfigMapApply;
use watchkeeper_kinds::{TypedFactory, TypedInformer};

use crate::{MANAGER, Website};

/// The namespace of registrations.
pub const REGISTRY: &str = "registry";
/// The selector of registrations.
pub const SELECTOR: &str = "app.kubernetes.io/managed-by=website-operator";
/// The label of registrations.
const LABEL: (&str, &str) = ("app.kubernetes.io/managed-by", MANAGER);

/// Returns the informer of all registrations, without other ConfigMaps in their namespace.
pub fn registrations(factory: &TypedFactory) -> TypedInformer<ConfigMap> {
    let ours = SELECTOR.parse::<LabelSelector>().expect("a valid selector");
    factory.core_v1().config_maps().namespace(REGISTRY).labels(&ours)
}

/// Returns the name of a website's registration. The first dot separates namespace and name: namespaces contain none.
pub fn name_of(website: &ObjectKey) -> String {
    format!("{}.{}", website.namespace().unwrap_or_default(), website.name())
}

/// Returns the website of a registration.
pub fn website_of(registration: &Object) -> Vec<ObjectKey> {
    let parts = registration.metadata.key().name().split_once('.');
    parts.map(|(namespace, name)| ObjectKey::namespaced(namespace, name)).into_iter().collect()
}

/// Returns the registration of a website.
pub fn registration(key: &ObjectKey, website: &Website) -> ConfigMapApply {
    let data = [("website", key.to_string()), ("message", website.spec.message.clone())];
    let (label, value) = LABEL;
    let labelled =
        ConfigMapApply::new(&name_of(key), REGISTRY).metadata.map(|it| it.with_label(label, value));
    ConfigMapApply {
        metadata: labelled,
        data: Some(data.map(|(name, value)| (name.to_owned(), value)).into()),
        ..Default::default()
    }
}
