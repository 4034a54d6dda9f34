//! In-process source: a collection of the store as a [`ListWatch`], without a connection.
//!
//! Input: the store of this process.
//! Output: a reflector of this process.

use crate::http::{ListOptions, Query};
use crate::rules::metadata_alone;
use crate::store::{ChangeType, Stored};
use futures_util::{StreamExt as _, stream};
use serde_json::json;
use watchkeeper_core::{
    Bookmark, Encoded, FieldSelector, LabelSelector, ListError, ListMeta, ListPart, ListRequest, ListStream,
    ListWatch, Object, Status, WatchError, WatchEvent, WatchFuture, WatchRequest,
};

use super::{Reader, Scope, Step};

/// A collection of a store, optionally restricted to a namespace or a selection.
#[derive(Clone)]
pub struct StoreSource {
    reader: Reader,
    scope: Scope,
    selectors: Vec<(&'static str, String)>,
    is_metadata: bool,
}

impl StoreSource {
    /// Creates a source of all objects of a scope.
    pub fn new(reader: Reader, scope: Scope) -> Self {
        Self { reader, scope, selectors: Vec::new(), is_metadata: false }
    }

    /// Restricts the source to objects with these labels: `app=web`.
    #[must_use]
    pub fn labels(mut self, selector: &LabelSelector) -> Self {
        self.selectors.push(("labelSelector", selector.to_string()));
        self
    }

    /// Restricts the source to objects with these fields: `spec.nodeName=n1`.
    #[must_use]
    pub fn fields(mut self, selector: &FieldSelector) -> Self {
        self.selectors.push(("fieldSelector", selector.to_string()));
        self
    }

    /// Restricts objects to their metadata.
    #[must_use]
    pub fn metadata_only(mut self) -> Self {
        self.is_metadata = true;
        self
    }

    /// Returns an object in the view of this resource: usually the bytes of the store, without copying.
    fn shown(&self, stored: &Stored) -> Result<Object, Status> {
        let Scope { resource, view, .. } = &self.scope;
        if view.is_verbatim() && !self.is_metadata {
            return Ok(stored.object().clone());
        }
        let mut value = view.value(stored)?;
        if self.is_metadata {
            let omitted = resource.rules().version_annotations();
            value = json!({"metadata": metadata_alone(omitted, &value["metadata"])});
        }
        let metadata = stored.object().metadata.clone();
        Ok(Object { metadata, encoded: Encoded::json(value.to_string().into_bytes()) })
    }

    fn options(&self, query: Vec<(&'static str, String)>) -> Result<ListOptions, Status> {
        let pairs = query.into_iter().chain(self.selectors.iter().cloned());
        let text: Vec<String> = pairs.map(|(name, value)| format!("{name}={}", escaped(&value))).collect();
        ListOptions::read(&Query::parse(&text.join("&")))
    }
}

/// Escapes a query value: everything but letters and digits.
fn escaped(value: &str) -> String {
    use std::fmt::Write as _;
    value.bytes().fold(String::new(), |mut text, byte| {
        if byte.is_ascii_alphanumeric() {
            text.push(char::from(byte));
        } else {
            write!(text, "%{byte:02X}").unwrap_or_default();
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
                    let end = ListMeta {
                        resource_version: page.revision.into(),
                        continue_token: page.continue_token,
                        remaining_item_count: page.remaining,
                        ..ListMeta::default()
                    };
                    let items = page.items.iter().map(|stored| source.shown(stored).map(ListPart::Item));
                    let end = std::iter::once(Ok(ListPart::End(end)));
                    items.chain(end).map(|part| part.map_err(ListError::from)).collect()
                }
            }
        };
        Box::pin(stream::once(parts).map(stream::iter).flatten())
    }

    fn watch(&self, request: WatchRequest) -> WatchFuture {
        let source = self.clone();
        Box::pin(async move {
            let options = source.options(request.query()).map_err(WatchError::from)?;
            let watcher = source.reader.watch(&source.scope, &options).await.map_err(WatchError::from)?;
            let steps = stream::unfold((source, watcher), |(source, mut watcher)| async move {
                let step = watcher.next().await?;
                Some((stream::iter(source.events(step)), (source, watcher)))
            });
            Ok(steps.flatten().boxed())
        })
    }
}

impl StoreSource {
    fn events(&self, step: Step) -> Vec<Result<WatchEvent, WatchError>> {
        let shown = |stored: &Stored| self.shown(stored).map_err(WatchError::from);
        match step {
            Step::Initial(items) => items.iter().map(|stored| shown(stored).map(WatchEvent::Added)).collect(),
            Step::Changes(changes) => changes
                .into_iter()
                .filter_map(|change| {
                    let object = shown(change.event.state(change.change_type.shown())?);
                    Some(object.map(match change.change_type {
                        ChangeType::Added => WatchEvent::Added,
                        ChangeType::Modified => WatchEvent::Modified,
                        ChangeType::Deleted => WatchEvent::Deleted,
                    }))
                })
                .collect(),
            Step::Bookmark { revision, initial_events_end } => {
                vec![Ok(WatchEvent::Bookmark(Bookmark { version: revision.into(), initial_events_end }))]
            }
            Step::Failed(status) => vec![Err(WatchError::from(*status))],
        }
    }
}
