//! A custom type.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;
use watchkeeper_kinds::k8s_openapi::NamespaceResourceScope;
use watchkeeper_kinds::k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use watchkeeper_kinds::kube_core::Resource;

/// A partial ConfigMap.
#[derive(Deserialize, Debug)]
pub(crate) struct Settings {
    metadata: ObjectMeta,
    #[serde(default)]
    data: BTreeMap<String, String>,
}

impl Settings {
    pub(crate) fn name(&self) -> &str {
        self.metadata.name.as_deref().unwrap_or_default()
    }

    pub(crate) fn owner(&self) -> &str {
        self.data.get("owner").map_or("", String::as_str)
    }
}

impl Resource for Settings {
    type DynamicType = ();
    type Scope = NamespaceResourceScope;

    fn kind(_: &()) -> Cow<'_, str> {
        "ConfigMap".into()
    }

    fn group(_: &()) -> Cow<'_, str> {
        "".into()
    }

    fn version(_: &()) -> Cow<'_, str> {
        "v1".into()
    }

    fn plural(_: &()) -> Cow<'_, str> {
        "configmaps".into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}
