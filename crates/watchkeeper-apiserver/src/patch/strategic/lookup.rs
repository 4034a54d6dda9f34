//! Lookup: the patch strategy of a field, as in the tags of the Go types.

use watchkeeper_wire::schema::{Field, Form, Message, PatchStrategy, Schema, Shape};

use crate::patch::{PatchError, gofmt};

/// The patch strategy and merge key of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rule {
    pub(super) strategy: Strategy,
    /// Empty if the field has none.
    pub(super) merge_key: &'static str,
}

/// Effect of a patch on an existing object or list. `$retainKeys` is requested by the patch, not by the schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Strategy {
    /// Objects are merged, lists are replaced.
    Default,
    Merge,
    Replace,
}

/// The type of a patched object.
#[derive(Debug, Clone, Copy)]
pub(super) struct Type<'a> {
    schema: &'a Schema,
    shape: Option<Shape>,
    inner: Inner<'a>,
}

#[derive(Debug, Clone, Copy)]
enum Inner<'a> {
    Message(&'a Message),
    /// A struct of this name without patchable fields.
    Opaque(&'static str),
    /// Not a struct; the name of its Go kind.
    Other(&'static str),
}

impl<'a> Type<'a> {
    pub(super) fn root(schema: &'a Schema, message: &'a Message) -> Self {
        Self { schema, shape: None, inner: Inner::Message(message) }
    }

    /// Returns the type and rule of an object field.
    pub(super) fn object(self, name: &str) -> Result<(Self, Rule), PatchError> {
        let field = self.field(name)?;
        Ok((self.of(field, Some(field.shape())), rule(field)))
    }

    /// Returns the element type and rule of a list field.
    pub(super) fn list(self, name: &str) -> Result<(Self, Rule), PatchError> {
        let field = self.field(name)?;
        match (field.shape(), field.form()) {
            (Shape::List, Form::Bytes | Form::Strings) => {
                Err(PatchError::Internal("unexpected slice of slice".to_owned()))
            }
            (Shape::List | Shape::Optional, _) | (Shape::One, Form::Bytes | Form::Strings) => {
                Ok((self.of(field, None), rule(field)))
            }
            _ => {
                let kind = self.go_kind();
                Err(PatchError::Internal(format!("expected slice or array type, but got: {kind}")))
            }
        }
    }

    /// Returns the Go kind of the type: `struct`, `ptr`, ...
    pub(super) fn go_kind(self) -> &'static str {
        match (self.shape, self.inner) {
            (Some(Shape::Optional), _) => "ptr",
            (Some(Shape::Map), _) => "map",
            (Some(Shape::List), _) => "slice",
            (_, Inner::Message(_) | Inner::Opaque(_)) => "struct",
            (_, Inner::Other(kind)) => kind,
        }
    }

    fn field(self, name: &str) -> Result<&'a Field, PatchError> {
        let owner = match (self.shape, self.inner) {
            (Some(Shape::Map | Shape::List), _) | (_, Inner::Other(_)) => {
                let kind = match (self.shape, self.inner) {
                    (Some(Shape::Optional), Inner::Other(kind)) => kind,
                    _ => self.go_kind(),
                };
                return Err(PatchError::Internal(format!(
                    "merging an object in json but data type is not struct, instead is: {kind}"
                )));
            }
            (_, Inner::Message(message)) => {
                // Go falls back to a field that differs only in case.
                let exact = find(self.schema, message, &|field| field.name() == name);
                let found = exact
                    .or_else(|| find(self.schema, message, &|field| field.name().eq_ignore_ascii_case(name)));
                if let Some(field) = found {
                    return Ok(field);
                }
                message.name().rsplit('.').next().unwrap_or_default()
            }
            (_, Inner::Opaque(owner)) => owner,
        };
        let name = gofmt::q(name);
        Err(PatchError::Internal(format!(
            "unable to find api field in struct {owner} for the json field {name}"
        )))
    }

    fn of(self, field: &Field, shape: Option<Shape>) -> Self {
        let inner = match field.form() {
            Form::Message(id) => Inner::Message(self.schema.get(id)),
            Form::Bool => Inner::Other("bool"),
            Form::Int32 => Inner::Other("int32"),
            Form::Int64 => Inner::Other("int64"),
            Form::Double => Inner::Other("float64"),
            Form::String => Inner::Other("string"),
            Form::Bytes | Form::Strings => Inner::Other("slice"),
            Form::Time => Inner::Opaque("Time"),
            Form::MicroTime => Inner::Opaque("MicroTime"),
            Form::Quantity => Inner::Opaque("Quantity"),
            Form::IntOrString => Inner::Opaque("IntOrString"),
            Form::RawExtension => Inner::Opaque("RawExtension"),
            Form::FieldsV1 => Inner::Opaque("FieldsV1"),
            Form::Json => Inner::Opaque("JSON"),
            Form::SchemaOrBool(_) => Inner::Opaque("JSONSchemaPropsOrBool"),
            Form::SchemaOrArray(_) => Inner::Opaque("JSONSchemaPropsOrArray"),
            Form::SchemaOrStrings(_) => Inner::Opaque("JSONSchemaPropsOrStringArray"),
        };
        Self { schema: self.schema, shape, inner }
    }
}

/// Returns the first matching field of the message or of those that it inlines.
fn find<'a>(schema: &'a Schema, message: &'a Message, fits: &dyn Fn(&Field) -> bool) -> Option<&'a Field> {
    message.fields().iter().find_map(|field| match (field.shape(), field.form()) {
        (Shape::Inline, Form::Message(inner)) => find(schema, schema.get(inner), fits),
        _ => fits(field).then_some(field),
    })
}

fn rule(field: &Field) -> Rule {
    let patch = field.patch();
    let strategy = match patch.map(|patch| patch.strategy) {
        Some(PatchStrategy::Merge | PatchStrategy::MergeRetainKeys) => Strategy::Merge,
        Some(PatchStrategy::Replace) => Strategy::Replace,
        Some(PatchStrategy::RetainKeys) | None => Strategy::Default,
    };
    Rule { strategy, merge_key: patch.and_then(|patch| patch.merge_key).unwrap_or_default() }
}
