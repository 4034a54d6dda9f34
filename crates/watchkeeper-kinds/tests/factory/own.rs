//! A custom type.

use std::borrow::Cow;

use serde::Deserialize;
use watchkeeper_kinds::api::meta::v1::ObjectMeta;
use watchkeeper_kinds::{Map, Namespaced, Resource, Str};

/// A partial ConfigMap.
#[derive(Deserialize, Debug)]
pub(crate) struct Settings {
    metadata: ObjectMeta,
    #[serde(default)]
    data: Map<Str>,
}

impl Settings {
    pub(crate) fn name(&self) -> &str {
        &self.metadata.name
    }

    pub(crate) fn owner(&self) -> &str {
        self.data.get("owner").map_or("", Str::as_str)
    }
}

impl Resource for Settings {
    type Scope = Namespaced;

    fn group() -> Cow<'static, str> {
        "".into()
    }

    fn version() -> Cow<'static, str> {
        "v1".into()
    }

    fn kind() -> Cow<'static, str> {
        "ConfigMap".into()
    }

    fn plural() -> Cow<'static, str> {
        "configmaps".into()
    }
}
