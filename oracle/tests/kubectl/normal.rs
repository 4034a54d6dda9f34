//! Normal form: replaces output that differs between any two servers with placeholders.
//!
//! These are ages, times, UIDs, versions, addresses, tokens, generated suffixes, and the widths of columns with one
//! of them.

/// Headers of columns whose width may differ between servers.
const HEADERS: [&str; 5] = ["AGE", "Age ", "CLUSTER-IP", "LAST SEEN", "SUSPEND"];

/// Returns the normal form of a line.
pub(crate) fn normalize(line: &str) -> String {
    let mut text = String::new();
    let mut rest = line;
    while let Some(letter) = rest.chars().next() {
        let inside = text.chars().next_back().is_some_and(|letter| letter.is_ascii_alphanumeric());
        let is_input = text.ends_with('=') || text.ends_with(" for "); // a duration from the script, not an age
        let found = RULES
            .iter()
            .filter(|_| !inside)
            .filter(|(name, _)| !(is_input && *name == "<age>"))
            .find_map(|(name, rule)| rule(rest).map(|length| (*name, length)));
        match found {
            Some((name, length)) => {
                text.push_str(name);
                rest = &rest[length..];
            }
            None => {
                text.push(letter);
                rest = &rest[letter.len_utf8()..];
            }
        }
    }
    for prefix in ["Resource Version:", "Expected resource version to be 1, was", "999999999, current:"] {
        if let Some((before, _)) = text.split_once(prefix) {
            text = format!("{before}{prefix} <resourceVersion>");
        }
    }
    for field in
        ["resourceVersion", "gitCommit", "buildDate", "goVersion", "platform", "gitVersion", "compiler"]
    {
        text = without_value(&text, field);
    }
    if text.contains("<age>")
        || text.contains("<ip>")
        || HEADERS.iter().any(|header| text.contains(header))
        || is_rule(&text)
    {
        text = narrow(&text);
    }
    text
}

/// Removes the descriptions from the output of `explain`. Our server has none, and we do not copy them into the
/// transcripts.
pub(crate) fn without_descriptions(printed: &str) -> String {
    let Some((before, after)) = printed.split_once("\nDESCRIPTION:\n") else { return printed.to_owned() };
    let fields = after.split_once("FIELDS:\n").map_or("", |(_, fields)| fields);
    let named = fields.lines().filter(|line| line.contains('\t'));
    named.fold(format!("{before}\n"), |printed, line| format!("{printed}{line}\n"))
}

/// Returns the length of the match at the start of a text.
type Rule = fn(&str) -> Option<usize>;

const RULES: &[(&str, Rule)] = &[
    ("<uid>", |text| shape(text, "hhhhhhhh-hhhh-hhhh-hhhh-hhhhhhhhhhhh")),
    ("<time>", |text| {
        let length = shape(text, "dddd-dd-ddTdd:dd:dd")?;
        let fraction = &text[length..];
        let fraction = fraction.len()
            - fraction.trim_start_matches(|letter: char| letter == '.' || letter.is_ascii_digit()).len();
        text[length + fraction..].starts_with('Z').then_some(length + fraction + 1)
    }),
    ("<time>", |text| {
        let length = shape(text, "dddd-dd-dd dd:dd:dd")?;
        let end = text.find(" +0000").filter(|end| *end >= length)?;
        Some(end + " +0000".len())
    }),
    ("<time>", |text| shape(text, "aaa, dd aaa dddd dd:dd:dd +dddd")),
    ("<age>", age),
    ("<server>", |text| digits(text, "127.0.0.1:")),
    ("<server>", |text| digits(text, "localhost:")),
    ("<ip>", |text| digits(text, "10.0.0.")),
    ("<port>", |text| shape(text, "3dddd/").map(|length| length - 1)),
    ("LIVE-<n>", |text| digits(text, "LIVE-")),
    ("MERGED-<n>", |text| digits(text, "MERGED-")),
    ("generated-<suffix>", |text| {
        shape(text.strip_prefix("generated-")?, "nnnnn").map(|length| length + "generated-".len())
    }),
    ("<token>", |text| text.starts_with("eyJ").then(|| text.find([' ', '"']).unwrap_or(text.len()))),
    ("v1.37.1", |text| text.starts_with("v1.37.1+watchkeeper").then_some("v1.37.1+watchkeeper".len())),
    ("admin", |text| text.starts_with("kubernetes-admin").then_some("kubernetes-admin".len())),
];

