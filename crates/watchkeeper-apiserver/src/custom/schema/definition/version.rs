//! Versions of a definition: schema, subresources and columns, of each version or shared by all.

use serde_json::Value;

use super::go_json::{self, Hidden};
use super::{defaults, field_path, open_api, structural};
use crate::validate::faults::{Faults, json};
use crate::validate::field::Field;
use watchkeeper_core::is_printable;

/// A field of a version that may be the same for all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shared {
    Schema,
    Subresources,
    Columns,
    Selectable,
}

impl Shared {
    /// Returns its name in a version, and its name in kube-apiserver's internal type where all versions share it.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Schema => ("schema", "spec.validation"),
            Self::Subresources => ("subresources", "spec.subresources"),
            Self::Columns => ("additionalPrinterColumns", "spec.additionalPrinterColumns"),
            Self::Selectable => ("selectableFields", "spec.selectableFields"),
        }
    }
}

/// The maximum number of selectable fields.
const SELECTABLE: usize = 8;

/// Keywords allowed at the root of a schema with a status subresource.
const AT_ROOT: [&str; 22] = [
    "Description",
    "Type",
    "Format",
    "Title",
    "Maximum",
    "ExclusiveMaximum",
    "Minimum",
    "ExclusiveMinimum",
    "MaxLength",
    "MinLength",
    "Pattern",
    "MaxItems",
    "MinItems",
    "UniqueItems",
    "MultipleOf",
    "Required",
    "Items",
    "Properties",
    "ExternalDocs",
    "Example",
    "XPreserveUnknownFields",
    "XValidations",
];

/// The spec of a definition.
pub(super) struct Subject<'a> {
    spec: Field<'a>,
    versions: Vec<Field<'a>>,
}

impl<'a> Subject<'a> {
    pub(super) fn of(spec: &Field<'a>) -> Self {
        Self { spec: spec.clone(), versions: spec.child("versions").items().collect() }
    }

    pub(super) fn spec(&self) -> Field<'a> {
        self.spec.clone()
    }

    /// Returns whether all versions have the same value, or none.
    fn is_shared(&self, what: Shared) -> bool {
        let (name, _) = what.names();
        let Some(first) = self.versions.first() else { return false };
        let is_same = |version: &Field<'_>| {
            let (first, other) = (first.child(name), version.child(name));
            first.value() == other.value()
                || (first.is_empty() && other.is_empty() && what != Shared::Subresources)
        };
        self.versions.iter().all(is_same)
    }

    /// Returns the value that all versions share.
    pub(super) fn shared(&self, what: Shared) -> Option<Field<'a>> {
        let (name, path) = what.names();
        let first = self.versions.first()?.child(name);
        (self.is_shared(what) && first.is_set()).then(|| Field::at(path, first.value()))
    }

    /// Returns the value of a version if it is not shared.
    fn own(&self, version: &Field<'a>, what: Shared) -> Option<Field<'a>> {
        let (name, _) = what.names();
        Some(version.child(name)).filter(|it| it.is_set() && !self.is_shared(what))
    }

    /// Formats the versions as Go does.
    pub(super) fn shown_versions(&self) -> String {
        let hidden = Hidden {
            schema: self.is_shared(Shared::Schema),
            subresources: self.is_shared(Shared::Subresources),
            columns: self.is_shared(Shared::Columns),
            selectable: self.is_shared(Shared::Selectable),
        };
        if self.versions.is_empty() {
            return go_json_list(self.spec.child("versions").value());
        }
        let shown: Vec<String> =
            self.versions.iter().map(|version| go_json::version(version.value(), hidden)).collect();
        format!("[{}]", shown.join(","))
    }

    /// Returns whether any schema has a default.
    pub(super) fn has_defaults(&self) -> bool {
        self.versions
            .iter()
            .any(|version| has_default(version.child("schema").child("openAPIV3Schema").value()))
    }

    /// Checks a version, except for shared fields.
    pub(super) fn check_version(&self, version: &Field<'a>, faults: &mut Faults) {
        deprecation(version, faults);
        let has_status = if self.is_shared(Shared::Subresources) {
            self.shared(Shared::Subresources)
        } else {
            Some(version.child("subresources"))
        };
        let has_status = has_status.is_some_and(|it| it.child("status").is_set());
        let schema = self.own(version, Shared::Schema);
        if let Some(schema) = &schema {
            check_schema(&schema.child("openAPIV3Schema"), has_status, faults);
        }
        if let Some(subresources) = self.own(version, Shared::Subresources) {
            check_subresources(&subresources, faults);
        }
        if let Some(columns) = self.own(version, Shared::Columns) {
            check_columns(&columns, faults);
        }
        if let Some(selectable) = self.own(version, Shared::Selectable).filter(|it| !it.is_empty()) {
            match schema.map(|schema| schema.child("openAPIV3Schema")).filter(Field::is_set) {
                Some(schema) => check_selectable(&selectable, &schema, faults),
                None => faults.invalid_value(
                    &selectable,
                    "\"\"",
                    "may only be set when `version.schema.openAPIV3Schema` is not included",
                ),
            }
        }
    }

    /// Checks the shared fields.
    pub(super) fn check_shared(&self, faults: &mut Faults) {
        let has_status =
            self.versions.iter().any(|version| version.child("subresources").child("status").is_set());
        let schema = self.shared(Shared::Schema);
        if let Some(schema) = &schema {
            check_schema(&schema.child("openAPIV3Schema"), has_status, faults);
        }
        if let Some(subresources) = self.shared(Shared::Subresources) {
            check_subresources(&subresources, faults);
        }
        if let Some(columns) = self.shared(Shared::Columns) {
            check_columns(&columns, faults);
        }
        if let Some(selectable) = self.shared(Shared::Selectable).filter(|it| !it.is_empty()) {
            match schema.map(|schema| schema.child("openAPIV3Schema")) {
                Some(schema) => check_selectable(&selectable, &schema, faults),
                None => faults.invalid_value(
                    &selectable,
                    "\"\"",
                    "may only be set when validations.schema is included",
                ),
            }
        }
    }
}

