//! Source: a collection of the store as a [`ListWatch`], without a connection in between.
//!
//! From: the store of this process.
//! To:   a reflector of this process.

use crate::http::{ListOptions, Query};
use crate::store::Told;
use futures_util::{StreamExt as _, stream};
use watchkeeper_core::{
    Bookmark, ListEnd, ListError, ListPart, ListRequest, ListStream, ListWatch, Status, WatchError,
    WatchEvent, WatchOpening, WatchRequest,
};

use super::{Following, Reader, Scope, Step};

/// A collection of a store, or a namespace or a selection of it.
#[derive(Clone)]
pub struct StoreSource {
    reader: Reader,
    scope: Scope,
    selectors: Vec<(&'static str, String)>,
}

impl StoreSource {
    /// All objects of a scope.
    pub fn new(reader: Reader, scope: Scope) -> Self {
        Self { reader, scope, selectors: Vec::new() }
    }

    /// Only objects with these labels: `app=web`.
    #[must_use]
    pub fn labels(mut self, selector: impl Into<String>) -> Self {
        self.selectors.push(("labelSelector", selector.into()));
        self
    }

    /// Only objects with these fields: `spec.nodeName=n1`.
    #[must_use]
    pub fn fields(mut self, selector: impl Into<String>) -> Self {
        self.selectors.push(("fieldSelector", selector.into()));
        self
    }

    fn options(&self, query: Vec<(&'static str, String)>) -> Result<ListOptions, Status> {
        let pairs = query.into_iter().chain(self.selectors.iter().cloned());
        let text: Vec<String> = pairs.map(|(name, value)| format!("{name}={}", escaped(&value))).collect();
        ListOptions::read(&Query::parse(&text.join("&")))
    }
}

/// A value of a query: all but letters and digits is escaped.
fn escaped(value: &str) -> String {
    use std::fmt::Write as _;
    value.bytes().fold(String::new(), |mut text, byte| {
        match byte.is_ascii_alphanumeric() {
            true => text.push(char::from(byte)),
            false => write!(text, "%{byte:02X}").unwrap_or_default(),
        }
        text
    })
}

impl ListWatch for StoreSource {
    fn list(&self, request: ListRequest) -> ListStream {
        let source = self.clone();
        let parts = async move {
            let page = match source.options(request.query()) {
                Ok(options) => source.reader.list(&source.scope, &options).await,
                Err(status) => Err(status),
            };
            match page {
                Err(status) => vec![Err(ListError::from(status))],
                Ok(page) => {
                    let end = ListEnd {
                        version: page.revision.into(),
                        continue_token: page.continue_token,
                        remaining: page.remaining,
                    };
                    let items = page.items.into_iter().map(|stored| ListPart::Item(stored.object().clone()));
                    items.chain([ListPart::End(end)]).map(Ok).collect()
                }
            }
        };
        Box::pin(stream::once(parts).map(stream::iter).flatten())
    }

    fn watch(&self, request: WatchRequest) -> WatchOpening {
        let source = self.clone();
        Box::pin(async move {
            let options = source.options(request.query()).map_err(WatchError::from)?;
            let following = source.reader.watch(&source.scope, &options).await.map_err(WatchError::from)?;
            let steps = stream::unfold(following, |mut following: Following| async move {
                let step = following.next().await?;
                Some((stream::iter(events(step)), following))
            });
            Ok(steps.flatten().boxed())
        })
    }
}

fn events(step: Step) -> Vec<Result<WatchEvent, WatchError>> {
    match step {
        Step::Initial(items) => {
            items.into_iter().map(|stored| Ok(WatchEvent::Added(stored.object().clone()))).collect()
        }
        Step::Changes(notices) => notices
            .into_iter()
            .filter_map(|notice| {
                let object = notice.event.state(notice.told.shown())?.object().clone();
                Some(Ok(match notice.told {
                    Told::Added => WatchEvent::Added(object),
                    Told::Modified => WatchEvent::Modified(object),
                    Told::Deleted => WatchEvent::Deleted(object),
                }))
            })
            .collect(),
        Step::Bookmark { revision, initial_events_end } => {
            vec![Ok(WatchEvent::Bookmark(Bookmark { version: revision.into(), initial_events_end }))]
        }
        Step::Failed(status) => vec![Err(WatchError::from(*status))],
    }
}
