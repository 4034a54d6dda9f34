//! Decoding: request bodies of any media type, as JSON values.
//!
//! Input: the bytes of a [`RequestBody`](crate::http::RequestBody), and their [`MediaType`].
//! Output: the [`Handler`](crate::http::Handler), with warnings.

use serde_json::Value;
use watchkeeper_core::{CauseType, Encoded, Encoding, GroupVersion, GroupVersionKind, Status, StatusCause};
use watchkeeper_wire::protobuf::{Envelope, MAGIC};
use watchkeeper_wire::schema::{self, Form, Message, Schema, Shape};
use watchkeeper_wire::transcode::{self, Types};
use watchkeeper_wire::{Kind, Problem};

use super::negotiate::{MediaType, PatchType};
use super::options::FieldValidation;
use super::strict::{self, Finding};
use crate::custom::CustomKind;
use watchkeeper_core::Quoted;
use watchkeeper_wire::document::{Document, read_json};
use watchkeeper_wire::yaml;

/// The maximum number of operations in a JSON patch.
pub const JSON_PATCH_OPERATIONS: usize = 10_000;

/// A decoded object.
#[derive(Debug, Clone, PartialEq)]
pub struct Decoded {
    /// The object, with `apiVersion` and `kind`, and without fields that its kind does not have.
    pub value: Value,
    /// Texts for the `Warning` header.
    pub warnings: Vec<String>,
}

/// Decodes the object of a create or an update.
///
/// ```
/// use watchkeeper_apiserver::http::{FieldValidation, MediaType, decode_object};
/// use watchkeeper_core::GroupVersionKind;
///
/// let kind = GroupVersionKind::new("", "v1", "ConfigMap");
/// let body = b"data: {a: b}\nbogus: 1\n";
/// let decoded = decode_object(body, MediaType::Yaml, &kind, FieldValidation::Warn)?;
/// assert_eq!(decoded.value["kind"], "ConfigMap");
/// assert_eq!(decoded.warnings, ["unknown field \"bogus\""]);
/// let status = decode_object(body, MediaType::Yaml, &kind, FieldValidation::Strict).unwrap_err();
/// assert_eq!(
///     status.message,
///     "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: strict decoding error: unknown field \"bogus\"",
/// );
/// # Ok::<(), watchkeeper_core::Status>(())
/// ```
///
/// # Errors
/// Returns 400 if the body cannot be read, is of another kind, or fails strict validation.
pub fn decode_object(
    body: &[u8],
    media: MediaType,
    expected: &GroupVersionKind,
    validation: FieldValidation,
) -> Result<Decoded, Status> {
    read_object(body, media, expected)?.judge(validation)
}

/// A decoded object before field validation is applied.
pub(crate) struct Sent<'a> {
    expected: &'a GroupVersionKind,
    value: Value,
    findings: Vec<Finding>,
}

impl Sent<'_> {
    /// Removes the fields that a custom kind does not have.
    pub(crate) fn pruned_by(mut self, custom: Option<&CustomKind>) -> Self {
        if let Some(custom) = custom {
            let pruned = custom.prune(&mut self.value);
            self.findings.extend(pruned.into_iter().map(|path| Finding::Unknown { path }));
        }
        self
    }

    /// Applies field validation: returns the object with warnings, or 400 if it fails strict validation.
    pub(crate) fn judge(self, validation: FieldValidation) -> Result<Decoded, Status> {
        let refused = |why: String| cannot_be_handled(self.expected, self.expected, &why);
        let warnings = validation.judge(&self.findings).map_err(refused)?;
        Ok(Decoded { value: self.value, warnings })
    }
}