fn go_json_list(value: &Value) -> String {
    if value.is_null() { "null".to_owned() } else { "[]".to_owned() }
}

fn has_default(schema: &Value) -> bool {
    match schema {
        Value::Object(fields) => {
            fields.get("default").is_some_and(|default| !default.is_null())
                || fields.iter().any(|(key, value)| match key.as_str() {
                    "properties" | "patternProperties" | "definitions" => {
                        value.as_object().into_iter().flatten().any(|(_, value)| has_default(value))
                    }
                    "default" | "enum" | "example" => false,
                    _ => has_default(value),
                })
        }
        Value::Array(items) => items.iter().any(has_default),
        _ => false,
    }
}

fn deprecation(version: &Field<'_>, faults: &mut Faults) {
    let warning = version.child("deprecationWarning");
    if !warning.is_set() {
        return;
    }
    let mut refuse = |why: &str| faults.invalid_value(&warning, json(warning.value()), why);
    if !version.child("deprecated").is_true() {
        refuse("can only be set for deprecated versions");
        return;
    }
    if warning.len() > 256 {
        refuse("must be <= 256 characters long");
    }
    if warning.is_empty() {
        refuse("must not be an empty string");
    }
    if let Some((at, _)) = warning.text().char_indices().find(|(_, c)| !is_printable(*c)) {
        let why = "must only contain printable UTF-8 characters; non-printable character found at index";
        refuse(&format!("{why} {at}"));
    }
}

