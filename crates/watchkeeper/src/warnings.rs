//! Warnings of a server, told on standard error: each once.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use watchkeeper_client::rest::{Warning, WarningHandler};

/// Writes `Warning: text`, as kubectl does.
#[derive(Debug, Default)]
pub(crate) struct Told {
    texts: Mutex<HashSet<String>>,
}

impl WarningHandler for Told {
    fn warn(&self, warning: &Warning) {
        let is_news = warning.code == 299 && !warning.text.is_empty();
        let mut texts = self.texts.lock().unwrap_or_else(PoisonError::into_inner);
        if is_news && texts.insert(warning.text.clone()) {
            eprintln!("Warning: {}", warning.text);
        }
    }
}
