//! Selects the messages that get an apply type.

use std::collections::{BTreeMap, BTreeSet};

use watchkeeper_wire::schema::{self, Field, Form, Message, Shape};

const RESOURCES: &str = include_str!("../../../watchkeeper-apiserver/tables/resources.txt");

/// All fields of a schema are optional, so the type of `api` can be applied.
pub(crate) const AS_IS: &str = "apiextensions.v1.JSONSchemaProps";

/// Fields that a server rejects or no longer supports.
const NOT_APPLIED: [(&str, &str); 2] =
    [("meta.v1.ObjectMeta", "managedFields"), ("meta.v1.ObjectMeta", "selfLink")];

/// Scope (`namespaced`, `cluster` or `subresource`), group, version and name.
type Kind = (&'static str, &'static str, &'static str, &'static str);

/// The kinds that can be applied, and their messages.
pub(crate) struct Selection {
    /// The messages of the kinds, such as `core.v1.Pod`, with their scope.
    pub(crate) kinds: BTreeMap<&'static str, &'static str>,
    /// The messages of the kinds and of their fields.
    pub(crate) messages: BTreeSet<&'static str>,
}

impl Selection {
    pub(crate) fn from_tables() -> Self {
        let mut selection = Self { kinds: BTreeMap::new(), messages: BTreeSet::new() };
        for (scope, group, version, kind) in patchable() {
            let message = schema::builtin().message(group, version, kind);
            let message = message.unwrap_or_else(|| panic!("no schema for {kind} in {group}/{version}"));
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

/// Returns the JSON fields of a message, including inlined ones.
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

/// Returns the kinds of the resources and subresources that support `patch`.
fn patchable() -> Vec<Kind> {
    let core = |group: &'static str| if group == "-" { "" } else { group };
    let mut kinds = Vec::new();
    for line in RESOURCES.lines() {
        let words: Vec<&'static str> = line.split(' ').collect();
        match words[..] {
            ["resource", group, version, _, _, kind, scope, _, _, verbs, ..] if can_patch(verbs) => {
                kinds.push((scope, core(group), version, kind));
            }
            ["sub", _, kind, verbs] if can_patch(verbs) => {
                // Without a group, it is the kind of the resource or the options of a connection.
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
