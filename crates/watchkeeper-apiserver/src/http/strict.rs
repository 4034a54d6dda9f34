//! Strict decoding: finds unknown and duplicate fields, and values of the wrong type.
//!
//! Input: a parsed document, and the message of its kind.
//! Output: [`FieldValidation`](crate::http::FieldValidation), which turns findings into warnings or an error.
//!
//! Invariants:
//! - `strict.D1`: findings are in document order and distinct; at most [`STRICT_FINDINGS`] are reported.
//! - `strict.D2`: nothing is checked inside an unknown field, or inside one that holds arbitrary JSON.
//!
//! Custom kinds have no message: only duplicate fields are found here.

use std::collections::HashSet;
use std::fmt;
use std::sync::LazyLock;

use base64::DecodeError;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use watchkeeper_core::Timestamp;
use watchkeeper_wire::quantity;
use watchkeeper_wire::schema::{self, Field, Form, Message, Schema, Shape};

use super::go_text::beginning;
use watchkeeper_core::Quoted;
use watchkeeper_wire::document::Document;

/// Maximum number of findings per document.
pub const STRICT_FINDINGS: usize = 100;

/// Maximum length of the field path in a finding, in bytes, so that a long name in a body is not repeated a hundred
/// times in a response.
pub const FINDING_PATH_BYTES: usize = 1 << 10;

/// A violation of strict decoding.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Finding {
    /// An unknown field.
    Unknown {
        /// `spec.containers[0].bogus`.
        path: String,
    },
    /// A duplicate field; the last one counts.
    Duplicate {
        /// `spec.containers[0].image`.
        path: String,
    },
    /// Duplicate keys of a YAML mapping, with their lines.
    Repeated(Vec<(usize, String)>),
    /// A finding in an operation of a JSON patch.
    InJsonPatch(Box<Finding>),
}

/// Formats the finding for an error message.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { path } => write!(f, "unknown field {}", Quoted(path)),
            Self::Duplicate { path } => write!(f, "duplicate field {}", Quoted(path)),
            Self::InJsonPatch(finding) => write!(f, "json patch {finding}"),
            Self::Repeated(keys) => {
                f.write_str("yaml: unmarshal errors:")?;
                keys.iter().try_for_each(|(line, key)| {
                    write!(f, "\n  line {line}: key {} already set in map", Quoted(key))
                })
            }
        }
    }
}

impl Finding {
    /// Returns the finding as warnings.
    pub fn warnings(&self) -> Vec<String> {
        match self {
            Self::Repeated(keys) => {
                let warning = |(line, key): &(usize, String)| {
                    format!("line {line}: key {} already set in map", Quoted(key))
                };
                keys.iter().map(warning).collect()
            }
            finding => vec![finding.to_string()],
        }
    }
}

/// Checks a document against the message of its kind.
///
/// # Errors
/// Returns the text of Go's error if a value has the wrong type, which is never only a warning.
pub(crate) fn inspect(
    document: &Document,
    message: Option<&'static Message>,
) -> Result<Vec<Finding>, String> {
    let mut inspector = Inspector { schema: schema::builtin(), ..Default::default() };
    let expected = match message {
        Some(message) => Expected::Struct(message),
        None => Expected::Anything,
    };
    inspector.value(document, expected)?;
    match inspector.mismatch {
        Some(mismatch) => Err(mismatch),
        None => Ok(inspector.findings),
    }
}

/// Returns the findings in the operations of a JSON patch; `found` are the duplicate fields.
pub(crate) fn inspect_json_patch(operations: &[Document], found: &[Finding]) -> Vec<Finding> {
    const FIELDS: [&str; 4] = ["op", "path", "from", "value"];
    let mut odd = Vec::new();
    for (position, operation) in operations.iter().enumerate() {
        let own = |path: &str| {
            let field = path.strip_prefix(&format!("[{position}]."));
            field.is_some_and(|field| FIELDS.contains(&field))
        };
        // strict.D2: a value holds arbitrary JSON.
        odd.extend(found.iter().filter(|it| matches!(it, Finding::Duplicate { path } if own(path))).cloned());
        let Document::Object(fields) = operation else { continue };
        let unknown = fields.iter().filter(|(name, _)| !FIELDS.contains(&name.as_str()));
        odd.extend(unknown.map(|(name, _)| Finding::Unknown { path: format!("[{position}].{name}") }));
        if odd.len() >= STRICT_FINDINGS {
            break;
        }
    }
    odd.truncate(STRICT_FINDINGS);
    odd.into_iter().map(|finding| Finding::InJsonPatch(Box::new(finding))).collect()
}

