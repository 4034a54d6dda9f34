//! Types: the merge semantics of fields.
//!
//! Input: the wire schema (which fields exist) and the [merge table](super::table) (which of them are atomic).

use serde_json::Value;
use watchkeeper_core::GroupVersionKind;
use watchkeeper_wire::schema::{self, Field, Form, Message, Shape};

use super::defined::{Defined, Kept};
use super::element::{Element, Scalar};
use super::table::{self, Key, Treatment};

/// The type of a value.
#[derive(Debug, Clone, Copy)]
pub(super) enum Type<'a> {
    One(Item<'a>),
    List(Item<'a>, Listing<'a>),
    Map(Item<'a>, Owners),
}

/// A type that is neither a list nor a map, except for the values of a few maps.
#[derive(Debug, Clone, Copy)]
pub(super) enum Item<'a> {
    Scalar(Plain),
    Object(&'static Message, Owners),
    /// Untyped; each field has its own owner, and the type of its value.
    Any,
    /// Untyped and atomic.
    AnyAtomic,
    /// An atomic list of strings.
    Texts,
    /// An object of an unknown kind: only its metadata has a type.
    Custom,
    /// A type of a definition.
    Defined(&'a Defined),
}

/// A scalar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Plain {
    Numeric,
    Text,
    Boolean,
    /// Any scalar.
    Untyped,
}

/// The granularity of ownership in an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owners {
    /// Each field has its own owner.
    Each,
    /// The object is atomic.
    One,
}

/// Identification of list items.
#[derive(Debug, Clone, Copy)]
pub(super) enum Listing<'a> {
    /// Not at all: the list is atomic.
    Atomic,
    /// By value.
    Set,
    /// By these fields.
    Keyed(&'a [Key]),
}

/// The structure of a value, from its type, or from the value if it is untyped.
#[derive(Debug, Clone, Copy)]
pub(super) enum Atom<'a> {
    Scalar(Plain),
    List(Item<'a>, Listing<'a>),
    /// An object or map; [`Type::field`] returns the types of its fields.
    Map(Type<'a>),
}

impl Atom<'_> {
    pub(super) fn is_like(self, other: Self) -> bool {
        std::mem::discriminant(&self) == std::mem::discriminant(&other)
    }
}

impl<'a> Type<'a> {
    /// Creates a type from a definition.
    pub(super) fn defined(defined: &'a Defined) -> Self {
        Self::One(Item::Defined(defined))
    }

    /// Returns the type of a kind's objects.
    pub(super) fn of_kind(kind: &GroupVersionKind) -> Self {
        match schema::builtin().message_of(kind) {
            Some(message) => Self::One(Item::object(message)),
            None => Self::One(Item::Custom),
        }
    }

