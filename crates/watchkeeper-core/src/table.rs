//! Reader of the tables that are committed as text, with one row per line.
//!
//! Empty lines and lines that start with `#` are skipped. The columns and their meaning are up to the
//! caller.
//!
//! ```
//! use watchkeeper_core::table::{self, TableError};
//!
//! fn read(text: &str) -> Result<Vec<(&str, &str)>, TableError> {
//!     let mut pairs = Vec::new();
//!     for row in table::rows(text) {
//!         let [kind, resource] = row.words()[..] else { return Err(row.invalid()) };
//!         pairs.push((kind, resource));
//!     }
//!     Ok(pairs)
//! }
//!
//! assert_eq!(read("# kinds\nPod pods\n"), Ok(vec![("Pod", "pods")]));
//! assert_eq!(read("\nPod").unwrap_err().to_string(), "line 2: invalid row \"Pod\"");
//! ```

/// An error in a table, with its line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct TableError {
    /// The line, counted from 1.
    pub line: usize,
    /// The problem.
    pub problem: String,
}

/// A row of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row<'a> {
    /// The line, counted from 1.
    pub line: usize,
    /// The text of the line.
    pub text: &'a str,
}

/// Returns the rows of a table.
pub fn rows(text: &str) -> impl Iterator<Item = Row<'_>> {
    let lines = text.lines().enumerate().map(|(index, text)| Row { line: index + 1, text });
    lines.filter(|row| !row.text.is_empty() && !row.text.starts_with('#'))
}

impl<'a> Row<'a> {
    /// Splits the row at spaces.
    pub fn words(&self) -> Vec<&'a str> {
        self.text.split(' ').collect()
    }

    /// Splits the row at ` | `, for columns that contain spaces.
    pub fn columns(&self) -> Vec<&'a str> {
        self.text.split(" | ").collect()
    }

    /// Creates an error in this row.
    pub fn error(&self, problem: impl Into<String>) -> TableError {
        TableError { line: self.line, problem: problem.into() }
    }

    /// Creates the error for a row of unknown form.
    pub fn invalid(&self) -> TableError {
        self.error(format!("invalid row {:?}", self.text))
    }
}

/// Returns a value, where `-` stands for an empty one.
pub fn value(word: &str) -> &str {
    if word == "-" { "" } else { word }
}