/// A known field name.
pub(crate) enum Known<'s> {
    /// `kind` or `apiVersion` of a message that is a kind.
    Type,
    Field(&'s Field),
}

/// Looks up a field name in a message.
pub(crate) fn known<'s>(schema: &'s Schema, message: &'s Message, name: &str) -> Option<Known<'s>> {
    match find(schema, message, name) {
        Some((field, _)) => Some(Known::Field(field)),
        None => is_type_field(message, name).then_some(Known::Type),
    }
}

/// The type that a value is decoded into.
#[derive(Clone, Copy)]
enum Expected {
    Anything,
    Struct(&'static Message),
    One(Form),
    List(Form),
    Map(Form),
}

struct Inspector {
    schema: &'static Schema,
    path: String,
    findings: Vec<Finding>,
    seen: HashSet<String>,
    /// The error for the first value of a wrong type.
    mismatch: Option<String>,
    /// The Go struct being decoded, and the fields that lead to it.
    context: Vec<(&'static str, String)>,
}

impl Default for Inspector {
    fn default() -> Self {
        Self {
            schema: schema::builtin(),
            path: String::new(),
            findings: Vec::new(),
            seen: HashSet::new(),
            mismatch: None,
            context: Vec::new(),
        }
    }
}

impl Inspector {
    /// Checks a value. An error ends the walk; a recorded mismatch does not, as in Go.
    fn value(&mut self, node: &Document, expected: Expected) -> Result<(), String> {
        match (node, expected) {
            (Document::Null, _) => Ok(()),
            (Document::Object(fields), Expected::Anything) => self.map(fields, Expected::Anything),
            (Document::List(items), Expected::Anything) => self.list(items, Expected::Anything),
            (_, Expected::Anything) => Ok(()),
            (Document::Object(fields), Expected::Struct(message)) => self.fields(fields, message),
            (Document::Object(fields), Expected::Map(form)) => self.map(fields, Expected::One(form)),
            (Document::List(items), Expected::List(form)) => self.list(items, Expected::One(form)),
            (node, Expected::One(form)) => self.one(node, form),
            (node, expected) => {
                self.note(node, &self.go_type(expected));
                Ok(())
            }
        }
    }

    fn one(&mut self, node: &Document, form: Form) -> Result<(), String> {
        match (form, node) {
            (Form::Message(id), node) => self.value(node, Expected::Struct(self.schema.get(id))),
            (Form::Strings, node) => self.value(node, Expected::List(Form::String)),
            (Form::Bool, Document::Bool(_))
            | (Form::String, Document::Text(_))
            | (Form::Double, Document::Number(_)) => Ok(()),
            (Form::Int32, Document::Number(number)) if is_int32(number) => Ok(()),
            (Form::Int64, Document::Number(number)) if number.is_i64() => Ok(()),
            (Form::Int32 | Form::Int64, Document::Number(number)) => {
                let go_type = self.go_type(Expected::One(form));
                self.note_as(&format!("number {number}"), &go_type);
                Ok(())
            }
            (Form::Bytes, Document::Text(text)) => {
                if let Err(error) = STANDARD.decode(text.replace(['\r', '\n'], "")) {
                    let at = match error {
                        DecodeError::InvalidByte(at, _) | DecodeError::InvalidLastSymbol(at, _) => at,
                        _ => text.len() - text.len() % 4, // Go reports the offset of the incomplete group of four
                    };
                    self.mismatch.get_or_insert_with(|| format!("illegal base64 data at input byte {at}"));
                }
                Ok(())
            }
            (Form::Time | Form::MicroTime, Document::Text(text)) => self.time(text, form),
            (Form::Time | Form::MicroTime, node) => Err(self.mismatch_text(node.go_name(), "string")),
            (Form::Quantity, Document::Text(text)) if quantity::canonical(text).is_some() => Ok(()),
            (Form::Quantity, Document::Number(_)) => Ok(()),
            (Form::Quantity, _) => Err(QUANTITY_FORM.to_owned()),
            (Form::IntOrString, Document::Text(_)) => Ok(()),
            (Form::IntOrString, Document::Number(number)) if is_int32(number) => Ok(()),
            (Form::IntOrString, Document::Number(number)) => {
                Err(self.mismatch_text(&format!("number {number}"), "int32"))
            }
            (Form::IntOrString, node) => Err(self.mismatch_text(node.go_name(), "int32")),
            // strict.D2: these types have their own decoders, which are not strict.
            (
                Form::RawExtension
                | Form::FieldsV1
                | Form::Json
                | Form::SchemaOrBool(_)
                | Form::SchemaOrArray(_)
                | Form::SchemaOrStrings(_),
                _,
            ) => Ok(()),
            (Form::Bool | Form::Int32 | Form::Int64 | Form::Double | Form::String | Form::Bytes, node) => {
                let go_type = self.go_type(Expected::One(form));
                self.note(node, &go_type);
                Ok(())
            }
        }
    }

