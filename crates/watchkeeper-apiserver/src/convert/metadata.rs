//! Metadata alone: what of the metadata of an object belongs to its version.

use std::borrow::Cow;

use serde_json::Value;

use super::autoscaler::CARRIERS;

/// Which template of a daemon set this is, counted for clients that are no more.
pub(crate) const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";

/// The metadata of an object as it is shown without the rest: the annotations by which a version shows what it has
/// no field for are not part of it.
pub(crate) fn metadata_alone<'a>(group: &str, kind: &str, metadata: &'a Value) -> Cow<'a, Value> {
    let of_version: &[&str] = match (group, kind) {
        ("apps", "DaemonSet") => &[TEMPLATE_GENERATION],
        ("autoscaling", "HorizontalPodAutoscaler") => &CARRIERS,
        _ => return Cow::Borrowed(metadata),
    };
    let mut alone = metadata.clone();
    if let Some(Value::Object(annotations)) = alone.get_mut("annotations") {
        annotations.retain(|name, _| !of_version.contains(&name.as_str()));
        if annotations.is_empty()
            && let Value::Object(fields) = &mut alone
        {
            fields.remove("annotations");
        }
    }
    Cow::Owned(alone)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_the_annotations_of_the_version_are_left_out() {
        let carried = json!({"name": "a", "annotations": {TEMPLATE_GENERATION: "1"}});
        let kept = json!({"name": "a", "annotations": {TEMPLATE_GENERATION: "1", "b": "c"}});
        assert_eq!(*metadata_alone("apps", "DaemonSet", &carried), json!({"name": "a"}));
        let shown = metadata_alone("apps", "DaemonSet", &kept).into_owned();
        assert_eq!(shown, json!({"name": "a", "annotations": {"b": "c"}}));
        assert_eq!(*metadata_alone("apps", "Deployment", &kept), kept);
    }
}
