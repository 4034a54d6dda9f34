//! Watching: the watches of all parts as one.

use futures_util::future::try_join_all;
use futures_util::stream::{self, BoxStream, SelectAll, StreamExt as _};

use super::Union;
use crate::{Bookmark, ResourceVersion, WatchError, WatchEvent, WatchRequest, WatchStream};

/// What comes of a part: an event, or `None` when its watch has ended.
type Heard = (usize, Option<Result<WatchEvent, WatchError>>);

/// A watch of the whole while it goes on.
struct Watching {
    union: Union,
    parts: SelectAll<BoxStream<'static, Heard>>,
    phase: Phase,
    /// What is to be told before anything else.
    bookmark: Option<Bookmark>,
    is_over: bool,
}

enum Phase {
    /// Initial events come. How far the parts are whose initial events have ended.
    Initial(Vec<Option<ResourceVersion>>),
    /// Changes come. The version of the whole that was told last.
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
        let heard = watch.map(Some).chain(stream::iter([None]));
        parts.push(heard.map(move |event| (part, event)).boxed());
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
                // One has ended: all are opened again, from where they are.
                Some((_, None)) | None => self.is_over = true,
            }
        }
        None
    }

    /// A part has got so far, and the whole perhaps too.
    fn reach(&mut self, part: usize, version: &ResourceVersion, initial_events_end: bool) {
        let mut positions = self.union.positions();
        match &mut self.phase {
            Phase::Initial(ended) => {
                // Initial events come in no order of versions: only their end is a place to go on from.
                if initial_events_end || (ended[part].is_some() && !version.is_empty()) {
                    ended[part] = Some(version.clone());
                }
                let all: Option<Vec<_>> = ended.iter().cloned().collect();
                if let Some(all) = all {
                    positions.listed(all);
                    let version = positions.lowest();
                    self.phase = Phase::Changes(version.clone());
                    self.bookmark = Some(Bookmark { version, initial_events_end: true });
                }
            }
            Phase::Changes(told) => {
                positions.reach(part, version);
                let version = positions.lowest();
                if version != *told {
                    *told = version.clone();
                    self.bookmark = Some(Bookmark { version, initial_events_end: false });
                }
            }
        }
    }
}
