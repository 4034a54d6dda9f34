//! Excerpts of invalid input for error messages.

const CHARS: usize = 80;

/// Returns `text`, truncated to its first 80 characters.
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
    fn long_text_is_truncated_at_a_character_boundary() {
        assert_eq!(excerpt(&"é".repeat(80)), "é".repeat(80));
        assert_eq!(excerpt(&"é".repeat(81)), format!("{}...", "é".repeat(80)));
    }
}
