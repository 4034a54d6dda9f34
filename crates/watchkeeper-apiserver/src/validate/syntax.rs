//! Syntax of names, keys, ports and variables, with kube-apiserver's messages.
//!
//! Each function returns the broken rules; none if the string is valid.

const PART_BYTES: usize = 63;

const QUALIFIED: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const SUBDOMAIN: &str = r"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const UNDERSCORED: &str = r"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*')";
const WILDCARD: &str = r"a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. '*.example.com', regex used for validation is '\*\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const LABEL_1035: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
const CONFIG_KEY: &str = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
const PERCENT: &str = "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')";
const HEADER: &str = "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')";
const VARIABLE: &str =
    "a valid environment variable name must consist only of printable ASCII characters other than '='";

/// The syntax of an object name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NameRule {
    /// RFC 1123, with dots: most kinds.
    Subdomain,
    /// RFC 1123, without dots: namespaces, services and stateful sets.
    Label,
    /// Anything that can be a path segment: roles.
    PathSegment,
    /// RFC 1123, with dots, and the limit in bytes: replication controllers.
    LongName,
}

impl NameRule {
    /// Checks a name.
    pub(crate) fn faults(self, name: &str) -> Vec<String> {
        match self {
            Self::Subdomain => subdomain(name),
            Self::Label => label(name),
            Self::PathSegment => path_segment(name),
            Self::LongName => limited_to("bytes", name, 253, name.split('.').all(is_label), SUBDOMAIN),
        }
    }

    /// Checks a `generateName`. Its end is not checked, since a random suffix follows.
    pub(crate) fn prefix_faults(self, prefix: &str) -> Vec<String> {
        match (self, prefix.strip_suffix('-')) {
            // Like kube-apiserver, ignore the last two characters.
            (Self::Subdomain | Self::Label | Self::LongName, Some(rest)) if !rest.is_empty() => {
                let end = (0..rest.len()).rev().find(|at| rest.is_char_boundary(*at)).unwrap_or_default();
                self.faults(&format!("{}a", &rest[..end]))
            }
            _ => self.faults(prefix),
        }
    }
}

/// Checks a DNS subdomain.
pub(crate) fn subdomain(text: &str) -> Vec<String> {
    limited(text, 253, text.split('.').all(is_label), SUBDOMAIN)
}

/// Checks a DNS subdomain with underscores, as in a resolver's search list.
pub(crate) fn underscored_subdomain(text: &str) -> Vec<String> {
    let is_part = |part: &str| {
        let part = part.strip_prefix('_').unwrap_or(part);
        !part.is_empty()
            && part.starts_with(is_low)
            && part.ends_with(is_low)
            && part.chars().all(|c| is_low(c) || matches!(c, '-' | '_'))
    };
    limited(text, 253, text.split('.').all(is_part), UNDERSCORED)
}

/// Checks a DNS subdomain after `*.`.
pub(crate) fn wildcard(text: &str) -> Vec<String> {
    let is_well_formed = text.strip_prefix("*.").is_some_and(|rest| rest.split('.').all(is_label));
    limited(text, 253, is_well_formed, WILDCARD)
}

/// Checks a DNS label.
pub(crate) fn label(text: &str) -> Vec<String> {
    let why = if text.split('.').all(is_label) { "must not contain dots" } else { LABEL };
    limited(text, PART_BYTES, is_label(text), why)
}

/// Checks a DNS label that begins with a letter.
pub(crate) fn label_1035(text: &str) -> Vec<String> {
    let is_well_formed = is_label(text) && text.starts_with(|c: char| c.is_ascii_lowercase());
    limited(text, PART_BYTES, is_well_formed, LABEL_1035)
}

/// Checks a path segment.
pub(crate) fn path_segment(text: &str) -> Vec<String> {
    if matches!(text, "." | "..") {
        return vec![format!("may not be '{text}'")];
    }
    let found = ["/", "%"].into_iter().filter(|part| text.contains(part));
    found.map(|part| format!("may not contain '{part}'")).collect()
}

/// Checks the key of a label: a name with an optional domain prefix.
pub(crate) fn qualified_name(key: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let name = match key.split_once('/') {
        None => key,
        Some((_, name)) if name.contains('/') => {
            return vec![format!(
                "a valid label key {QUALIFIED} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
            )];
        }
        Some(("", name)) => {
            faults.push("prefix part must be non-empty".to_owned());
            name
        }
        Some((domain, name)) => {
            // This message gives the limit in bytes, that of object names in characters.
            let found = limited_to("bytes", domain, 253, domain.split('.').all(is_label), SUBDOMAIN);
            faults.extend(found.iter().map(|why| format!("prefix part {why}")));
            name
        }
    };
    if name.is_empty() {
        faults.push("name part must be non-empty".to_owned());
    } else if name.len() > PART_BYTES {
        faults.push(format!("name part must be no more than {PART_BYTES} bytes"));
    }
    if !is_name(name) {
        faults.push(format!("name part {QUALIFIED}"));
    }
    faults
}

/// Checks the value of a label.
pub(crate) fn label_value(value: &str) -> Vec<String> {
    limited_to("bytes", value, PART_BYTES, value.is_empty() || is_name(value), VALUE)
}

