//! Registry: a namespace with a ConfigMap for each website, for others to find them.
//!
//! Nothing of another namespace can be owned, so the garbage collector does not clean up here: the operator does,
//! before it lets a website go.

use watchkeeper_core::{LabelSelector, Object, ObjectKey};
use watchkeeper_kinds::apply::core::v1::ConfigMapApply;
use watchkeeper_kinds::k8s_openapi::api::core::v1::ConfigMap;
use watchkeeper_kinds::{TypedFactory, TypedInformer};

use crate::{MANAGER, Website};

/// The namespace.
pub const REGISTRY: &str = "registry";
/// The label of registrations.
const LABEL: (&str, &str) = ("app.kubernetes.io/managed-by", MANAGER);

/// All registrations. There may be other ConfigMaps in their namespace, which are nobody's business here.
pub fn registrations(factory: &TypedFactory) -> TypedInformer<ConfigMap> {
    let ours = LabelSelector::from_labels([LABEL]).expect("it is a label");
    factory.core_v1().config_maps().namespace(REGISTRY).labels(&ours)
}

/// What the registration of a website is called: no namespace has a dot.
pub fn name_of(website: &ObjectKey) -> String {
    format!("{}.{}", website.namespace().unwrap_or_default(), website.name())
}

/// Which website a registration is of.
pub fn website_of(registration: &Object) -> Vec<ObjectKey> {
    let parts = registration.head.key().name().split_once('.');
    parts.map(|(namespace, name)| ObjectKey::namespaced(namespace, name)).into_iter().collect()
}

/// What is registered of a website.
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