/// Matches a pattern at the start of a text, and returns its length. `a` is a letter, `d` a digit, `h` a hexadecimal
/// digit, `n` a lower-case letter or digit; other characters match themselves.
fn shape(text: &str, shape: &str) -> Option<usize> {
    let mut letters = text.chars();
    shape
        .chars()
        .all(|expected| {
            letters.next().is_some_and(|letter| match expected {
                'a' => letter.is_ascii_alphabetic(),
                'd' => letter.is_ascii_digit(),
                'h' => letter.is_ascii_hexdigit(),
                'n' => letter.is_ascii_lowercase() || letter.is_ascii_digit(),
                other => letter == other,
            })
        })
        .then_some(shape.len())
}

/// Matches a prefix and the digits after it, and returns their length.
fn digits(text: &str, prefix: &str) -> Option<usize> {
    let rest = text.strip_prefix(prefix)?;
    let count = rest.len() - rest.trim_start_matches(|letter: char| letter.is_ascii_digit()).len();
    (count > 0).then_some(prefix.len() + count)
}

/// Matches an age such as `7s`, `2m5s`, `3m` or `317d`. Other durations in the scripts are `10m` or `1000s` or more.
fn age(text: &str) -> Option<usize> {
    let mut groups = Vec::new();
    let mut rest = text;
    while let Some(number) = digits(rest, "") {
        let unit = rest[number..].chars().next().filter(|unit| "ydhms".contains(*unit))?;
        groups.push((number, unit));
        rest = &rest[number + 1..];
    }
    let is_other = match groups[..] {
        [] => true,
        [(number, 'm')] => number > 1,
        [(number, 's')] => number > 3,
        _ => false,
    };
    let ends = !rest.starts_with(|letter: char| letter.is_ascii_alphanumeric());
    (ends && !is_other).then_some(text.len() - rest.len())
}

/// Replaces `field: "7"` with `field: <field>`.
fn without_value(text: &str, field: &str) -> String {
    let in_json = format!("\"{field}\": \"");
    if let Some((before, after)) = text.split_once(&in_json) {
        let after = after.split_once('"').map_or("", |(_, after)| after);
        return format!("{before}{in_json}<{field}>\"{after}");
    }
    let in_yaml = format!("{field}: ");
    match text.split_once(&in_yaml) {
        Some((before, _)) if before.trim().is_empty() => format!("{before}{in_yaml}<{field}>"),
        _ => text.to_owned(),
    }
}

/// Returns whether a line consists of the dashes below a table header.
fn is_rule(text: &str) -> bool {
    text.contains("--  ") && text.chars().all(|letter| matches!(letter, '-' | ' '))
}

/// Sets the columns three spaces apart.
fn narrow(text: &str) -> String {
    let indented = text.len() - text.trim_start().len();
    let cells: Vec<&str> =
        text[indented..].split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
    format!("{}{}", &text[..indented], cells.join("   "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varying_values_become_placeholders() {
        for (line, expected) in [
            ("pod/a   1/1     Running   0          2m5s", "pod/a   1/1   Running   0   <age>"),
            ("NAME    READY   AGE", "NAME   READY   AGE"),
            ("  ----    ------     ----", "  ----   ------   ----"),
            ("  uid: 0f8fad5b-d9cb-469f-a165-70867728950e", "  uid: <uid>"),
            ("creationTimestamp: \"2026-01-02T03:04:05Z\"", "creationTimestamp: \"<time>\""),
            ("Start:  Fri, 02 Jan 2026 03:04:05 +0000", "Start:  <time>"),
            ("  resourceVersion: \"17\"", "  resourceVersion: <resourceVersion>"),
            ("317d        Normal", "<age>   Normal"),
            ("\"resourceVersion\": \"17\",", "\"resourceVersion\": \"<resourceVersion>\","),
            ("    Resource Version:    17", "    Resource Version: <resourceVersion>"),
            ("running at https://127.0.0.1:6443", "running at https://<server>"),
            ("80:31234/TCP", "80:<port>/TCP"),
            ("configmap/generated-x7k2p created", "configmap/generated-<suffix> created"),
            ("cpu: 500m, delay=0s, for 300s, 10s-old", "cpu: 500m, delay=0s, for 300s, <age>-old"),
        ] {
            assert_eq!(normalize(line), expected);
        }
    }
}
