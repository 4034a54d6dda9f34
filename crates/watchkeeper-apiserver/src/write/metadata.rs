//! Metadata: the rules for labels, annotations and finalizers, in the words of the real server.

use serde_json::Value;
use watchkeeper_core::{CauseType, StatusCause};

use super::draft::Draft;
use super::name::NameRule;
use super::refusal::{fault, invalid_value};

const PART_BYTES: usize = 63;
/// What all annotations of an object may have together.
const ANNOTATION_BYTES: usize = 256 << 10;

const NAME: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

/// What is wrong with the metadata of an object, new or not.
pub(super) fn metadata_faults(draft: &Draft) -> Vec<StatusCause> {
    let mut faults = Vec::new();
    let (mut add, labels, annotations) = (
        |field: &str, value: &str, found: Vec<String>| {
            faults.extend(found.iter().map(|why| invalid_value(field, value, why)));
        },
        pairs(draft, "labels"),
        pairs(draft, "annotations"),
    );
    for (key, value) in labels {
        add("metadata.labels", key, key_faults(key));
        add("metadata.labels", value, value_faults(value));
    }
    let mut bytes = 0;
    for (key, value) in annotations {
        bytes += key.len() + value.len();
        add("metadata.annotations", key, key_faults(&key.to_lowercase()));
    }
    if bytes > ANNOTATION_BYTES {
        let message = format!("Too long: may not be more than {ANNOTATION_BYTES} bytes");
        faults.push(fault(CauseType::FieldValueTooLong, "metadata.annotations", message));
    }
    for finalizer in draft.finalizers() {
        let found = key_faults(finalizer);
        faults.extend(found.iter().map(|why| invalid_value("metadata.finalizers", finalizer, why)));
    }
    faults
}

/// What is wrong with the finalizers of a new object: other people's say whose they are.
pub(super) fn finalizer_faults(draft: &Draft) -> Vec<StatusCause> {
    let is_strange =
        |name: &str| !name.contains('/') && !matches!(name, "kubernetes" | "orphan" | "foregroundDeletion");
    let strange = draft.finalizers().into_iter().enumerate().filter(|(_, name)| is_strange(name));
    let why = "name is neither a standard finalizer name nor is it fully qualified";
    strange.map(|(at, name)| invalid_value(&format!("metadata.finalizers[{at}]"), name, why)).collect()
}

fn pairs<'a>(draft: &'a Draft, name: &str) -> impl Iterator<Item = (&'a str, &'a str)> {
    let pairs = draft.meta(name).and_then(Value::as_object).into_iter().flatten();
    pairs.map(|(key, value)| (key.as_str(), value.as_str().unwrap_or_default()))
}

/// What is wrong with the key of a label: a name, and perhaps a domain before it.
fn key_faults(key: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let name = match key.split_once('/') {
        None => key,
        Some((_, name)) if name.contains('/') => {
            return vec![format!(
                "a qualified name {NAME} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
            )];
        }
        Some(("", name)) => {
            faults.push("prefix part must be non-empty".to_owned());
            name
        }
        Some((domain, name)) => {
            let found = NameRule::Subdomain.faults(domain);
            faults.extend(found.iter().map(|why| format!("prefix part {why}")));
            name
        }
    };
    if name.is_empty() {
        faults.push("name part must be non-empty".to_owned());
    } else if name.len() > PART_BYTES {
        faults.push(format!("name part must be no more than {PART_BYTES} characters"));
    }
    if !is_name(name) {
        faults.push(format!("name part {NAME}"));
    }
    faults
}

fn value_faults(value: &str) -> Vec<String> {
    let mut faults = Vec::new();
    if value.len() > PART_BYTES {
        faults.push(format!("must be no more than {PART_BYTES} characters"));
    }
    if !value.is_empty() && !is_name(value) {
        faults.push(VALUE.to_owned());
    }
    faults
}

fn is_name(text: &str) -> bool {
    let is_outer = |c: char| c.is_ascii_alphanumeric();
    text.starts_with(is_outer)
        && text.ends_with(is_outer)
        && text.chars().all(|c| is_outer(c) || matches!(c, '-' | '_' | '.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_values_of_labels_follow_their_rules() {
        for key in ["a", "A_b.c-d", "example.com/a", "1"] {
            assert_eq!(key_faults(key), [""; 0], "{key}");
        }
        for key in ["-a", "a/b/c", "/a", "Example.com/a", "a b", "ä"] {
            assert_eq!(key_faults(key).len(), 1, "{key}");
        }
        assert_eq!(key_faults("").len(), 2);
        assert_eq!(key_faults(&"a".repeat(64)), ["name part must be no more than 63 characters"]);
        assert_eq!(value_faults(""), [""; 0]);
        assert_eq!(value_faults("no!"), [VALUE]);
    }
}
