//! Names: which ones objects may have, and how they are made up.

use crate::http::random_token;
use crate::registry::Resource;
use watchkeeper_core::{CauseType, Status, StatusCause};

use super::draft::Draft;
use super::refusal::{fault, invalid_value, no_randomness};
use super::strategy;

/// Letters and digits that do not make words, nor look like each other.
const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
const RANDOM_CHARACTERS: usize = 5;
/// With what is random, a name is no longer than a label may be.
const PREFIX_BYTES: usize = 63 - RANDOM_CHARACTERS;

/// A rule that names follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NameRule {
    /// RFC 1123, with dots: most kinds.
    Subdomain,
    /// RFC 1123, without dots: namespaces and services.
    Label,
    /// Whatever stands in a path: roles.
    PathSegment,
}

const SUBDOMAIN: &str = r"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";

impl NameRule {
    /// What is wrong with a name, in the words of the real server.
    pub(super) fn faults(self, name: &str) -> Vec<String> {
        let (limit, is_well_formed, text) = match self {
            Self::Subdomain => (253, name.split('.').all(is_label), SUBDOMAIN),
            Self::Label => (63, is_label(name), LABEL),
            Self::PathSegment => return path_segment_faults(name),
        };
        let mut faults = Vec::new();
        if name.len() > limit {
            faults.push(format!("must be no more than {limit} characters"));
        }
        if !is_well_formed {
            faults.push(text.to_owned());
        }
        faults
    }
}

fn is_label(text: &str) -> bool {
    let is_inner = |byte: u8| byte == b'-' || is_outer(byte);
    match text.as_bytes() {
        [] => false,
        bytes @ [first, .., last] => {
            is_outer(*first) && is_outer(*last) && bytes.iter().copied().all(is_inner)
        }
        [only] => is_outer(*only),
    }
}

fn is_outer(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

fn path_segment_faults(name: &str) -> Vec<String> {
    if matches!(name, "." | "..") {
        return vec![format!("may not be '{name}'")];
    }
    let found = ["/", "%"].into_iter().filter(|part| name.contains(part));
    found.map(|part| format!("may not contain '{part}'")).collect()
}

/// What is wrong with the names in the metadata of a new object.
pub(super) fn name_faults(resource: &Resource, draft: &Draft) -> Vec<StatusCause> {
    let rule = strategy::name_rule(resource);
    let (name, prefix) = (draft.text("name"), draft.text("generateName"));
    let mut faults = Vec::new();
    // A prefix may end as no name may: the random part comes after it.
    let masked = prefix.strip_suffix('-').map(|rest| format!("{rest}a"));
    if !prefix.is_empty() {
        let found = rule.faults(masked.as_deref().unwrap_or(prefix));
        faults.extend(found.iter().map(|why| invalid_value("metadata.generateName", prefix, why)));
    }
    if name.is_empty() {
        let message = "Required value: name or generateName is required";
        faults.push(fault(CauseType::FieldValueRequired, "metadata.name", message));
    } else {
        faults.extend(rule.faults(name).iter().map(|why| invalid_value("metadata.name", name, why)));
    }
    faults
}

/// A name that begins with a prefix.
pub(super) fn generate(prefix: &str) -> Result<String, Status> {
    let token = random_token().map_err(no_randomness)?;
    let end = (0..=PREFIX_BYTES.min(prefix.len())).rev().find(|at| prefix.is_char_boundary(*at));
    let mut name = prefix[..end.unwrap_or_default()].to_owned();
    // Four hexadecimal digits for each character: the bias is below a thousandth.
    for digits in token.as_bytes().chunks(4).take(RANDOM_CHARACTERS) {
        let number =
            digits.iter().fold(0, |sum, digit| sum * 16 + char::from(*digit).to_digit(16).unwrap_or(0));
        name.push(char::from(ALPHABET[number as usize % ALPHABET.len()]));
    }
    Ok(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_the_rule_of_their_kind() {
        let table = [
            (NameRule::Subdomain, ["a", "a.b-c.9", "1"], ["", "A", "a..b"]),
            (NameRule::Label, ["a", "a-b", "1a"], ["a.b", "-a", "a-"]),
            (NameRule::PathSegment, ["system:node", "A b", ".a"], ["..", "a/b", "a%b"]),
        ];
        for (rule, good, bad) in table {
            for name in good {
                assert_eq!(rule.faults(name), [""; 0], "{rule:?} {name}");
            }
            for name in bad {
                assert_eq!(rule.faults(name).len(), 1, "{rule:?} {name}");
            }
        }
        assert_eq!(NameRule::Label.faults(&"a".repeat(64)), ["must be no more than 63 characters"]);
    }

    #[test]
    fn a_generated_name_is_the_prefix_and_five_characters_and_fits_a_label() {
        let name = generate("web-").unwrap();
        let random = name.strip_prefix("web-").unwrap();
        assert!(random.len() == 5 && random.bytes().all(|byte| ALPHABET.contains(&byte)), "{name}");
        assert_eq!(generate(&"a".repeat(300)).unwrap().len(), 63);
        assert!(generate(&"ä".repeat(300)).unwrap().len() <= 63);
    }
}
