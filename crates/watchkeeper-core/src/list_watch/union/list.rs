//! Listing: the parts one after the other, each page by page, as one list without pages.

use futures_util::{StreamExt as _, stream};

use super::Union;
use crate::{ListAt, ListEnd, ListError, ListPart, ListRequest, ListStream, Paging, ResourceVersion, Status};

/// A list of the whole while it goes on.
struct Listing {
    union: Union,
    request: ListRequest,
    /// The page that is read now; `None` where the next part is to begin.
    page: Option<ListStream>,
    /// The versions of the parts that have begun: of the first page of each, as what has changed since comes
    /// again with the watch.
    versions: Vec<ResourceVersion>,
    /// How many parts have been read.
    done: usize,
    /// The pages of the part that is read now, and the items of the page.
    paging: Paging,
    items: usize,
    is_over: bool,
}

pub(super) fn open(union: Union, mut request: ListRequest) -> ListStream {
    if let ListAt::Page(_) = request.at {
        let unknown = Status::expired("a list of several collections has no pages");
        return stream::iter([Err(unknown.into())]).boxed();
    }
    if std::mem::take(&mut union.positions().page_expired) {
        request.limit = None;
    }
    let listing = Listing {
        union,
        request,
        page: None,
        versions: Vec::new(),
        done: 0,
        paging: Paging::default(),
        items: 0,
        is_over: false,
    };
    stream::unfold(listing, |mut listing| async move { Some((listing.next().await?, listing)) }).boxed()
}

impl Listing {
    async fn next(&mut self) -> Option<Result<ListPart, ListError>> {
        while !self.is_over {
            let page = match &mut self.page {
                Some(page) => page,
                None if self.done == self.union.parts.len() => return Some(Ok(self.end())),
                None => {
                    let at = self.union.positions().list_at(self.done, &self.request.at);
                    self.page.insert(self.ask(at))
                }
            };
            match page.next().await {
                Some(Ok(ListPart::End(end))) => {
                    if let Err(error) = self.page_ends(end) {
                        self.is_over = true;
                        return Some(Err(error));
                    }
                }
                Some(Ok(item)) => {
                    self.items += 1;
                    return Some(Ok(item));
                }
                Some(Err(error)) => {
                    self.is_over = true;
                    let is_later_page = self.versions.len() > self.done;
                    if is_later_page && matches!(error, ListError::Expired(_)) {
                        self.union.positions().page_expired = true;
                    }
                    return Some(Err(error));
                }
                None => self.is_over = true, // W1: nothing of it counts
            }
        }
        None
    }

    fn ask(&self, at: ListAt) -> ListStream {
        self.union.parts[self.done].list(ListRequest { at, limit: self.request.limit })
    }

    fn page_ends(&mut self, end: ListEnd) -> Result<(), ListError> {
        if self.versions.len() == self.done {
            self.versions.push(end.version);
        }
        self.page = match end.continue_token {
            Some(token) => {
                let items = std::mem::take(&mut self.items);
                let advanced = self.paging.advance(items, &token);
                advanced.map_err(|endless| ListError::Malformed(endless.into()))?;
                Some(self.ask(ListAt::Page(token)))
            }
            None => {
                (self.paging, self.items) = (Paging::default(), 0);
                self.done += 1;
                None
            }
        };
        Ok(())
    }

    fn end(&mut self) -> ListPart {
        self.is_over = true;
        let mut positions = self.union.positions();
        positions.listed(std::mem::take(&mut self.versions));
        ListPart::End(ListEnd { version: positions.lowest(), continue_token: None, remaining: None })
    }
}
