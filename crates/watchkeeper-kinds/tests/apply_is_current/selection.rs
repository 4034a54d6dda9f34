//! Selection: which messages get an apply type.

use std::collections::{BTreeMap, BTreeSet};

use watchkeeper_wire::schema::{self, Field, Form, Message, Shape};

const RESOURCES: &str = include_str!("../../../watchkeeper-apiserver/tables/resources.txt");

/// A schema says nothing unless it is told to, so the type of k8s-openapi can be applied as it is.
pub(crate) const AS_IS: &str = "apiextensions.v1.JSONSchemaProps";

/// What a server refuses to have applied, or has forgotten.
const NOT_APPLIED: [(&str, &str); 2] =
    [("meta.v1.ObjectMeta", "managedFields"), ("meta.v1.ObjectMeta", "selfLink")];

/// Whether it is `namespaced`, of the `cluster` or of a `subresource`, its group, its version and its name.
type Kind = (&'static str, &'static str, &'static str, &'static str);

/// The kinds that can be applied, and all that they consist of.
pub(crate) struct Selection {
    /// The names of the kinds' messages, such as `core.v1.Pod`, and what they are of.
    pub(crate) kinds: BTreeMap<&'static str, &'static str>,
    /// Of the kinds and of what they consist of.
    pub(crate) messages: BTreeSet<&'static str>,
}

impl Selection {
    pub(crate) fn of_the_tables() -> Self {
        let mut selection = Self { kinds: BTreeMap::new(), messages: BTreeSet::new() };
        for (scope, group, version, kind) in patched() {
            let message = schema::builtin().message(group, version, kind);
            let message = message.unwrap_or_else(|| panic!("no schema of {kind} in {group}/{version}"));
            selection.kinds.insert(message.name(), scope);
            selection.reach(message);
        }
        selection
    }

    fn reach(&mut self, message: &'static Message) {
        if message.name() == AS_IS || !self.messages.insert(message.name()) {
            return;
        }
        for field in fields(message) {
            if let Form::Message(inner) = field.form() {
                self.reach(schema::builtin().get(inner));
            }
        }
    }
}

/// The fields that JSON has of a message, those that it inlines among them.
pub(crate) fn fields(message: &'static Message) -> Vec<&'static Field> {
    let mut fields = Vec::new();
    for field in message.fields() {
        match (field.shape(), field.form()) {
            (Shape::Inline, Form::Message(inner)) => {
                fields.extend(self::fields(schema::builtin().get(inner)));
            }
            _ if NOT_APPLIED.contains(&(message.name(), field.name())) => {}
            _ => fields.push(field),
        }
    }
    fields
}

/// The kinds of the resources and subresources that can be patched as what they are.
fn patched() -> Vec<Kind> {
    let core = |group: &'static str| if group == "-" { "" } else { group };
    let mut kinds = Vec::new();
    for line in RESOURCES.lines() {
        let words: Vec<&'static str> = line.split(' ').collect();
        match words[..] {
            ["resource", group, version, _, _, kind, scope, _, _, verbs, ..] if can_patch(verbs) => {
                kinds.push((scope, core(group), version, kind));
            }
            ["sub", _, kind, verbs] if can_patch(verbs) => {
                // Without a group it is the kind of the resource, or options of a connection.
                if let [group, version, kind] = kind.split('/').collect::<Vec<_>>()[..] {
                    kinds.push(("subresource", group, version, kind));
                }
            }
            _ => {}
        }
    }
    kinds
}

fn can_patch(verbs: &str) -> bool {
    verbs == "all" || verbs.split(',').any(|verb| verb == "patch")
}
