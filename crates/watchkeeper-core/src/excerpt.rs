//! Excerpts: how much of an offending text an error repeats.

const CHARS: usize = 80;

/// The text, or its beginning where it is long.
pub(crate) fn excerpt(text: &str) -> String {
    match text.char_indices().nth(CHARS) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_between_characters() {
        assert_eq!(excerpt(&"é".repeat(80)), "é".repeat(80));
        assert_eq!(excerpt(&"é".repeat(81)), format!("{}...", "é".repeat(80)));
    }
}
