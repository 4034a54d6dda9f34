//! Output format: the value of `-o`.

use std::{fs, io};

use watchkeeper_wire::json_path::Template;

use super::columns::CustomColumns;
use crate::failure::Failure;

/// An output format.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Format {
    /// A table; `wide` includes all columns.
    Table {
        wide: bool,
    },
    Json,
    Yaml,
    /// `deployment.apps/web`.
    Name,
    /// A template with values of the object.
    JsonPath(Template),
    /// The values as JSON.
    JsonPathAsJson(Template),
    CustomColumns(CustomColumns),
}

/// The allowed formats, as kubectl lists them in its error message.
const KNOWN: &str =
    "custom-columns,custom-columns-file,json,jsonpath,jsonpath-as-json,jsonpath-file,name,wide,yaml";
const OBJECTS: &str = "json,jsonpath,jsonpath-as-json,jsonpath-file,name,yaml";

impl Format {
    /// Parses the value of `-o`.
    ///
    /// # Errors
    /// If the format is unknown, or its file or template is invalid.
    pub(crate) fn parse(text: &str) -> Result<Self, Failure> {
        Self::find(text)?.ok_or_else(|| unmatched(text, KNOWN))
    }

    /// Parses the value of `-o` for a command without column formats.
    ///
    /// # Errors
    /// As [`parse`](Self::parse), and for column formats.
    pub(crate) fn parse_objects(text: &str) -> Result<Self, Failure> {
        let columns = text.starts_with("custom-columns") || text == "wide";
        let format = if columns { None } else { Self::find(text)? };
        format.ok_or_else(|| unmatched(text, OBJECTS))
    }

    fn find(text: &str) -> Result<Option<Self>, Failure> {
        let (name, value) = text.split_once('=').unwrap_or((text, ""));
        let format = match (name, value) {
            ("", _) if text.is_empty() => Ok(Self::Table { wide: false }),
            ("wide", _) if text == "wide" => Ok(Self::Table { wide: true }),
            _ if text.eq_ignore_ascii_case("json") => Ok(Self::Json),
            _ if text.eq_ignore_ascii_case("yaml") => Ok(Self::Yaml),
            _ if text.eq_ignore_ascii_case("name") => Ok(Self::Name),
            ("jsonpath" | "jsonpath-file" | "jsonpath-as-json", "") => {
                Err(Failure::error("template format specified but no template given"))
            }
            ("jsonpath", value) => Ok(Self::JsonPath(template(value)?)),
            ("jsonpath-as-json", value) => Ok(Self::JsonPathAsJson(template(value)?)),
            ("jsonpath-file", file) => {
                let text = read(file);
                let text = text
                    .map_err(|error| Failure::error(format!("error reading --template {file}, {error}")))?;
                Ok(Self::JsonPath(template(&text)?))
            }
            ("custom-columns", value) => Ok(Self::CustomColumns(CustomColumns::parse(value)?)),
            ("custom-columns-file", file) if !file.is_empty() => {
                let text = read(file);
                let text =
                    text.map_err(|error| Failure::error(format!("error reading template {file}, {error}")))?;
                Ok(Self::CustomColumns(CustomColumns::parse_file(&text)?))
            }
            ("custom-columns-file", _) => CustomColumns::parse("").map(Self::CustomColumns),
            _ => return Ok(None),
        };
        format.map(Some)
    }

    /// Returns whether tables are requested from the server instead of objects.
    pub(crate) fn is_table(&self) -> bool {
        matches!(self, Self::Table { .. })
    }
}

fn unmatched(text: &str, known: &str) -> Failure {
    Failure::error(format!(
        "unable to match a printer suitable for the output format {text:?}, allowed formats are: {known}"
    ))
}

/// Reads a file; an error has Go's wording.
fn read(file: &str) -> Result<String, String> {
    fs::read_to_string(file).map_err(|error| {
        let call = if error.kind() == io::ErrorKind::IsADirectory { "read" } else { "open" };
        let why = error.to_string();
        let why = why.split(" (os error").next().unwrap_or_default();
        let (first, rest) = why.split_at(why.chars().next().map_or(0, char::len_utf8));
        format!("{call} {file}: {}{rest}", first.to_lowercase())
    })
}

fn template(text: &str) -> Result<Template, Failure> {
    text.parse().map_err(|error| Failure::error(format!("error parsing jsonpath {text}, {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_parsed() {
        assert_eq!(Format::parse("").unwrap(), Format::Table { wide: false });
        assert_eq!(Format::parse("wide").unwrap(), Format::Table { wide: true });
        assert_eq!(
            (Format::parse("JSON").unwrap(), Format::parse("name").unwrap()),
            (Format::Json, Format::Name)
        );
        assert!(matches!(Format::parse("jsonpath={.a=\"b\"}").unwrap(), Format::JsonPath(_)));
        assert!(matches!(Format::parse("custom-columns=A:.a").unwrap(), Format::CustomColumns(_)));
        let refused = |text: &str| Format::parse(text).unwrap_err().to_string();
        assert_eq!(
            refused("xml"),
            format!(
                "error: unable to match a printer suitable for the output format \"xml\", allowed formats are: {KNOWN}"
            )
        );
        assert!(refused("json=x").contains("unable to match"));
        for columns in ["wide", "custom-columns", "custom-columns=A:.a", "xml"] {
            let refused = Format::parse_objects(columns).unwrap_err().to_string();
            assert!(refused.ends_with(&format!("allowed formats are: {OBJECTS}")), "{refused}");
        }
        assert_eq!(Format::parse_objects("yaml").unwrap(), Format::Yaml);
        assert_eq!(refused("jsonpath="), "error: template format specified but no template given");
        assert_eq!(
            refused("jsonpath-file=no-such-file"),
            "error: error reading --template no-such-file, open no-such-file: no such file or directory"
        );
        assert_eq!(
            refused("custom-columns-file=/"),
            "error: error reading template /, read /: is a directory"
        );
        assert!(refused("jsonpath={.a[").starts_with("error: error parsing jsonpath {.a[, "));
    }
}
