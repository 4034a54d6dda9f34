//! Lists the parts one after the other, page by page, as a single unpaged list.

use futures_util::{StreamExt as _, stream};

use super::Union;
use crate::{
    ListAt, ListError, ListMeta, ListPart, ListRequest, ListStream, Paging, ResourceVersion, Status,
};

/// The state of a list of all parts.
struct Listing {
    union: Union,
    request: ListRequest,
    /// The current page; `None` before the first page of a part.
    page: Option<ListStream>,
    /// The version of each started part's first page. The watch repeats changes made since.
    versions: Vec<ResourceVersion>,
    /// The number of completed parts.
    done: usize,
    /// Paging of the current part, and the number of items of the current page.
    paging: Paging,
    items: usize,
    is_over: bool,
}

pub(super) fn open(union: Union, mut request: ListRequest) -> ListStream {
    if let ListAt::Page(_) = request.at {
        let expired = Status::expired("continue tokens are not supported across several collections");
        return stream::iter([Err(expired.into())]).boxed();
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
                    self.page.insert(self.list_part(at))
                }
            };
            match page.next().await {
                Some(Ok(ListPart::End(end))) => {
                    if let Err(error) = self.finish_page(end) {
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
                None => self.is_over = true, // list_watch.W1: truncated
            }
        }
        None
    }

    fn list_part(&self, at: ListAt) -> ListStream {
        self.union.parts[self.done].list(ListRequest { at, limit: self.request.limit })
    }

    fn finish_page(&mut self, end: ListMeta) -> Result<(), ListError> {
        if self.versions.len() == self.done {
            self.versions.push(end.resource_version);
        }
        self.page = match end.continue_token {
            Some(token) => {
                let items = std::mem::take(&mut self.items);
                let advanced = self.paging.advance(items, &token);
                advanced.map_err(|endless| ListError::Malformed(endless.into()))?;
                Some(self.list_part(ListAt::Page(token)))
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
        positions.set_all(std::mem::take(&mut self.versions));
        ListPart::End(ListMeta::new(positions.lowest()))
    }
}