    /// Returns the structure of a value; without a value, the first that the type allows.
    pub(super) fn atom(self, value: Option<&Value>) -> Atom<'a> {
        match self {
            Self::List(item, listing) => Atom::List(item, listing),
            Self::Map(..) => Atom::Map(self),
            Self::One(Item::Texts) => Atom::List(Item::Scalar(Plain::Text), Listing::Atomic),
            Self::One(Item::Scalar(plain)) => Atom::Scalar(plain),
            Self::One(Item::Object(..) | Item::Custom) => Atom::Map(self),
            Self::One(Item::Defined(Defined::Scalar(plain))) => Atom::Scalar(*plain),
            Self::One(Item::Defined(Defined::List(item, kept))) => {
                Atom::List(Item::Defined(item), kept.into())
            }
            Self::One(Item::Defined(Defined::Object { .. } | Defined::Map(..))) => Atom::Map(self),
            Self::One(Item::Defined(Defined::Any)) => Type::One(Item::Any).atom(value),
            Self::One(Item::Any | Item::AnyAtomic) => match value {
                Some(Value::Bool(_) | Value::Number(_) | Value::String(_)) => Atom::Scalar(Plain::Untyped),
                Some(Value::Array(_)) => Atom::List(Item::AnyAtomic, Listing::Atomic),
                None | Some(Value::Null | Value::Object(_)) => Atom::Map(self),
            },
        }
    }

    /// Returns the granularity of ownership in an object or map of this type.
    pub(super) fn owners(self) -> Owners {
        match self {
            Self::Map(_, owners) | Self::One(Item::Object(_, owners)) => owners,
            Self::One(Item::AnyAtomic) => Owners::One,
            Self::One(Item::Defined(Defined::Object { owners, .. } | Defined::Map(_, owners))) => *owners,
            _ => Owners::Each,
        }
    }

    /// Returns the type of a field of an object or map; `None` if it has no such field.
    pub(super) fn field(self, name: &str) -> Option<Self> {
        match self {
            Self::Map(item, _) => Some(Self::One(item)),
            Self::One(Item::Object(message, _)) => match find(message, name) {
                Some(field) => Some(Self::of_field(message, field)),
                None if says_type(name) && table::builtin().is_kind(message.name()) => {
                    Some(Self::One(Item::Scalar(Plain::Text)))
                }
                None => None,
            },
            Self::One(Item::Custom) => Some(match name {
                "metadata" => metadata(),
                name if says_type(name) => Self::One(Item::Scalar(Plain::Text)),
                _ => Self::One(Item::Any),
            }),
            Self::One(Item::Defined(defined)) => match defined {
                Defined::Object { is_resource: true, .. } if name == "metadata" => Some(metadata()),
                Defined::Object { is_resource: true, .. } if says_type(name) => {
                    Some(Self::One(Item::Scalar(Plain::Text)))
                }
                Defined::Object { fields, is_open, .. } => match fields.get(name) {
                    Some(field) => Some(Self::One(Item::Defined(field))),
                    None => is_open.then_some(Self::One(Item::Any)),
                },
                Defined::Map(values, _) => Some(Self::One(Item::Defined(values))),
                Defined::Any => Some(Self::One(Item::Any)),
                Defined::Scalar(_) | Defined::List(..) => None,
            },
            Self::One(item @ (Item::Any | Item::AnyAtomic)) => Some(Self::One(item)),
            Self::List(..) | Self::One(Item::Scalar(_) | Item::Texts) => None,
        }
    }

    /// Returns whether the type declares a field of this name.
    pub(super) fn names(self, name: &str) -> bool {
        match self {
            Self::One(Item::Object(..)) => self.field(name).is_some(),
            Self::One(Item::Custom) => name == "metadata" || says_type(name),
            Self::One(Item::Defined(Defined::Object { fields, is_resource, .. })) => {
                fields.contains_key(name) || (*is_resource && (name == "metadata" || says_type(name)))
            }
            _ => false,
        }
    }

    /// Returns the type at an element.
    pub(super) fn below(self, element: &Element) -> Option<Self> {
        match (self, element) {
            (_, Element::Field(name)) => self.field(name),
            (Self::List(item, _), Element::Key(_)) => Some(Self::One(item)),
            (Self::One(Item::Defined(Defined::List(item, _))), Element::Key(_)) => {
                Some(Self::One(Item::Defined(item)))
            }
            _ => None,
        }
    }

    fn of_field(message: &'static Message, field: &'static Field) -> Self {
        let item = Item::of_form(field.form());
        let treatment = table::builtin().treatment(message.name(), field.name());
        match (field.shape(), treatment) {
            (Shape::List, Some(Treatment::Set)) => Self::List(item, Listing::Set),
            (Shape::List, Some(Treatment::Keyed(keys))) => Self::List(item, Listing::Keyed(keys)),
            (Shape::List, _) => Self::List(item, Listing::Atomic),
            (Shape::Map, Some(Treatment::Atomic)) => Self::Map(item, Owners::One),
            (Shape::Map, _) => Self::Map(item, Owners::Each),
            (_, treatment) => match (item, treatment) {
                (Item::Object(message, _), Some(Treatment::Atomic)) => {
                    Self::One(Item::Object(message, Owners::One))
                }
                (Item::Object(message, _), Some(Treatment::Granular)) => {
                    Self::One(Item::Object(message, Owners::Each))
                }
                (item, _) => Self::One(item),
            },
        }
    }
}

impl Item<'_> {
    fn object(message: &'static Message) -> Self {
        let is_atomic = table::builtin().is_atomic(message.name());
        Self::Object(message, if is_atomic { Owners::One } else { Owners::Each })
    }

    fn of_form(form: Form) -> Self {
        match form {
            Form::Bool => Self::Scalar(Plain::Boolean),
            Form::Int32 | Form::Int64 | Form::Double => Self::Scalar(Plain::Numeric),
            Form::String | Form::Bytes => Self::Scalar(Plain::Text),
            Form::Time | Form::MicroTime | Form::Quantity | Form::IntOrString => Self::Scalar(Plain::Untyped),
            Form::Message(id) => Self::object(schema::builtin().get(id)),
            Form::RawExtension => Self::AnyAtomic,
            Form::Strings => Self::Texts,
            Form::FieldsV1
            | Form::Json
            | Form::SchemaOrBool(_)
            | Form::SchemaOrArray(_)
            | Form::SchemaOrStrings(_) => Self::Any,
        }
    }
}