/// Reads the object of a create or an update; returns 400 if it cannot be read, or is of another kind.
pub(crate) fn read_object<'a>(
    body: &[u8],
    media: MediaType,
    expected: &'a GroupVersionKind,
) -> Result<Sent<'a>, Status> {
    let unrecognized = |why: &dyn std::fmt::Display| {
        let summary = summary(body);
        Status::bad_request(format!(
            "the object provided is unrecognized (must be of type {}): {why} ({summary})",
            expected.kind
        ))
    };
    let mut repeated = Vec::new();
    let node = match media {
        MediaType::JSON => read_json(body).map_err(|error| unrecognized(&type_error(&error)))?,
        MediaType::Yaml => {
            let read = yaml::read(&String::from_utf8_lossy(body)).map_err(|error| unrecognized(&error))?;
            repeated = read.repeated;
            sorted(read.document)
        }
        MediaType::PROTOBUF => {
            let (value, kind) = decode_protobuf(body, expected).map_err(|error| unrecognized(&error))?;
            check_kind(&kind, expected)?;
            return Ok(Sent { expected, value, findings: Vec::new() });
        }
    };
    let kind = read_kind(&node, expected).map_err(|error| unrecognized(&error))?;
    let message = schema::builtin().message_of(expected);
    match message {
        Some(_) => check_kind(&kind, expected)?,
        None => check_custom_kind(&kind, expected, &node)?,
    }
    let refused = |why: &str| cannot_be_handled(&kind, expected, why);
    let mut findings = Vec::new();
    if !repeated.is_empty() {
        findings.push(Finding::Repeated(repeated));
    }
    findings.extend(strict::inspect(&node, message).map_err(|why| refused(&why))?);
    let mut value = match message {
        Some(message) => prune(node, message, schema::builtin()),
        None => {
            let (value, unknown) = with_known_metadata(node).map_err(|why| refused(&why))?;
            findings.extend(unknown);
            value
        }
    };
    if value.is_null() {
        value = Value::Object(serde_json::Map::new());
    }
    value["apiVersion"] = expected.group_version().to_string().into();
    value["kind"] = expected.kind.clone().into();
    Ok(Sent { expected, value, findings })
}

/// Decodes an object of which only the metadata is typed, without the fields that metadata does not have.
fn with_known_metadata(node: Document) -> Result<(Value, Vec<Finding>), String> {
    let kind = GroupVersionKind::new("meta.k8s.io", "v1", "PartialObjectMetadata");
    let Some(message) = schema::builtin().message_of(&kind) else { return Ok((node.into(), Vec::new())) };
    let Some(metadata) = node.field("metadata").cloned() else { return Ok((node.into(), Vec::new())) };
    let metadata = Document::Object(vec![("metadata".to_owned(), metadata)]);
    let mut findings = strict::inspect(&metadata, Some(message))?;
    findings.retain(|finding| matches!(finding, Finding::Unknown { .. })); // the others have been found already
    let mut value = Value::from(node);
    value["metadata"] = prune(metadata, message, schema::builtin())["metadata"].take();
    Ok((value, findings))
}

impl FieldValidation {
    /// Turns the findings in a document into warnings, or discards them.
    ///
    /// # Errors
    /// Returns the text of the refusal if validation is strict and there are findings.
    pub fn judge(self, findings: &[Finding]) -> Result<Vec<String>, String> {
        match self {
            Self::Ignore => Ok(Vec::new()),
            Self::Warn => Ok(findings.iter().flat_map(Finding::warnings).collect()),
            Self::Strict if findings.is_empty() => Ok(Vec::new()),
            Self::Strict => {
                let findings: Vec<String> = findings.iter().map(ToString::to_string).collect();
                Err(format!("strict decoding error: {}", findings.join(", ")))
            }
        }
    }
}

/// Decodes the options in the body of a DELETE, for [`DeleteOptions::of_body`](crate::http::DeleteOptions::of_body).
///
/// # Errors
/// Returns 400 if the body cannot be read or is of another kind.
pub fn decode_delete_options(body: &[u8], media: MediaType) -> Result<Value, Status> {
    let expected = GroupVersionKind::new("meta.k8s.io", "v1", "DeleteOptions");
    let bad = |why: String| Status::bad_request(why);
    let node = match media {
        MediaType::JSON => read_json(body).map_err(|error| bad(type_error(&error)))?,
        MediaType::Yaml => yaml::read(&String::from_utf8_lossy(body)).map_err(bad)?.document,
        MediaType::PROTOBUF => return Ok(decode_protobuf(body, &expected).map_err(bad)?.0),
    };
    let kind = read_kind(&node, &expected).map_err(bad)?;
    if kind.kind != expected.kind {
        return Err(bad(not_registered(&kind)));
    }
    strict::inspect(&node, schema::builtin().message_of(&expected)).map_err(bad)?;
    Ok(node.into())
}

/// A decoded patch.
#[derive(Debug, Clone, PartialEq)]
pub struct DecodedPatch {
    /// The patch, as JSON.
    pub value: Value,
    /// Duplicate fields, and unknown fields in the operations of a JSON patch. Unknown fields of the object are found
    /// after the patch has been applied.
    pub findings: Vec<Finding>,
}