/// Checks a key of a config map or a secret.
pub(crate) fn config_key(text: &str) -> Vec<String> {
    let is_well_formed =
        !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_'));
    let mut faults = limited(text, 253, is_well_formed, CONFIG_KEY);
    match text {
        "." => faults.push("must not be '.'".to_owned()),
        ".." => faults.push("must not be '..'".to_owned()),
        text if text.starts_with("..") => faults.push("must not start with '..'".to_owned()),
        _ => {}
    }
    faults
}

/// Checks the name of an environment variable.
pub(crate) fn variable(text: &str) -> Vec<String> {
    if text.is_empty() {
        return vec!["environment variable name must be non-empty".to_owned()];
    }
    if text.chars().all(|c| (' '..='~').contains(&c) && c != '=') {
        Vec::new()
    } else {
        vec![VARIABLE.to_owned()]
    }
}

/// Checks the name of a port.
pub(crate) fn port_name(text: &str) -> Vec<String> {
    let mut faults = Vec::new();
    if text.len() > 15 {
        faults.push("must be no more than 15 characters".to_owned());
    }
    let mut refuse = |is_broken: bool, why: &str| faults.extend(is_broken.then(|| why.to_owned()));
    refuse(
        text.is_empty() || !text.chars().all(|c| is_low(c) || c == '-'),
        "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)",
    );
    refuse(!text.contains(|c: char| c.is_ascii_lowercase()), "must contain at least one letter (a-z)");
    refuse(text.contains("--"), "must not contain consecutive hyphens");
    refuse(text.starts_with('-') || text.ends_with('-'), "must not begin or end with a hyphen");
    faults
}

/// Checks the number of a port.
pub(crate) fn port_number(number: i64) -> Vec<String> {
    in_range(number, 1, 65535)
}

/// Checks that a number is in a range, both ends included.
pub(crate) fn in_range(number: i64, least: i64, most: i64) -> Vec<String> {
    if (least..=most).contains(&number) {
        Vec::new()
    } else {
        vec![format!("must be between {least} and {most}, inclusive")]
    }
}

/// Checks a percentage: `25%`.
pub(crate) fn percent(text: &str) -> Vec<String> {
    let is_digits = |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if text.strip_suffix('%').is_some_and(is_digits) { Vec::new() } else { vec![PERCENT.to_owned()] }
}

/// Checks the name of an HTTP header.
pub(crate) fn header(text: &str) -> Vec<String> {
    if !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-') {
        Vec::new()
    } else {
        vec![HEADER.to_owned()]
    }
}

fn limited(text: &str, limit: usize, is_well_formed: bool, why: &str) -> Vec<String> {
    limited_to("characters", text, limit, is_well_formed, why)
}

fn limited_to(units: &str, text: &str, limit: usize, is_well_formed: bool, why: &str) -> Vec<String> {
    let mut faults = Vec::new();
    if text.len() > limit {
        faults.push(format!("must be no more than {limit} {units}"));
    }
    if !is_well_formed {
        faults.push(why.to_owned());
    }
    faults
}

fn is_low(c: char) -> bool {
    c.is_ascii_lowercase() || c.is_ascii_digit()
}

fn is_label(text: &str) -> bool {
    text.starts_with(is_low) && text.ends_with(is_low) && text.chars().all(|c| is_low(c) || c == '-')
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
        assert_eq!(NameRule::Label.faults("a.b"), ["must not contain dots"]);
        assert_eq!(NameRule::Label.prefix_faults("web-"), [""; 0]);
        assert_eq!(NameRule::Label.prefix_faults("-").len(), 1);
    }

    #[test]
    fn keys_and_values_of_labels_follow_their_rules() {
        for key in ["a", "A_b.c-d", "example.com/a", "1"] {
            assert_eq!(qualified_name(key), [""; 0], "{key}");
        }
        for key in ["-a", "a/b/c", "/a", "Example.com/a", "a b", "ä"] {
            assert_eq!(qualified_name(key).len(), 1, "{key}");
        }
        assert_eq!(qualified_name("").len(), 2);
        assert_eq!(qualified_name(&"a".repeat(64)), ["name part must be no more than 63 bytes"]);
        assert_eq!(label_value(""), [""; 0]);
        assert_eq!(label_value("no!"), [VALUE]);
    }

    #[test]
    fn ports_and_variables_follow_their_rules() {
        assert_eq!(port_name("http-1"), [""; 0]);
        assert_eq!(port_name("").len(), 2);
        assert_eq!(port_name("80"), ["must contain at least one letter (a-z)"]);
        assert_eq!(port_name("a--b"), ["must not contain consecutive hyphens"]);
        assert_eq!(port_number(0), ["must be between 1 and 65535, inclusive"]);
        assert_eq!(variable("a b.c"), [""; 0]);
        assert_eq!(variable("a=b"), [VARIABLE]);
        assert_eq!(config_key("..a"), ["must not start with '..'"]);
        assert_eq!(percent("25%"), [""; 0]);
        assert_eq!(percent("%"), [PERCENT]);
    }
}
