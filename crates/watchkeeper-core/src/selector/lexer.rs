//! The lexer of label selectors.

use super::SelectorError;

/// The tokens of a label selector. After the last one it keeps returning [`Mark::End`].
#[derive(Debug)]
pub(super) struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

/// A token and its position.
#[derive(Debug, Clone, Copy)]
pub(super) struct Token<'a> {
    pub(super) mark: Mark,
    /// Byte offset of `text` in the selector.
    pub(super) at: usize,
    /// The token as written; empty at the end.
    pub(super) text: &'a str,
}

/// The type of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    /// A key, a value, `in` or `notin`, depending on the position.
    Word,
    /// `=` or `==`, which are equivalent.
    Equals,
    NotEquals,
    Greater,
    Less,
    Not,
    Open,
    Close,
    Comma,
    End,
}

impl<'a> Token<'a> {
    pub(super) fn unexpected(self, expected: &'static str) -> SelectorError {
        SelectorError::unexpected(self.at, self.text, expected)
    }
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    pub(super) fn next(&mut self) -> Token<'a> {
        let rest = &self.text[self.at..];
        let rest = rest.trim_start_matches(is_space);
        let (mark, length) = match rest.as_bytes() {
            [] => (Mark::End, 0),
            [b'=', b'=', ..] => (Mark::Equals, 2),
            [b'!', b'=', ..] => (Mark::NotEquals, 2),
            [b'=', ..] => (Mark::Equals, 1),
            [b'!', ..] => (Mark::Not, 1),
            [b'>', ..] => (Mark::Greater, 1),
            [b'<', ..] => (Mark::Less, 1),
            [b'(', ..] => (Mark::Open, 1),
            [b')', ..] => (Mark::Close, 1),
            [b',', ..] => (Mark::Comma, 1),
            _ => (Mark::Word, rest.find(|c| is_space(c) || is_special(c)).unwrap_or(rest.len())),
        };
        let at = self.text.len() - rest.len();
        self.at = at + length;
        Token { mark, at, text: &rest[..length] }
    }
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n')
}

fn is_special(c: char) -> bool {
    matches!(c, '=' | '!' | '>' | '<' | '(' | ')' | ',')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> Vec<(Mark, usize, &str)> {
        let mut lexer = Lexer::new(text);
        std::iter::repeat_with(|| lexer.next())
            .map(|token| (token.mark, token.at, token.text))
            .take_while(|&(mark, ..)| mark != Mark::End)
            .collect()
    }

    #[test]
    fn the_longest_mark_wins() {
        use Mark::{Equals, NotEquals, Word};
        assert_eq!(
            tokens("===!=="),
            [(Equals, 0, "=="), (Equals, 2, "="), (NotEquals, 3, "!="), (Equals, 5, "=")]
        );
        assert_eq!(tokens("a!=b"), [(Word, 0, "a"), (NotEquals, 1, "!="), (Word, 3, "b")]);
    }

    #[test]
    fn whitespace_separates_words_and_is_otherwise_ignored() {
        use Mark::{Close, Open, Word};
        let expected = [(Word, 1, "a"), (Word, 3, "in"), (Open, 7, "("), (Word, 9, "b"), (Close, 12, ")")];
        assert_eq!(tokens(" a in\r\n( b\t )"), expected);
    }

    #[test]
    fn other_whitespace_is_part_of_a_word() {
        assert_eq!(tokens("a\u{a0}b\u{b}c\0"), [(Mark::Word, 0, "a\u{a0}b\u{b}c\0")]);
    }
}
