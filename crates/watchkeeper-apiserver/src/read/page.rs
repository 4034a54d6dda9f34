//! Pages of lists.

use std::num::NonZeroUsize;
use std::sync::Arc;

use crate::http::{AtVersion, ListOptions, VersionMatch};
use crate::store::{RangeQuery, ReadError, Revision, Stored};
use watchkeeper_core::{ObjectKey, Status};

use super::{ContinueToken, Reader, Scope, Selection, read_status};

/// The result of a list.
#[derive(Debug, Clone)]
pub struct Page {
    /// The objects in key order.
    pub items: Vec<Arc<Stored>>,
    /// The revision of the list.
    pub revision: Revision,
    /// The token of the next page, if there is one (`read.L2`).
    pub continue_token: Option<String>,
    /// The number of remaining objects, if there is no selector.
    pub remaining: Option<u64>,
}

impl Page {
    /// Returns the bytes held, not counting the objects, which are shared with the store.
    pub fn held_bytes(&self) -> usize {
        self.items.capacity() * size_of::<Arc<Stored>>()
    }
}

/// The minimum number of objects per store read when there is a selector.
const STEP: usize = 512;

/// 410: the continue token has been compacted.
const TOKEN_EXPIRED: &str = "The provided continue parameter is too old to display a consistent list result. \
    You can start a new list without the continue parameter, or use the continue token in this response to \
    retrieve the remainder of the results. Continuing with the provided token results in an inconsistent \
    list - objects that were created, modified, or deleted between the time the first chunk was returned \
    and now may show up in the list.";

pub(super) async fn read(reader: &Reader, scope: &Scope, options: &ListOptions) -> Result<Page, Status> {
    let selection = Selection::new(scope, options)?;
    let collection = scope.collection()?;
    let scope = &scope.narrow(&options.field_selector);
    let token = continue_token(options)?;
    let prefix = scope.namespace.as_ref().map(|namespace| format!("{namespace}/")).unwrap_or_default();
    let (at, start) = match &token {
        Some(token) => (token.at, Some(format!("{prefix}{}", token.start))),
        None => (exact(options), None),
    };
    match at {
        Some(at) => reader.wait(AtVersion::At(at.get())).await?,
        None => reader.wait(options.resource_version).await?,
    }
    let query = RangeQuery { namespace: scope.namespace.clone(), at, start, ..RangeQuery::all(collection) };
    if let Some(key) = scope.key() {
        return read_one(reader, query, &key, &selection).await;
    }
    // A list of any version is not paged.
    let limit = match options.resource_version {
        AtVersion::Any => None,
        _ => options.limit.map(|limit| usize::try_from(limit).unwrap_or(usize::MAX)),
    };
    PageReader { reader, selection, prefix, limit, token }.read(query).await
}

/// Decodes the continue token, if there is one.
fn continue_token(options: &ListOptions) -> Result<Option<ContinueToken>, Status> {
    if options.continue_token.is_empty() {
        return Ok(None);
    }
    let token = ContinueToken::decode(&options.continue_token)
        .map_err(|error| Status::bad_request(format!("invalid continue token: {error}")))?;
    if matches!(options.resource_version, AtVersion::At(_)) {
        return Err(Status::bad_request("specifying resource version is not allowed when using continue"));
    }
    Ok(Some(token))
}

/// Reads a list whose scope is a single object.
async fn read_one(
    reader: &Reader,
    mut query: RangeQuery,
    key: &ObjectKey,
    selection: &Selection,
) -> Result<Page, Status> {
    (query.start, query.limit) = (Some(key.as_str().to_owned()), NonZeroUsize::new(1));
    let range = reader.store().range(query).await.map_err(|error| read_status(&error))?;
    let mut items = range.items;
    items.retain(|stored| stored.key() == key && selection.matches(stored));
    Ok(Page { items, revision: range.revision, continue_token: None, remaining: None })
}

/// Reads a page in as many store reads as the selection needs.
struct PageReader<'a> {
    reader: &'a Reader,
    selection: Selection,
    /// The namespace and a slash; empty for all namespaces.
    prefix: String,
    limit: Option<usize>,
    token: Option<ContinueToken>,
}

impl PageReader<'_> {
    async fn read(&self, mut query: RangeQuery) -> Result<Page, Status> {
        let mut items: Vec<Arc<Stored>> = Vec::new();
        let everything = self.selection.is_everything();
        loop {
            let wanted = self.limit.map(|limit| limit - items.len());
            let step = wanted.map(|wanted| if everything { wanted } else { wanted.max(STEP) });
            query.limit = step.and_then(NonZeroUsize::new);
            let range =
                self.reader.store().range(query.clone()).await.map_err(|error| self.status_of(&error))?;
            let (found, mut left) = (range.items.len(), range.remaining);
            let mut last = None;
            for (position, stored) in range.items.into_iter().enumerate() {
                last = Some(stored.key().as_str().to_owned());
                if everything || self.selection.matches(&stored) {
                    items.push(stored);
                }
                if self.limit == Some(items.len()) {
                    left += found - position - 1;
                    break;
                }
            }
            let Some(last) = last.filter(|_| left > 0) else {
                return Ok(Page { items, revision: range.revision, continue_token: None, remaining: None });
            };
            let start = format!("{last}\0");
            if self.limit.is_none_or(|limit| items.len() >= limit) {
                let continue_token = Some(self.next_token(range.revision, &start));
                let remaining = everything.then_some(left as u64);
                return Ok(Page { items, revision: range.revision, continue_token, remaining });
            }
            (query.at, query.start) = (Some(range.revision), Some(start)); // read.L1
        }
    }

    fn next_token(&self, revision: Revision, start: &str) -> String {
        let relative = format!("/{}", start.strip_prefix(&self.prefix).unwrap_or(start));
        ContinueToken { at: Some(revision), start: relative }.encode()
    }

    /// Converts a read error; an expired page comes with a token for the newest state.
    fn status_of(&self, error: &ReadError) -> Status {
        match (error, &self.token) {
            (ReadError::Compacted { .. }, Some(token)) => {
                let replacement = ContinueToken { at: None, start: token.start.clone() };
                let continue_token = Some(replacement.encode());
                Status { continue_token, ..Status::expired(TOKEN_EXPIRED) }
            }
            _ => read_status(error),
        }
    }
}

/// Returns the exact revision that the first page must have, if any.
fn exact(options: &ListOptions) -> Option<Revision> {
    let AtVersion::At(number) = options.resource_version else { return None };
    let exact = match options.resource_version_match {
        Some(VersionMatch::Exact) => true,
        Some(VersionMatch::NotOlderThan) => false,
        None => options.limit.is_some(), // the behaviour without a match
    };
    exact.then_some(Revision::new(number))
}
