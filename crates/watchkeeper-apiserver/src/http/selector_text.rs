//! Selector errors in kube-apiserver's words.
//!
//! Converts the errors of watchkeeper-core's parsers into Kubernetes', which name what was found and what was
//! expected.

use watchkeeper_core::{RequirementError, SelectorError, SelectorProblem};

use watchkeeper_core::Quoted;

const NAME_FORM: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const VALUE_FORM: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const PREFIX_FORM: &str = "prefix part a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const QUALIFIED_FORM: &str = "a qualified name must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";

/// Describes an error in a label selector.
pub(super) fn of_labels(text: &str, error: &SelectorError) -> String {
    match &error.problem {
        SelectorProblem::Unexpected { found, expected } => {
            let found = found.as_deref().unwrap_or_default();
            let after_comma = text.get(..error.at).is_some_and(|before| before.trim_end().ends_with(','));
            let (within, comma, expected) = match *expected {
                "\",\" or end of input" => (false, true, "',' or 'end of string'"),
                "a label key or \"!\"" if after_comma => (false, true, "identifier after ','"),
                "a label key or \"!\"" => (false, true, "!, identifier, or 'end of string'"),
                "a label key" | "a value" => (true, true, "identifier"),
                "\"(\"" => (true, false, "'('"),
                "\",\" or \")\"" => (true, true, "',' or ')'"),
                "a value, \",\" or \")\"" if after_comma => (true, true, "',', or identifier"),
                "a value, \",\" or \")\"" => (true, true, "',', ')' or identifier"),
                _ => (true, true, "in, notin, =, ==, !=, gt, lt"),
            };
            let prefix = if within { "unable to parse requirement: " } else { "" };
            let comma = if comma { "," } else { "" };
            format!("{prefix}found '{found}'{comma} expected: {expected}")
        }
        SelectorProblem::Requirement(error) => {
            format!("unable to parse requirement: {}", of_requirement(error))
        }
        other => other.to_string(),
    }
}

fn of_requirement(error: &RequirementError) -> String {
    match error {
        RequirementError::Key { key, rule } => {
            let detail = match *rule {
                rule if rule.contains("slash") => QUALIFIED_FORM,
                rule if rule.contains("prefix") => PREFIX_FORM,
                rule if rule.contains("1 to 63") && key.rsplit('/').next() == Some("") => {
                    "name part must be non-empty"
                }
                rule if rule.contains("1 to 63") => "name part must be no more than 63 bytes",
                _ => NAME_FORM,
            };
            format!("<nil>: Invalid value: {}: {detail}", Quoted(key))
        }
        RequirementError::Value { key, value, rule } => {
            let (at, detail) = match *rule {
                rule if rule.contains("integer") => {
                    (String::new(), "for 'Gt', 'Lt' operators, the value must be an integer")
                }
                rule if rule.contains("at most 63") => (format!("[{key}]"), "must be no more than 63 bytes"),
                _ => (format!("[{key}]"), VALUE_FORM),
            };
            format!("values[0]{at}: Invalid value: {}: {detail}", Quoted(value))
        }
        other => other.to_string(),
    }
}

/// Describes an error in a field selector.
pub(super) fn of_fields(text: &str, error: &SelectorError) -> String {
    match &error.problem {
        SelectorProblem::Unexpected { found, expected } if expected.starts_with("a field") => {
            let found = found.as_deref().unwrap_or_default();
            format!("invalid selector: '{text}'; can't understand '{found}'")
        }
        SelectorProblem::Unexpected { found, expected } if expected.starts_with("one of") => {
            let found = found.as_deref().unwrap_or_default();
            format!("invalid field selector: invalid escape sequence: {found}")
        }
        SelectorProblem::Unexpected { found, .. } => {
            let code = found.as_deref().and_then(|found| found.chars().next()).map_or(0, u32::from);
            format!("invalid field selector: unescaped character in value: {code}")
        }
        other => other.to_string(),
    }
}