/// Decodes a patch.
///
/// # Errors
/// Returns 400 if it cannot be read; 413 if it has too many operations.
pub fn decode_patch(body: &[u8], patch: PatchType) -> Result<DecodedPatch, Status> {
    let invalid = |_| Status::bad_request("invalid JSON patch");
    if patch == PatchType::Apply {
        let read = yaml::read(&String::from_utf8_lossy(body));
        let read = read.map_err(|error| Status::bad_request(format!("error encoding patch: {error}")))?;
        let repeated = Some(read.repeated).filter(|repeated| !repeated.is_empty());
        return Ok(DecodedPatch {
            value: read.document.into(),
            findings: repeated.map(Finding::Repeated).into_iter().collect(),
        });
    }
    let node = read_json(body).map_err(invalid)?;
    let mut findings = strict::inspect(&node, None).map_err(invalid)?;
    if patch == PatchType::Json {
        let operations = match &node {
            Document::List(operations) => operations.as_slice(),
            Document::Null => &[],
            other => {
                let found = other.go_name();
                return Err(Status::bad_request(format!(
                    "error decoding patch: json: cannot unmarshal {found} into Go value of type []handlers.jsonPatchOp"
                )));
            }
        };
        if operations.len() > JSON_PATCH_OPERATIONS {
            return Err(Status::request_entity_too_large(format!(
                "The allowed maximum operations in a JSON patch is {JSON_PATCH_OPERATIONS}, got {}",
                operations.len()
            )));
        }
        findings = strict::inspect_json_patch(operations, &findings);
    }
    Ok(DecodedPatch { value: node.into(), findings })
}

/// Prepends the text with which kube-apiserver begins every JSON error.
fn type_error(why: &str) -> String {
    format!("couldn't get version/kind; json parse error: {why}")
}

/// Returns the kind in a document; missing parts are taken from `expected`.
fn read_kind(node: &Document, expected: &GroupVersionKind) -> Result<GroupVersionKind, String> {
    const GO_TYPE: &str = r#"struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }"#;
    if !matches!(node, Document::Object(_) | Document::Null) {
        let found = node.go_name();
        return Err(type_error(&format!("json: cannot unmarshal {found} into Go value of type {GO_TYPE}")));
    }
    let text = |name: &str| match node.field(name) {
        None | Some(Document::Null) => Ok(""),
        Some(Document::Text(text)) => Ok(text.as_str()),
        Some(other) => {
            let found = other.go_name();
            Err(type_error(&format!(
                "json: cannot unmarshal {found} into Go struct field .{name} of type string"
            )))
        }
    };
    named_kind(text("apiVersion")?, text("kind")?, expected)
}

fn named_kind(
    api_version: &str,
    kind: &str,
    expected: &GroupVersionKind,
) -> Result<GroupVersionKind, String> {
    let group_version = match api_version {
        "" => expected.group_version(),
        text => text
            .parse::<GroupVersion>()
            .map_err(|_| format!("unexpected GroupVersion string: {api_version}"))?,
    };
    Ok(group_version.kind(if kind.is_empty() { &expected.kind } else { kind }))
}

fn check_kind(kind: &GroupVersionKind, expected: &GroupVersionKind) -> Result<(), Status> {
    if kind == expected {
        return Ok(());
    }
    // Options count as registered in every group, but are never created.
    let registered = schema::builtin().message_of(kind).is_some();
    let why = if registered {
        let internal = expected.group.split('.').next().filter(|group| !group.is_empty()).unwrap_or("core");
        let GroupVersionKind { version, kind, .. } = kind;
        format!("converting ({version}.{kind}) to ({internal}.{}): unknown conversion", expected.kind)
    } else {
        not_registered(kind)
    };
    Err(cannot_be_handled(kind, expected, &why))
}

/// Returns 400 or 422 if an object is of another custom kind than its path.
fn check_custom_kind(
    kind: &GroupVersionKind,
    expected: &GroupVersionKind,
    node: &Document,
) -> Result<(), Status> {
    let (found, wanted) = (kind.group_version(), expected.group_version());
    if found != wanted {
        return Err(Status::bad_request(format!(
            "the API version in the data ({found}) does not match the expected API version ({wanted})"
        )));
    }
    if kind.kind == expected.kind {
        return Ok(());
    }
    let name = match node.field("metadata").and_then(|metadata| metadata.field("name")) {
        Some(Document::Text(name)) => name,
        _ => "",
    };
    let cause = StatusCause {
        cause: CauseType::FieldValueInvalid,
        field: "kind".to_owned(),
        message: format!("Invalid value: {}: must be {}", Quoted(&kind.kind), expected.kind),
    };
    Err(Status::invalid(&kind.group_kind(), name, vec![cause]))
}

