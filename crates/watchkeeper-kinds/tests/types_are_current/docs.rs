//! Renders the descriptions of the API as doc comments.

use std::collections::HashMap;

/// rustfmt's line width.
const WIDTH: usize = 110;

/// Descriptions by message and JSON name; that of the message itself has the name `.`.
pub(crate) struct Docs {
    texts: HashMap<(&'static str, &'static str), &'static str>,
}

impl Docs {
    pub(crate) fn from_table() -> Self {
        let (mut texts, mut message) = (HashMap::new(), "");
        for line in include_str!("../../tables/docs.txt").lines().filter(|line| !line.starts_with('#')) {
            match line.split_once(' ').unwrap() {
                // Many objects have a field of this name; descriptions have several words.
                ("message", name) if !name.contains(' ') => message = name,
                (field, text) => drop(texts.insert((message, field), text)),
            }
        }
        Self { texts }
    }

    /// Returns the doc comment of a field, or of the message for `.`.
    pub(crate) fn comment(&self, message: &'static str, field: &'static str, indent: &str) -> String {
        let text = match self.texts.get(&(message, field)) {
            Some(text) => text.replace("\\n", "\n").replace("\\\\", "\\"),
            None if field == "." => format!("The message `{message}`."),
            None => format!("The field `{field}`."),
        };
        let mut comment = String::new();
        let mut in_code = false;
        for line in text.trim().lines() {
            // Four spaces or an unnamed fence would make it a doctest.
            let mut line = line.trim().to_owned();
            if line.starts_with("```") {
                in_code = !in_code;
                line = if in_code { "```text".to_owned() } else { "```".to_owned() };
            }
            if !in_code {
                line = escape_html(&line);
            }
            for part in wrap(&line, WIDTH - indent.len() - 4) {
                comment.push_str(format!("{indent}/// {part}").trim_end());
                comment.push('\n');
            }
            if line.is_empty() {
                comment.push_str(&format!("{indent}///\n"));
            }
        }
        if in_code {
            comment.push_str(&format!("{indent}/// ```\n"));
        }
        comment
    }
}

/// Escapes what rustdoc would read as HTML, outside of code.
fn escape_html(line: &str) -> String {
    let parts = line.split('`').enumerate();
    let escaped =
        parts.map(|(at, part)| if at % 2 == 0 { part.replace('<', "\\<") } else { part.to_owned() });
    escaped.collect::<Vec<_>>().join("`")
}

fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}
