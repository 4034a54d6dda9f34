//! Merges the watches of all parts.

use futures_util::future::try_join_all;
use futures_util::stream::{self, BoxStream, SelectAll, StreamExt as _};

use super::Union;
use crate::{Bookmark, ResourceVersion, WatchError, WatchEvent, WatchRequest, WatchStream};

/// An event of a part, or `None` when the part's watch has ended.
type PartEvent = (usize, Option<Result<WatchEvent, WatchError>>);

/// The state of a watch of all parts.
struct Watching {
    union: Union,
    parts: SelectAll<BoxStream<'static, PartEvent>>,
    phase: Phase,
    /// A bookmark to yield next.
    bookmark: Option<Bookmark>,
    is_over: bool,
}

enum Phase {
    /// Initial events are being received. Holds the version of each part whose initial events have ended.
    Initial(Vec<Option<ResourceVersion>>),
    /// Changes are being received. Holds the last version yielded in a bookmark.
    Changes(ResourceVersion),
}

pub(super) async fn open(union: Union, request: WatchRequest) -> Result<WatchStream, WatchError> {
    let openings: Vec<_> = {
        let mut positions = union.positions();
        positions.begin(&request.from);
        let requests = (0..union.parts.len()).map(|part| {
            let from = positions.watch_from(part, &request.from);
            union.parts[part].watch(WatchRequest { from, ..request.clone() })
        });
        requests.collect()
    };
    let mut parts = SelectAll::new();
    for (part, watch) in try_join_all(openings).await?.into_iter().enumerate() {
        let events = watch.map(Some).chain(stream::iter([None]));
        parts.push(events.map(move |event| (part, event)).boxed());
    }
    if union.parts.is_empty() {
        parts.push(stream::pending().boxed());
    }
    let phase = match request.from {
        crate::WatchFrom::InitialEvents { .. } => Phase::Initial(vec![None; union.parts.len()]),
        crate::WatchFrom::After(_) => Phase::Changes(union.positions().lowest()),
    };
    let watching = Watching { union, parts, phase, bookmark: None, is_over: false };
    Ok(stream::unfold(watching, |mut it| async move { Some((it.next().await?, it)) }).boxed())
}

impl Watching {
    async fn next(&mut self) -> Option<Result<WatchEvent, WatchError>> {
        while !self.is_over {
            if let Some(bookmark) = self.bookmark.take() {
                return Some(Ok(WatchEvent::Bookmark(bookmark)));
            }
            match self.parts.next().await {
                Some((part, Some(Ok(WatchEvent::Bookmark(bookmark))))) => {
                    self.reach(part, &bookmark.version, bookmark.initial_events_end);
                }
                Some((part, Some(Ok(event)))) => {
                    self.reach(part, event.version(), false);
                    return Some(Ok(event));
                }
                Some((_, Some(Err(error)))) => {
                    self.is_over = true;
                    return Some(Err(error));
                }
                // The reflector reopens all parts, each from its own version.
                Some((_, None)) | None => self.is_over = true,
            }
        }
        None
    }

    /// Advances a part, and the union if the lowest version changes.
    fn reach(&mut self, part: usize, version: &ResourceVersion, initial_events_end: bool) {
        let mut positions = self.union.positions();
        match &mut self.phase {
            Phase::Initial(ended) => {
                // Initial events are not ordered by version: a watch can only resume from their end.
                if initial_events_end || (ended[part].is_some() && !version.is_empty()) {
                    ended[part] = Some(version.clone());
                }
                let all: Option<Vec<_>> = ended.iter().cloned().collect();
                if let Some(all) = all {
                    positions.set_all(all);
                    let version = positions.lowest();
                    self.phase = Phase::Changes(version.clone());
                    self.bookmark = Some(Bookmark { version, initial_events_end: true });
                }
            }
            Phase::Changes(last) => {
                positions.reach(part, version);
                let version = positions.lowest();
                if version != *last {
                    *last = version.clone();
                    self.bookmark = Some(Bookmark { version, initial_events_end: false });
                }
            }
        }
    }
}
