//! Prints the server's warnings to standard error, each once.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use watchkeeper_client::rest::{Warning, WarningHandler};

/// A handler that prints `Warning: text`, as kubectl does.
#[derive(Debug, Default)]
pub(crate) struct WarningPrinter {
    texts: Mutex<HashSet<String>>,
}

impl WarningHandler for WarningPrinter {
    fn warn(&self, warning: &Warning) {
        let is_agent_warning = warning.code == 299 && !warning.text.is_empty();
        let mut texts = self.texts.lock().unwrap_or_else(PoisonError::into_inner);
        if is_agent_warning && texts.insert(warning.text.clone()) {
            eprintln!("Warning: {}", warning.text);
        }
    }
}
