//! Pages of lists.

use std::num::NonZeroUsize;
use std::sync::Arc;

use crate::http::{AtVersion, ListOptions, VersionMatch};
use crate::store::{RangeQuery, ReadError, Revision, Stored};
use watchkeeper_core::Status;

use super::{ContinueToken, Reader, Scope, Selection, unreadable};

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
    let scope = &scope.narrowed(&options.field_selector);
    let one = scope.key();
    let token = match options.continue_token.as_str() {
        "" => None,
        text => Some(
            ContinueToken::decode(text)
                .map_err(|error| Status::bad_request(format!("invalid continue token: {error}")))?,
        ),
    };
    if token.is_some() && matches!(options.resource_version, AtVersion::At(_)) {
        return Err(Status::bad_request("specifying resource version is not allowed when using continue"));
    }
    let prefix = scope.namespace.as_ref().map(|namespace| format!("{namespace}/")).unwrap_or_default();
    // A list of any version is not paged.
    let limit = match options.resource_version {
        AtVersion::Any => None,
        _ => options.limit.map(|limit| usize::try_from(limit).unwrap_or(usize::MAX)),
    };
    let (at, start) = match &token {
        Some(token) => (token.at, Some(format!("{prefix}{}", token.start))),
        None => (exact(options), None),
    };
    match at {
        Some(at) => reader.wait(AtVersion::At(at.get())).await?,
        None => reader.wait(options.resource_version).await?,
    }
    let mut query =
        RangeQuery { namespace: scope.namespace.clone(), at, start, ..RangeQuery::all(collection) };
    if let Some(one) = &one {
        (query.start, query.limit) = (Some(one.as_str().to_owned()), NonZeroUsize::new(1));
        let range = reader.store().range(query).await.map_err(|error| unreadable(&error))?;
        let mut items = range.items;
        items.retain(|stored| stored.key() == one && selection.matches(stored));
        return Ok(Page { items, revision: range.revision, continue_token: None, remaining: None });
    }
    let mut items: Vec<Arc<Stored>> = Vec::new();
    let everything = selection.is_everything();
    loop {
        let wanted = limit.map(|limit| limit - items.len());
        let step = wanted.map(|wanted| if everything { wanted } else { wanted.max(STEP) });
        query.limit = step.and_then(NonZeroUsize::new);
        let range = reader.store().range(query.clone()).await.map_err(|error| match (&error, &token) {
            (ReadError::Compacted { .. }, Some(token)) => {
                let replacement = ContinueToken { at: None, start: token.start.clone() };
                let continue_token = Some(replacement.encode());
                Status { continue_token, ..Status::expired(TOKEN_EXPIRED) }
            }
            _ => unreadable(&error),
        })?;
        let (found, mut left) = (range.items.len(), range.remaining);
        let mut last = None;
        for (position, stored) in range.items.into_iter().enumerate() {
            last = Some(stored.key().as_str().to_owned());
            if everything || selection.matches(&stored) {
                items.push(stored);
            }
            if limit == Some(items.len()) {
                left += found - position - 1;
                break;
            }
        }
        let full = limit.is_none_or(|limit| items.len() >= limit);
        let Some(last) = last.filter(|_| left > 0) else {
            return Ok(Page { items, revision: range.revision, continue_token: None, remaining: None });
        };
        let start = format!("{last}\0");
        if full {
            let relative = format!("/{}", start.strip_prefix(&prefix).unwrap_or(&start));
            let token = ContinueToken { at: Some(range.revision), start: relative };
            let remaining = everything.then_some(left as u64);
            let continue_token = Some(token.encode());
            return Ok(Page { items, revision: range.revision, continue_token, remaining });
        }
        (query.at, query.start) = (Some(range.revision), Some(start)); // read.L1
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
