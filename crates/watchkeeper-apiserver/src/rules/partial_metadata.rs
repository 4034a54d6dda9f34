//! Partial metadata: an object's metadata, shown without the rest.

use std::borrow::Cow;

use serde_json::Value;

/// Returns the metadata of an object without the annotations of its version
/// ([`version_annotations`](super::KindRules::version_annotations)), which stand for fields that it does not have.
pub(crate) fn metadata_alone<'a>(of_version: &[&str], metadata: &'a Value) -> Cow<'a, Value> {
    if of_version.is_empty() {
        return Cow::Borrowed(metadata);
    }
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

    const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";

    fn rules(resource: &str) -> &'static [&'static str] {
        crate::rules::lookup("apps", "v1", resource).unwrap().version_annotations()
    }

    #[test]
    fn only_the_annotations_of_the_version_are_left_out() {
        let carried = json!({"name": "a", "annotations": {TEMPLATE_GENERATION: "1"}});
        let kept = json!({"name": "a", "annotations": {TEMPLATE_GENERATION: "1", "b": "c"}});
        assert_eq!(*metadata_alone(rules("daemonsets"), &carried), json!({"name": "a"}));
        let shown = metadata_alone(rules("daemonsets"), &kept).into_owned();
        assert_eq!(shown, json!({"name": "a", "annotations": {"b": "c"}}));
        assert_eq!(*metadata_alone(rules("deployments"), &kept), kept);
    }
}
