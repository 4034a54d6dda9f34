//! Words: short texts, and the results of parsing them in Go.
//!
//! Input:  the Go program `words`, through a pipe. The same topic and count always give the same texts.
//! Output: one text at a time, for the tests of selectors, statuses, times, versions and quantities. Texts are
//!         streamed, not collected.

use crate::records::{RecordError, Records, text};

/// A text and Go's result for it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Word {
    /// The input: a plain text, or JSON.
    pub input: String,
    /// Go's result in JSON; `null` if Go rejects the input.
    pub result: String,
}

/// An iterator over [`words()`]. Dropping it kills the program.
#[derive(Debug)]
pub struct Words {
    records: Records,
}

/// Returns the fixed texts of a topic and `count` random ones. `cmd/words` lists the topics.
pub fn words(topic: &str, count: usize) -> Result<Words, RecordError> {
    Ok(Words { records: Records::run("words", [&format!("-n={count}"), topic])? })
}

impl Iterator for Words {
    type Item = Result<Word, RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        let record = self.records.next()?;
        Some(record.and_then(|[input, result]| Ok(Word { input: text(input)?, result: text(result)? })))
    }
}
