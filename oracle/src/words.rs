//! Words: short texts, and what Go reads in them.
//!
//! From: the Go program `words`, through a pipe. The same topic and count give the same texts every time.
//! To:   the tests of selectors, statuses, moments, versions and quantities, one text at a time; none is stored.

use crate::records::{RecordError, Records, text};

/// A question, and what Go answers.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Word {
    /// A text, or several in JSON.
    pub question: String,
    /// In JSON; `null` where Go refuses the question.
    pub answer: String,
}

/// The stream of [`words()`]. Dropping it ends the program.
#[derive(Debug)]
pub struct Words {
    records: Records,
}

/// Asks Go about a topic: its known texts, and `count` random ones. The topics are those of `cmd/words`.
pub fn words(topic: &str, count: usize) -> Result<Words, RecordError> {
    Ok(Words { records: Records::of("words", [&format!("-n={count}"), topic])? })
}

impl Iterator for Words {
    type Item = Result<Word, RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        let record = self.records.next()?;
        Some(
            record
                .and_then(|[question, answer]| Ok(Word { question: text(question)?, answer: text(answer)? })),
        )
    }
}
