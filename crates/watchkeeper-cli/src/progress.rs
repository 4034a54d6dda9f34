//! Progress bar of a long list, on standard error if that is a terminal.

use std::io::{IsTerminal, Write};

/// Width of the bar in characters.
const WIDTH: usize = 30;

/// A progress bar, cleared on drop.
#[derive(Debug)]
pub(crate) struct Progress {
    what: String,
    is_shown: bool,
    is_drawn: bool,
}

impl Progress {
    /// Creates a bar with a label.
    pub(crate) fn of(what: &str) -> Self {
        Self { what: what.to_owned(), is_shown: std::io::stderr().is_terminal(), is_drawn: false }
    }

    /// Updates the number of items received, and the number remaining if the server sent it.
    pub(crate) fn update(&mut self, done: usize, remaining: Option<u64>) {
        if self.is_shown {
            self.is_drawn = true;
            draw(&format!("\r{}\u{1b}[K", bar(&self.what, done, remaining)));
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.is_drawn {
            draw("\r\u{1b}[K");
        }
    }
}

/// Ignores errors: progress is only informative.
fn draw(text: &str) {
    let mut out = std::io::stderr().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

fn bar(what: &str, done: usize, remaining: Option<u64>) -> String {
    let Some(remaining) = remaining else { return format!("{what}  {done}") };
    let all = u64::try_from(done).unwrap_or(u64::MAX).saturating_add(remaining);
    let share = done as f64 / all.max(1) as f64;
    let filled = ((share * WIDTH as f64) as usize).min(WIDTH);
    format!("{what}  [{}{}]  {done}/{all}", "=".repeat(filled), " ".repeat(WIDTH - filled))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bar_length_shows_the_share_done() {
        assert_eq!(
            bar("pods", 500, Some(500)),
            format!("pods  [{}{}]  500/1000", "=".repeat(15), " ".repeat(15))
        );
        assert_eq!(bar("pods", 500, None), "pods  500");
        assert_eq!(bar("pods", 0, Some(0)), format!("pods  [{}]  0/0", " ".repeat(30)));
        assert_eq!(bar("pods", 1, Some(u64::MAX)), format!("pods  [{}]  1/{}", " ".repeat(30), u64::MAX));
    }
}
