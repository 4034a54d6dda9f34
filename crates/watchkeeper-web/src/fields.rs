//! Field selectors on any path.
//!
//! Unlike the API server's, a selector can name any path that objects of the kind can have. The schema of a custom
//! resource is not known here, so below its metadata any path is accepted. If a path leads to several values, as
//! through a list, `=` requires one of them to be equal and `!=` requires all of them to differ.

use watchkeeper_core::{FieldOperator, FieldRequirement, FieldSelector, GroupVersionKind, Object};
use watchkeeper_wire::schema::{Field as SchemaField, Form, Message, Shape, builtin};
use watchkeeper_wire::{FieldPath, Kind, read_field};

use crate::envelope::Failure;
use crate::secret::may_compare;

/// Parsed field requirements.
#[derive(Debug, Default)]
pub(crate) struct Fields(Vec<(Field, FieldRequirement)>);

#[derive(Debug)]
enum Field {
    Name,
    Namespace,
    At(FieldPath),
}

impl Fields {
    /// Parses a selector for objects of a kind.
    pub(crate) fn read(text: &str, kind: &GroupVersionKind) -> Result<Self, Failure> {
        let selector = FieldSelector::parse(text)
            .map_err(|why| Failure::bad_request(format!("fieldSelector: {why}")))?;
        let field = |requirement: &FieldRequirement| {
            let field = match requirement.field() {
                "metadata.name" => Field::Name,
                "metadata.namespace" => Field::Namespace,
                text => {
                    let path =
                        text.parse().map_err(|why| Failure::bad_request(format!("fieldSelector: {why}")))?;
                    if !may_compare(kind, &path) {
                        return Err(Failure::bad_request(format!(
                            "fieldSelector: Secrets cannot be selected by {text}"
                        )));
                    }
                    check(kind, &path)
                        .map_err(|why| Failure::bad_request(format!("fieldSelector: {why}")))?;
                    Field::At(path)
                }
            };
            Ok((field, requirement.clone()))
        };
        selector.requirements().iter().map(field).collect::<Result<_, _>>().map(Self)
    }

    /// Returns whether an object meets all requirements. An object that cannot be decoded does not.
    pub(crate) fn match_object(&self, object: &Object, kind: &Kind) -> bool {
        let key = object.metadata.key();
        self.0.iter().all(|(field, requirement)| match field {
            Field::Name => requirement.matches(Some(key.name())),
            Field::Namespace => requirement.matches(key.namespace()),
            Field::At(path) => match_path(object, kind, path, requirement),
        })
    }
}

/// A path that objects of the kind cannot have.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown field {path:?} of {kind}")]
pub(crate) struct UnknownField {
    kind: String,
    /// The path up to the first unknown segment.
    path: String,
}

/// Checks whether objects of a kind can have a field, by the schema of the built-in kinds.
pub(crate) fn check(kind: &GroupVersionKind, path: &FieldPath) -> Result<(), UnknownField> {
    let schema = builtin();
    let segments = path.segments();
    let mut at = match (schema.message_of(kind), segments[0]) {
        (_, "apiVersion" | "kind") if segments.len() == 1 => return Ok(()),
        (Some(message), _) => Some(message),
        // For custom resources only metadata is known, which is the same for every kind.
        (None, "metadata") => schema.message("", "v1", "ConfigMap"),
        (None, _) => return Ok(()),
    };
    let mut segments_left = segments.iter().enumerate();
    while let Some((position, name)) = segments_left.next() {
        let unknown = || UnknownField { kind: kind.kind.clone(), path: segments[..=position].join(".") };
        let field = at.and_then(|message| field(message, name)).ok_or_else(unknown)?;
        if field.shape() == Shape::Map {
            segments_left.next(); // any key
        }
        at = match field.form() {
            Form::Message(id) => Some(schema.get(id)),
            Form::RawExtension | Form::FieldsV1 | Form::Json => return Ok(()),
            Form::SchemaOrBool(_) | Form::SchemaOrArray(_) | Form::SchemaOrStrings(_) => return Ok(()),
            _ => None,
        };
    }
    Ok(())
}

