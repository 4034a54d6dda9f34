//! Fields: the objects that have these values at these paths.
//!
//! Unlike the API server's, a selector may name any path. Where a path leads to several values, as through a list, one
//! of them is enough to be equal, and all have to be unequal.

use watchkeeper_core::{FieldOperator, FieldRequirement, FieldSelector, GroupVersionKind, Object};
use watchkeeper_wire::{FieldPath, Kind, read_field};

use crate::envelope::Failure;
use crate::secret::may_compare;

/// What fields have to be.
#[derive(Debug, Default)]
pub(crate) struct Fields(Vec<(Field, FieldRequirement)>);

#[derive(Debug)]
enum Field {
    Name,
    Namespace,
    At(FieldPath),
}

impl Fields {
    /// Reads a selector for objects of a kind.
    pub(crate) fn read(text: &str, kind: &GroupVersionKind) -> Result<Self, Failure> {
        let selector =
            FieldSelector::parse(text).map_err(|why| Failure::bad(format!("fieldSelector: {why}")))?;
        let field = |requirement: &FieldRequirement| {
            let field = match requirement.field() {
                "metadata.name" => Field::Name,
                "metadata.namespace" => Field::Namespace,
                text => {
                    let path = text.parse().map_err(|why| Failure::bad(format!("fieldSelector: {why}")))?;
                    if !may_compare(kind, &path) {
                        return Err(Failure::bad(format!("fieldSelector: nobody selects Secrets by {text}")));
                    }
                    Field::At(path)
                }
            };
            Ok((field, requirement.clone()))
        };
        selector.requirements().iter().map(field).collect::<Result<_, _>>().map(Self)
    }

    /// Whether an object has all of them. One that cannot be read has none.
    pub(crate) fn match_object(&self, object: &Object, kind: &Kind) -> bool {
        let key = object.head.key();
        self.0.iter().all(|(field, requirement)| match field {
            Field::Name => requirement.matches(Some(key.name())),
            Field::Namespace => requirement.matches(key.namespace()),
            Field::At(path) => match_path(object, kind, path, requirement),
        })
    }
}

fn match_path(object: &Object, kind: &Kind, path: &FieldPath, requirement: &FieldRequirement) -> bool {
    let mut is_there = false;
    let mut is_equal = false;
    let read = read_field(&object.encoded, kind, path, &mut |value| {
        is_there = true;
        is_equal |= value == requirement.value();
    });
    // What is absent is as good as empty.
    is_equal |= !is_there && requirement.value().is_empty();
    read.is_ok() && is_equal == (requirement.operator() == FieldOperator::Equals)
}

#[cfg(test)]
mod tests {
    use super::*;
    use watchkeeper_core::{Encoded, HeadBuilder};

    fn is_match(selector: &str) -> bool {
        let head = HeadBuilder::default().namespace("shop").name("web-0").finish();
        let body = br#"{"spec":{"nodeName":"n1","priority":7,"containers":[{"image":"a"},{"image":"b"}]}}"#;
        let object = Object { head, encoded: Encoded::json(body.as_slice()) };
        let kind = Kind::new("", "v1", "Pod");
        Fields::read(selector, kind.name()).unwrap_or_default().match_object(&object, &kind)
    }

    #[test]
    fn a_field_is_looked_for_wherever_it_is() {
        let yes = [
            "",
            "metadata.name=web-0",
            "metadata.namespace==shop",
            "metadata.namespace!=bank,spec.nodeName=n1",
            "spec.priority=7",
            "spec.containers.image=b",
            "spec.absent=",
            "spec.absent!=x",
        ];
        let no = [
            "metadata.name=web-1",
            "metadata.namespace=bank",
            "spec.nodeName=n1,spec.priority=8",
            "spec.nodeName!=n1",
            "spec.containers.image!=a",
            "spec.absent=x",
            "spec.absent!=",
        ];
        for selector in yes {
            assert!(is_match(selector), "{selector:?}");
        }
        for selector in no {
            assert!(!is_match(selector), "{selector:?}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_not_selected() {
        let broken = Object { head: HeadBuilder::default().finish(), encoded: Encoded::json(*b"{") };
        let kind = Kind::new("", "v1", "Pod");
        let selector = Fields::read("spec.absent!=x", kind.name()).unwrap_or_default();
        assert!(!selector.match_object(&broken, &kind));
    }
}
