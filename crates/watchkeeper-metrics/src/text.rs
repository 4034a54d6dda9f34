//! Text: the exposition format of Prometheus, version 0.0.4.

/// The part of a line before the value.
pub(crate) struct Sample<'a> {
    pub(crate) name: &'a str,
    pub(crate) suffix: &'a str,
    /// Formatted by [`labels`].
    pub(crate) labels: &'a str,
    /// Upper bound of a bucket.
    pub(crate) bound: Option<f64>,
}

/// Appends `# HELP` and `# TYPE`.
pub(crate) fn head(out: &mut String, name: &str, help: &str, kind: &str) {
    let help = help.replace('\\', "\\\\").replace('\n', "\\n");
    out.extend(["# HELP ", name, " ", &help, "\n# TYPE ", name, " ", kind, "\n"]);
}

/// Appends `name{a="b"} value`.
pub(crate) fn sample(out: &mut String, sample: &Sample<'_>, value: &str) {
    let bound = sample.bound.map(|bound| format!("le=\"{}\"", number(bound)));
    let bound = bound.as_deref().unwrap_or_default();
    let comma = if sample.labels.is_empty() || bound.is_empty() { "" } else { "," };
    out.extend([sample.name, sample.suffix]);
    if !(sample.labels.is_empty() && bound.is_empty()) {
        out.extend(["{", sample.labels, comma, bound, "}"]);
    }
    out.extend([" ", value, "\n"]);
}

/// Formats `a="b",c="d"`.
pub(crate) fn labels(names: &[&str], values: &[&str]) -> String {
    let mut out = String::new();
    for (position, (name, value)) in names.iter().zip(values).enumerate() {
        if position > 0 {
            out.push(',');
        }
        out.extend([*name, "=\""]);
        for character in value.chars() {
            match character {
                '\\' => out.push_str("\\\\"),
                '"' => out.push_str("\\\""),
                '\n' => out.push_str("\\n"),
                other => out.push(other),
            }
        }
        out.push('"');
    }
    out
}

pub(crate) fn number(value: f64) -> String {
    match value {
        f64::INFINITY => "+Inf".to_owned(),
        f64::NEG_INFINITY => "-Inf".to_owned(),
        value if value.is_nan() => "NaN".to_owned(),
        value => value.to_string(),
    }
}

/// Returns whether a metric can have this name.
pub(crate) fn is_name(name: &str) -> bool {
    is_word(name, |byte| byte == b':')
}

/// Returns whether a label can have this name. Names that begin with two underscores are reserved by Prometheus.
pub(crate) fn is_label(name: &str) -> bool {
    is_word(name, |_| false) && !name.starts_with("__")
}

fn is_word(word: &str, is_also: impl Fn(u8) -> bool) -> bool {
    let begins = word.bytes().next().is_some_and(|byte| !byte.is_ascii_digit());
    begins && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || is_also(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_characters_are_escaped() {
        assert_eq!(labels(&["a", "b"], &["x\\y\"z\n", "{}"]), r#"a="x\\y\"z\n",b="{}""#);
        let mut out = String::new();
        head(&mut out, "n", "a \"b\" \\ c\nd", "gauge");
        assert_eq!(out, "# HELP n a \"b\" \\\\ c\\nd\n# TYPE n gauge\n");
    }

    #[test]
    fn numbers_are_formatted_for_prometheus() {
        let written: Vec<String> =
            [0.005, 16777216.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, -1.5, 0.0].map(number).into();
        assert_eq!(written, ["0.005", "16777216", "+Inf", "-Inf", "NaN", "-1.5", "0"]);
    }

    #[test]
    fn names_are_checked() {
        for name in ["a", "_a:b1", "rest_client_requests_total"] {
            assert!(is_name(name), "{name}");
        }
        for name in ["", "1a", "a-b", "a b", "ä"] {
            assert!(!is_name(name) && !is_label(name), "{name}");
        }
        assert!(is_label("code") && !is_label("a:b") && !is_label("__name__"));
    }
}