/// Returns the field with this JSON name, including fields of inlined messages.
fn field(message: &'static Message, name: &str) -> Option<&'static SchemaField> {
    let inlined = |field: &'static SchemaField| match (field.shape(), field.form()) {
        (Shape::Inline, Form::Message(id)) => self::field(builtin().get(id), name),
        _ => None,
    };
    message.field(name).or_else(|| message.fields().iter().find_map(inlined))
}

fn match_path(object: &Object, kind: &Kind, path: &FieldPath, requirement: &FieldRequirement) -> bool {
    let mut is_there = false;
    let mut is_equal = false;
    let read = read_field(&object.encoded, kind, path, &mut |value| {
        is_there = true;
        is_equal |= value == requirement.value();
    });
    // An absent field equals an empty one.
    is_equal |= !is_there && requirement.value().is_empty();
    read.is_ok() && is_equal == (requirement.operator() == FieldOperator::Equals)
}

#[cfg(test)]
mod tests {
    use super::*;
    use watchkeeper_core::{Encoded, ObjectMetaBuilder};

    fn is_match(selector: &str) -> bool {
        let head = ObjectMetaBuilder::default().namespace("shop").name("web-0").finish();
        let body = br#"{"spec":{"nodeName":"n1","priority":7,"containers":[{"image":"a"},{"image":"b"}]}}"#;
        let object = Object { metadata: head, encoded: Encoded::json(body.as_slice()) };
        let kind = Kind::new("", "v1", "Pod");
        Fields::read(selector, kind.name()).unwrap().match_object(&object, &kind)
    }

    #[test]
    fn selectors_match_any_path() {
        let yes = [
            "",
            "metadata.name=web-0",
            "metadata.namespace==shop",
            "metadata.namespace!=bank,spec.nodeName=n1",
            "spec.priority=7",
            "spec.containers.image=b",
            "spec.hostname=",
            "spec.hostname!=x",
        ];
        let no = [
            "metadata.name=web-1",
            "metadata.namespace=bank",
            "spec.nodeName=n1,spec.priority=8",
            "spec.nodeName!=n1",
            "spec.containers.image!=a",
            "spec.hostname=x",
            "spec.hostname!=",
        ];
        for selector in yes {
            assert!(is_match(selector), "{selector:?}");
        }
        for selector in no {
            assert!(!is_match(selector), "{selector:?}");
        }
    }

    #[test]
    fn undecodable_objects_do_not_match() {
        let broken =
            Object { metadata: ObjectMetaBuilder::default().finish(), encoded: Encoded::json(*b"{") };
        let kind = Kind::new("", "v1", "Pod");
        let selector = Fields::read("spec.hostname!=x", kind.name()).unwrap();
        assert!(!selector.match_object(&broken, &kind));
    }

    #[test]
    fn unknown_fields_are_named_in_the_error() {
        let problem = |kind: &GroupVersionKind, path: &str| {
            check(kind, &path.parse().unwrap()).err().map(|it| it.to_string())
        };
        let pod = GroupVersionKind::new("", "v1", "Pod");
        for path in [
            "kind",
            "metadata.name",
            "metadata.labels.app",
            r#"metadata.annotations["example.com/a.b"]"#,
            "metadata.ownerReferences.uid",
            "spec.containers.image",
            "spec.containers.resources.limits.cpu",
            "spec.volumes.emptyDir.medium",
            "status.containerStatuses.state.waiting.reason",
        ] {
            assert_eq!(problem(&pod, path), None, "{path}");
        }
        for (path, unknown) in [
            ("spec.nodename", "spec.nodename"),
            ("nosuch", "nosuch"),
            ("spec.containers.nosuch.more", "spec.containers.nosuch"),
            ("spec.nodeName.more", "spec.nodeName.more"),
            ("metadata.nosuch", "metadata.nosuch"),
            ("involvedObject.uid", "involvedObject"),
        ] {
            assert_eq!(problem(&pod, path), Some(format!("unknown field {unknown:?} of Pod")), "{path}");
        }
        let custom = GroupVersionKind::new("example.com", "v1", "Widget");
        assert_eq!((problem(&custom, "spec.anything"), problem(&custom, "metadata.labels.a")), (None, None));
        assert_eq!(
            problem(&custom, "metadata.nosuch").unwrap(),
            r#"unknown field "metadata.nosuch" of Widget"#
        );
    }
}