    fn time(&self, text: &str, form: Form) -> Result<(), String> {
        let (read, layout) = match form {
            Form::MicroTime => (Timestamp::parse_micro(text).is_ok(), "2006-01-02T15:04:05.000000Z07:00"),
            _ => (text.parse::<Timestamp>().is_ok(), "2006-01-02T15:04:05Z07:00"),
        };
        if read {
            Ok(())
        } else {
            Err(format!("parsing time {} as {layout:?}: {}", Quoted(text), time_fault(text)))
        }
    }

    fn fields(&mut self, fields: &[(String, Document)], message: &'static Message) -> Result<(), String> {
        let mut seen: HashSet<&str> = HashSet::new();
        for (name, value) in fields {
            let Some((field, inlined)) = find(self.schema, message, name) else {
                if is_type_field(message, name) {
                    self.repeated(&mut seen, name);
                    self.within_field(name, message, &[], |it| it.value(value, Expected::One(Form::String)))?;
                } else {
                    self.found(name, |path| Finding::Unknown { path });
                }
                continue;
            };
            self.repeated(&mut seen, name);
            let expected = match field.shape() {
                Shape::List => Expected::List(field.form()),
                Shape::Map => Expected::Map(field.form()),
                Shape::One | Shape::Optional | Shape::Inline => Expected::One(field.form()),
            };
            self.within_field(name, message, &inlined, |it| it.value(value, expected))?;
        }
        Ok(())
    }

    fn map(&mut self, fields: &[(String, Document)], expected: Expected) -> Result<(), String> {
        let mut seen: HashSet<&str> = HashSet::new();
        for (name, value) in fields {
            self.repeated(&mut seen, name);
            let length = self.path.len();
            self.step(name);
            let outcome = self.value(value, expected);
            self.path.truncate(length);
            outcome?;
        }
        Ok(())
    }

    fn list(&mut self, items: &[Document], expected: Expected) -> Result<(), String> {
        for (position, item) in items.iter().enumerate() {
            let length = self.path.len();
            self.path.push_str(&format!("[{position}]"));
            let outcome = self.value(item, expected);
            self.path.truncate(length);
            outcome?;
        }
        Ok(())
    }

    fn within_field(
        &mut self,
        name: &str,
        message: &'static Message,
        inlined: &[&'static str],
        walk: impl FnOnce(&mut Self) -> Result<(), String>,
    ) -> Result<(), String> {
        let length = self.path.len();
        self.step(name);
        let mut step = inlined.join(".");
        if !step.is_empty() {
            step.push('.');
        }
        step.push_str(name);
        self.context.push((last_segment(message.name()), step));
        let outcome = walk(self);
        self.context.pop();
        self.path.truncate(length);
        outcome
    }

    /// Appends a field to the path in place: a long path is not copied for each of its fields.
    fn step(&mut self, name: &str) {
        if !self.path.is_empty() {
            self.path.push('.');
        }
        self.path.push_str(name);
    }

    /// Returns the path to a field, truncated to [`FINDING_PATH_BYTES`].
    fn path_to(&self, name: &str) -> String {
        let begin = beginning(&self.path, FINDING_PATH_BYTES);
        let mut path = begin.to_owned();
        if begin.len() == self.path.len() {
            if !path.is_empty() {
                path.push('.');
            }
            path.push_str(beginning(name, FINDING_PATH_BYTES));
        }
        path
    }

    fn repeated<'a>(&mut self, seen: &mut HashSet<&'a str>, name: &'a str) {
        if !seen.insert(name) {
            self.found(name, |path| Finding::Duplicate { path });
        }
    }

    /// Records a finding (`strict.D1`).
    fn found(&mut self, name: &str, finding: impl FnOnce(String) -> Finding) {
        if self.findings.len() >= STRICT_FINDINGS {
            return;
        }
        let finding = finding(self.path_to(name));
        if self.seen.insert(finding.to_string()) {
            self.findings.push(finding);
        }
    }