fn check_schema(schema: &Field<'_>, has_status: bool, faults: &mut Faults) {
    let Some(fields) = schema.value().as_object() else { return };
    let start = faults.len();
    if has_status {
        for name in go_json::set_fields(fields) {
            let kind = schema.child("type");
            if name == "Type" && kind.text() != "object" {
                let why = "only \"object\" is allowed as the type at the root of the schema if the status subresource is enabled";
                faults.invalid(&kind, why);
                break;
            }
            if !AT_ROOT.contains(&name) {
                let why = format!(
                    "only [{}] fields are allowed at the root of the schema if the status subresource is enabled",
                    AT_ROOT.join(" ")
                );
                faults.invalid_value(schema, go_json::schema(schema.value()), &why);
                break;
            }
        }
    }
    if schema.child("nullable").is_true() {
        faults.forbidden(&schema.child("nullable"), "nullable cannot be true at the root");
    }
    let before = faults.len();
    let unsupported = structural::unsupported(schema.value());
    if unsupported.is_none() {
        structural::check(schema, faults);
        if faults.len() == before {
            defaults::check(schema, faults);
        }
    }
    open_api::check(schema, faults);
    if let (Some(why), true) = (unsupported, faults.len() == start) {
        faults.invalid_value(schema, "\"\"", &why);
    }
}

fn check_subresources(subresources: &Field<'_>, faults: &mut Faults) {
    let scale = subresources.child("scale");
    if !scale.is_set() {
        return;
    }
    for (name, prefix) in [("specReplicasPath", ".spec"), ("statusReplicasPath", ".status")] {
        let path = scale.child(name);
        if path.is_empty() {
            faults.required(&path, "");
        } else if is_simple_path(&path, faults) && !path.text().starts_with(&format!("{prefix}.")) {
            faults.invalid(&path, &format!("should be a json path under {prefix}"));
        }
    }
    let path = scale.child("labelSelectorPath");
    if !path.is_empty()
        && is_simple_path(&path, faults)
        && ![".spec.", ".status."].iter().any(|prefix| path.text().starts_with(prefix))
    {
        let shown = json(path.value());
        faults.invalid_value(&path, shown, "should be a json path under either .spec or .status");
    }
}

fn is_simple_path(path: &Field<'_>, faults: &mut Faults) -> bool {
    let is_simple = path.text().starts_with('.');
    if !is_simple {
        faults.invalid(path, "must be a simple json path starting with .");
    }
    is_simple
}

fn check_columns(columns: &Field<'_>, faults: &mut Faults) {
    const TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
    const FORMATS: [&str; 8] = ["byte", "date", "date-time", "double", "float", "int32", "int64", "password"];
    for column in columns.items() {
        if column.child("name").is_empty() {
            faults.required(&column.child("name"), "");
        }
        let (kind, format) = (column.child("type"), column.child("format"));
        let why = format!("must be one of {}", TYPES.join(","));
        if kind.is_empty() {
            faults.required(&kind, &why);
        } else if !TYPES.contains(&kind.text()) {
            faults.invalid(&kind, &why);
        }
        if !format.is_empty() && !FORMATS.contains(&format.text()) {
            faults.invalid(&format, &format!("must be one of {}", FORMATS.join(",")));
        }
        let path = column.child("jsonPath");
        let path = Field::at(column.path_of("JSONPath"), path.value());
        if path.is_empty() {
            faults.required(&path, "");
        } else {
            is_simple_path(&path, faults);
        }
    }
}

fn check_selectable(fields: &Field<'_>, schema: &Field<'_>, faults: &mut Faults) {
    let mut known = Vec::new();
    for field in fields.items() {
        let path = field.child("jsonPath");
        if path.is_empty() {
            faults.required(&path, "");
            continue;
        }
        match field_path::find(path.text(), schema, false) {
            Err(why) => faults.invalid(&path, &format!("is an invalid path: {why}")),
            Ok((plain, found)) => {
                if plain == "metadata" || plain.starts_with("metadata.") {
                    faults.invalid(&path, "must not point to fields in metadata");
                }
                if !matches!(found.child("type").text(), "string" | "boolean" | "integer") {
                    let why = "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.";
                    faults.invalid(&path, why);
                }
                if known.contains(&plain) {
                    faults.duplicate(&path);
                } else {
                    known.push(plain);
                }
            }
        }
    }
    if known.len() > SELECTABLE {
        let many = Value::from(vec![0; known.len()]);
        faults.too_many(&Field::at(fields.path(), &many), SELECTABLE);
    }
}
