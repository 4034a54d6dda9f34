//! Detection of paged lists that would never end.

/// The maximum number of pages of a list: 50 million items in pages of 500.
pub const MAX_PAGES: u32 = 100_000;

/// The number of consecutive empty pages after which a list fails.
pub const MAX_EMPTY_PAGES: u32 = 20;

/// An error from a paged list that would never end. Listing again may not help.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EndlessList {
    /// A continue token was returned twice.
    #[error("continue token repeated after {pages} pages; the server would send the same pages again")]
    RepeatedToken {
        /// The number of pages read.
        pages: u32,
    },
    /// Too many consecutive pages were empty.
    #[error("{MAX_EMPTY_PAGES} pages in a row had no items; the list was aborted")]
    EmptyPages,
    /// The list has too many pages.
    #[error("list is longer than {MAX_PAGES} pages; use a larger page size or a selector")]
    TooManyPages,
}

/// The progress of one paged list. It fails if the pages would never end.
///
/// Repeated tokens are detected in constant memory (Brent's cycle detection): at once if a token repeats the previous
/// one, otherwise within three times the number of pages before the repetition.
///
/// ```
/// use watchkeeper_core::{EndlessList, Paging};
///
/// let mut paging = Paging::default();
/// paging.advance(500, "a")?;
/// paging.advance(500, "b")?;
/// assert_eq!(paging.advance(500, "b"), Err(EndlessList::RepeatedToken { pages: 3 }));
/// # Ok::<(), EndlessList>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Paging {
    pages: u32,
    empty: u32,
    last: String,
    /// The token of the last page whose number is a power of two.
    kept: String,
}

impl Paging {
    /// Records a page with this many items, and the token of the page after it.
    ///
    /// # Errors
    /// If the list would never end: see [`EndlessList`].
    pub fn advance(&mut self, items: usize, token: &str) -> Result<(), EndlessList> {
        self.pages = self.pages.saturating_add(1);
        if self.pages > 1 && (token == self.last || token == self.kept) {
            return Err(EndlessList::RepeatedToken { pages: self.pages });
        }
        self.empty = if items == 0 { self.empty + 1 } else { 0 };
        if self.empty >= MAX_EMPTY_PAGES {
            return Err(EndlessList::EmptyPages);
        }
        if self.pages >= MAX_PAGES {
            return Err(EndlessList::TooManyPages);
        }
        if self.pages.is_power_of_two() {
            token.clone_into(&mut self.kept);
        }
        token.clone_into(&mut self.last);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cycle_of_tokens_is_found_within_three_times_its_length() {
        for (before, length) in [(0, 1), (3, 1), (0, 2), (1, 2), (5, 7), (100, 64), (1, 1000)] {
            let mut paging = Paging::default();
            let pages = (0..).find(|page: &u32| {
                let position = if *page < before { *page } else { before + (page - before) % length };
                paging.advance(1, &position.to_string()).is_err()
            });
            let pages = pages.unwrap() + 1;
            assert!(pages > before + length, "{before} {length}: no token has repeated after {pages}");
            assert!(pages <= 3 * (before + length) + 1, "{before} {length}: {pages}");
        }
    }

    #[test]
    fn only_consecutive_empty_pages_end_a_list() {
        let mut paging = Paging::default();
        for page in 0..10 * MAX_EMPTY_PAGES {
            let items = usize::from(page % MAX_EMPTY_PAGES == MAX_EMPTY_PAGES - 1);
            assert_eq!(paging.advance(items, &page.to_string()), Ok(()));
        }
        let rest: Vec<_> = (0..MAX_EMPTY_PAGES).map(|page| paging.advance(0, &format!("e{page}"))).collect();
        assert_eq!(rest.iter().filter(|it| it.is_ok()).count() as u32, MAX_EMPTY_PAGES - 1);
        assert_eq!(rest.last(), Some(&Err(EndlessList::EmptyPages)));
    }

    #[test]
    fn a_list_has_a_maximum_number_of_pages() {
        let mut paging = Paging::default();
        let ended =
            (1..).find_map(|page: u32| paging.advance(1, &page.to_string()).err().map(|it| (page, it)));
        assert_eq!(ended, Some((MAX_PAGES, EndlessList::TooManyPages)));
    }
}