/// Returns the field of a message, or of one that it inlines.
fn find(message: &'static Message, name: &str) -> Option<&'static Field> {
    message.fields().iter().find_map(|field| match (field.shape(), field.form()) {
        (Shape::Inline, Form::Message(inner)) => find(schema::builtin().get(inner), name),
        _ => (field.name() == name).then_some(field),
    })
}

fn says_type(name: &str) -> bool {
    matches!(name, "apiVersion" | "kind")
}

/// Returns the type of `ObjectMeta`.
fn metadata() -> Type<'static> {
    let pod = Type::of_kind(&GroupVersionKind::new("", "v1", "Pod"));
    pod.field("metadata").unwrap_or(Type::One(Item::Any))
}

impl<'a> From<&'a Kept> for Listing<'a> {
    fn from(kept: &'a Kept) -> Self {
        match kept {
            Kept::Atomic => Self::Atomic,
            Kept::Set => Self::Set,
            Kept::Keyed(keys) => Self::Keyed(keys),
        }
    }
}

impl Listing<'_> {
    /// Returns the element of a list item, or a message if it cannot be identified.
    pub(super) fn element(self, item: &Value) -> Result<Element, String> {
        match (self, item) {
            (Self::Atomic, _) => Err("invalid indexing of non-associative list".to_owned()),
            (Self::Set, Value::Object(_)) => {
                Err("associative list without keys has an element that's a map type".to_owned())
            }
            (Self::Set, Value::Array(_)) => {
                Err("not supported: associative list with lists as elements".to_owned())
            }
            (Self::Set, Value::Null) => {
                Err("associative list without keys has an element that's an explicit null".to_owned())
            }
            (Self::Set, value) => Ok(Element::Value(value.clone().into())),
            (Self::Keyed(keys), Value::Object(fields)) => {
                let value = |key: &Key| {
                    let value = fields.get(&*key.name).or(key.default.as_ref())?;
                    Some((key.name.to_string(), Scalar::from(value.clone())))
                };
                let mut found: Vec<(String, Scalar)> = keys.iter().filter_map(value).collect();
                if found.is_empty() {
                    let names: Vec<String> = keys.iter().map(|key| format!("{:?}", key.name)).collect();
                    return Err(format!(
                        "associative list with keys has an element that omits all key fields [{}] \
                         (and doesn't have default values for any key fields)",
                        names.join(" ")
                    ));
                }
                found.sort_by(|a, b| a.0.cmp(&b.0));
                Ok(Element::Key(found))
            }
            (Self::Keyed(_), Value::Null) => {
                Err("associative list with keys may not have a null element".to_owned())
            }
            (Self::Keyed(_), _) => Err("associative list with keys may not have non-map elements".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn at(kind: &str, path: &str) -> Option<Type<'static>> {
        let (group, kind) = kind.split_once('/').unwrap();
        let kind = Type::of_kind(&GroupVersionKind::new(group, "v1", kind));
        path.split('.').try_fold(kind, |of, name| match of {
            Type::List(item, _) => Type::One(item).field(name),
            of => of.field(name),
        })
    }

    #[test]
    fn fields_have_the_types_of_the_tables() {
        assert!(matches!(at("/Pod", "spec.nodeSelector"), Some(Type::Map(_, Owners::One))));
        assert!(matches!(at("/Pod", "metadata.labels"), Some(Type::Map(_, Owners::Each))));
        assert!(matches!(at("/Pod", "spec.containers"), Some(Type::List(_, Listing::Keyed(_)))));
        assert!(matches!(at("/Pod", "spec.containers.args"), Some(Type::List(_, Listing::Atomic))));
        assert!(matches!(at("/Pod", "metadata.finalizers"), Some(Type::List(_, Listing::Set))));
        assert_eq!(at("/Pod", "metadata.ownerReferences.uid").map(Type::owners), Some(Owners::Each));
        assert_eq!(at("apps/Deployment", "spec.selector").map(Type::owners), Some(Owners::One));
        assert_eq!(at("/PersistentVolume", "spec.claimRef").map(Type::owners), Some(Owners::Each));
        assert!(at("/PersistentVolume", "spec.hostPath.path").is_some(), "it is inlined");
        assert!(at("/Pod", "spec.bogus").is_none() && at("/Pod", "spec.kind").is_none());
    }

    #[test]
    fn items_are_identified_by_keys_with_defaults() {
        let Some(Type::List(_, ports)) = at("/Pod", "spec.containers.ports") else { panic!("no list") };
        let element = ports.element(&json!({"containerPort": 80, "name": "web"})).unwrap();
        assert_eq!(element.text(), r#"k:{"containerPort":80,"protocol":"TCP"}"#);
        assert!(ports.element(&json!(null)).is_err());
    }
}
