//! Lists of one revision (`source.S1`), read range by range.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use futures_util::stream;
use watchkeeper_core::{ListAt, ListError, ListMeta, ListPart, ListRequest, ListStream, ResourceVersion};

use super::position::{Token, revision, version};
use super::{Collection, errors};
use crate::message::range_end;
use crate::{Error, Range, RangeResponse};

/// A list in progress.
struct Listing {
    collection: Arc<Collection>,
    /// The revision of the list; 0 before the first response, if the current one is requested.
    revision: i64,
    not_older_than: Option<ResourceVersion>,
    from: Bytes,
    /// Remaining keys of the page, if it is limited.
    left: Option<u32>,
    /// Keys per range request.
    range: u32,
    ready: VecDeque<ListPart>,
    has_ended: bool,
}

pub(super) fn list(collection: Arc<Collection>, request: ListRequest) -> ListStream {
    Box::pin(stream::try_unfold(Begin::Request(collection, request), |state| async {
        let mut listing = match state {
            Begin::Request(collection, request) => Listing::begin(collection, request)?,
            Begin::Begun(listing) => listing,
        };
        let part = listing.next().await?;
        Ok(part.map(|part| (part, Begin::Begun(listing))))
    }))
}

enum Begin {
    Request(Arc<Collection>, ListRequest),
    Begun(Listing),
}

impl Listing {
    fn begin(collection: Arc<Collection>, request: ListRequest) -> Result<Self, ListError> {
        let ListRequest { at, limit } = request;
        let mut from =
            if collection.prefix.is_empty() { Bytes::from_static(b"\0") } else { collection.prefix.clone() };
        let mut exact = 0;
        let mut not_older_than = None;
        match at {
            ListAt::MostRecent | ListAt::Any => {}
            ListAt::Exact(version) => exact = revision(&version)?,
            ListAt::Unqualified(version) if limit.is_some() => exact = revision(&version)?,
            ListAt::NotOlderThan(version) | ListAt::Unqualified(version) => {
                revision(&version)?;
                not_older_than = Some(version);
            }
            ListAt::Page(token) => {
                let token = Token::parse(&token, &collection.prefix)?;
                (exact, from) = (token.revision, token.from);
            }
        }
        let range = collection.page_size.get();
        let left = limit.map(std::num::NonZeroU32::get);
        Ok(Self {
            collection,
            revision: exact,
            not_older_than,
            from,
            left,
            range,
            ready: VecDeque::new(),
            has_ended: false,
        })
    }

    async fn next(&mut self) -> Result<Option<ListPart>, ListError> {
        loop {
            if let Some(part) = self.ready.pop_front() {
                return Ok(Some(part));
            }
            if self.has_ended {
                return Ok(None);
            }
            let response = self.read().await?;
            self.take(&response);
        }
    }

    /// Reads the next range. If the response is too large, the range is halved.
    async fn read(&mut self) -> Result<RangeResponse, ListError> {
        let end = range_end(&self.collection.prefix);
        loop {
            let limit = self.left.map_or(self.range, |left| left.min(self.range));
            let range = Range::between(self.from.clone(), end.clone()).limit(limit).revision(self.revision);
            match self.collection.etcd.range(range).await {
                Ok(response) => {
                    self.check(&response)?;
                    return Ok(response);
                }
                Err(Error::TooLong { .. }) if limit > 1 => self.range = limit / 2,
                Err(Error::FutureRevision) => {
                    return Err(
                        errors::too_large(&version(self.revision), &ResourceVersion::default()).into()
                    );
                }
                Err(error) => return Err(errors::list_error(error)),
            }
        }
    }

    fn check(&mut self, response: &RangeResponse) -> Result<(), ListError> {
        let current = response.header.revision;
        if let Some(least) = self.not_older_than.take()
            && current < revision(&least)?
        {
            return Err(errors::too_large(&least, &version(current)).into());
        }
        if self.revision == 0 {
            self.revision = current; // source.S1
        }
        Ok(())
    }

    fn take(&mut self, response: &RangeResponse) {
        let items = response.kvs.iter().filter_map(|kv| self.collection.object(kv));
        self.ready.extend(items.map(ListPart::Item));
        let read = response.kvs.len();
        self.left = self.left.map(|left| left.saturating_sub(u32::try_from(read).unwrap_or(u32::MAX)));
        // Without a last key, the list cannot be continued.
        let last = response.kvs.last().filter(|_| response.more);
        if let Some(last) = last {
            let mut from = BytesMut::from(&*last.key);
            from.extend_from_slice(b"\0"); // the next possible key
            self.from = from.freeze();
        }
        if last.is_some() && self.left != Some(0) {
            return;
        }
        self.has_ended = true;
        let token = last.map(|_| Token { revision: self.revision, from: self.from.clone() }.encode());
        let beyond = u64::try_from(response.count).unwrap_or(0).saturating_sub(read as u64);
        let is_counted = token.is_some() && self.collection.selector.is_everything();
        self.ready.push_back(ListPart::End(ListMeta {
            resource_version: version(self.revision),
            continue_token: token,
            remaining_item_count: is_counted.then_some(beyond),
            ..ListMeta::default()
        }));
    }
}