    fn note(&mut self, node: &Document, go_type: &str) {
        self.note_as(node.go_name(), go_type);
    }

    fn note_as(&mut self, value: &str, go_type: &str) {
        if self.mismatch.is_none() {
            self.mismatch = Some(self.mismatch_text(value, go_type));
        }
    }

    fn mismatch_text(&self, value: &str, go_type: &str) -> String {
        match self.context.last() {
            None => format!("json: cannot unmarshal {value} into Go value of type {go_type}"),
            Some((owner, _)) => {
                let steps: Vec<&str> = self.context.iter().map(|(_, step)| step.as_str()).collect();
                let path = steps.join(".");
                format!(
                    "json: cannot unmarshal {value} into Go struct field {owner}.{path} of type {go_type}"
                )
            }
        }
    }

    /// Returns Go's name of a type, as far as it is known: named strings and numbers appear as their base types.
    fn go_type(&self, expected: Expected) -> String {
        match expected {
            Expected::Anything => "interface {}".to_owned(),
            Expected::Struct(message) => {
                let mut parts = message.name().rsplitn(3, '.');
                let (name, package) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
                format!("{package}.{name}")
            }
            Expected::List(form) => format!("[]{}", self.go_type(Expected::One(form))),
            Expected::Map(form) => format!("map[string]{}", self.go_type(Expected::One(form))),
            Expected::One(form) => match form {
                Form::Bool => "bool",
                Form::Int32 => "int32",
                Form::Int64 => "int64",
                Form::Double => "float64",
                Form::String => "string",
                Form::Bytes => "[]uint8",
                Form::Time => "v1.Time",
                Form::MicroTime => "v1.MicroTime",
                Form::Quantity => "resource.Quantity",
                Form::IntOrString => "intstr.IntOrString",
                Form::RawExtension => "runtime.RawExtension",
                Form::FieldsV1 => "v1.FieldsV1",
                Form::Json => "v1.JSON",
                Form::Strings => "[]string",
                Form::SchemaOrBool(_) => "v1.JSONSchemaPropsOrBool",
                Form::SchemaOrArray(_) => "v1.JSONSchemaPropsOrArray",
                Form::SchemaOrStrings(_) => "v1.JSONSchemaPropsOrStringArray",
                Form::Message(id) => return self.go_type(Expected::Struct(self.schema.get(id))),
            }
            .to_owned(),
        }
    }
}

/// Describes where a text stops being a time, in Go's words.
fn time_fault(text: &str) -> String {
    let mut rest = text;
    for part in ["2006", "-", "01", "-", "02", "T", "15", ":", "04", ":", "05"] {
        let is_number = part.as_bytes()[0].is_ascii_digit();
        let fits = |found: &str| {
            if is_number { found.bytes().all(|byte| byte.is_ascii_digit()) } else { found == part }
        };
        match rest.split_at_checked(part.len()) {
            Some((found, after)) if fits(found) => rest = after,
            _ => return format!("cannot parse {} as {part:?}", Quoted(rest)),
        }
    }
    format!("cannot parse {} as \"Z07:00\"", Quoted(rest))
}

const QUANTITY_FORM: &str =
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

fn is_int32(number: &serde_json::Number) -> bool {
    number.as_i64().is_some_and(|number| i32::try_from(number).is_ok())
}

fn last_segment(name: &'static str) -> &'static str {
    name.rsplit('.').next().unwrap_or_default()
}

/// Returns the field with a JSON name, and Go's names of the inlined structs that lead to it.
fn find<'s>(schema: &'s Schema, message: &'s Message, name: &str) -> Option<(&'s Field, Vec<&'static str>)> {
    if let Some(field) = message.field(name) {
        return Some((field, Vec::new()));
    }
    // `schema.T3`: messages inline each other without cycles.
    message.fields().iter().find_map(|inline| match (inline.shape(), inline.form()) {
        (Shape::Inline, Form::Message(id)) => {
            let inner = schema.get(id);
            let (field, mut steps) = find(schema, inner, name)?;
            steps.insert(0, last_segment(inner.name()));
            Some((field, steps))
        }
        _ => None,
    })
}

/// Returns whether a name is `kind` or `apiVersion`, which every kind has but no message lists.
fn is_type_field(message: &Message, name: &str) -> bool {
    static KINDS: LazyLock<HashSet<&'static str>> =
        LazyLock::new(|| schema::builtin().kinds().map(|(_, message)| message.name()).collect());
    matches!(name, "kind" | "apiVersion") && KINDS.contains(message.name())
}

#[cfg(test)]
mod tests;