fn not_registered(kind: &GroupVersionKind) -> String {
    let version = kind.group_version().to_string();
    // The scheme is named after the source line that creates it.
    let (kind, version) = (Quoted(&kind.kind), Quoted(&version));
    format!("no kind {kind} is registered for version {version} in scheme \"pkg/runtime/scheme.go:111\"")
}

fn cannot_be_handled(kind: &GroupVersionKind, expected: &GroupVersionKind, why: &str) -> Status {
    let version = Quoted(&kind.version);
    Status::bad_request(format!(
        "{} in version {version} cannot be handled as a {}: {why}",
        kind.kind, expected.kind
    ))
}

/// Returns the beginning of a body for an error message: text if it could be JSON, otherwise hexadecimal.
fn summary(body: &[u8]) -> String {
    const BYTES: usize = 30;
    let shown = match body {
        [] => return "<empty>".to_owned(),
        [b'{', ..] => String::from_utf8_lossy(&body[..body.len().min(BYTES)]).into_owned(),
        _ => body.iter().take(BYTES).map(|byte| format!("{byte:02x}")).collect(),
    };
    if body.len() > BYTES { format!("{shown} ...") } else { shown }
}

fn decode_protobuf(body: &[u8], expected: &GroupVersionKind) -> Result<(Value, GroupVersionKind), String> {
    if body.is_empty() {
        return Err("empty data".to_owned());
    }
    if body == MAGIC {
        return Err("empty body".to_owned());
    }
    let envelope = Envelope::open(body).map_err(|error| match error.problem {
        Problem::NoMagic => {
            format!(
                "provided data does not appear to be a protobuf message, expected prefix {}",
                go_bytes(&MAGIC)
            )
        }
        problem => problem.to_string(),
    })?;
    let named = named_kind(envelope.api_version, envelope.kind, expected)?;
    let is_json = envelope.content_type == Encoding::Json.media_type();
    let encoding = if is_json { Encoding::Json } else { Encoding::Protobuf };
    let encoded = Encoded { encoding, body: envelope.message.into() };
    let mut json = Vec::new();
    transcode::to_json(&encoded, &Kind::from(named.clone()), Types::Named, &mut json)
        .map_err(|error| error.to_string())?;
    let value = read_json(&json)?;
    Ok((value.into(), named))
}

fn go_bytes(bytes: &[u8]) -> String {
    let bytes: Vec<String> = bytes.iter().map(ToString::to_string).collect();
    format!("[{}]", bytes.join(" "))
}

/// Sorts fields by name and drops duplicates: Go converts YAML to JSON by way of a map.
fn sorted(node: Document) -> Document {
    match node {
        Document::Object(fields) => {
            let fields: std::collections::BTreeMap<String, Document> = fields.into_iter().collect();
            Document::Object(fields.into_iter().map(|(name, value)| (name, sorted(value))).collect())
        }
        Document::List(items) => Document::List(items.into_iter().map(sorted).collect()),
        node => node,
    }
}

/// Converts a document to JSON without the fields that its kind does not have.
fn prune(node: Document, message: &'static Message, schema: &'static Schema) -> Value {
    let Document::Object(fields) = node else { return node.into() };
    let kept = fields.into_iter().filter_map(|(name, value)| {
        let value = match strict::known(schema, message, &name)? {
            strict::Known::Type => value.into(),
            strict::Known::Field(field) => match (field.shape(), field.form(), value) {
                (Shape::List, Form::Message(id), Document::List(items)) => {
                    items.into_iter().map(|item| prune(item, schema.get(id), schema)).collect()
                }
                (Shape::Map, Form::Message(id), Document::Object(values)) => values
                    .into_iter()
                    .map(|(key, value)| (key, prune(value, schema.get(id), schema)))
                    .collect(),
                (Shape::One | Shape::Optional, Form::Message(id), value) => {
                    prune(value, schema.get(id), schema)
                }
                (_, _, value) => value.into(),
            },
        };
        Some((name, value))
    });
    Value::Object(kept.collect())
}

#[cfg(test)]
mod tests;
