//! Answers: what a list or a watch of a script says.

use std::time::Duration;

use watchkeeper_core::{
    Bookmark, ListError, ListMeta, ListPart, Object, ResourceVersion, WatchError, WatchEvent,
};

use super::Request;

/// What a script says to one request.
#[derive(Debug)]
pub struct Answer(pub(super) Said);

#[derive(Debug)]
pub(super) enum Said {
    List(List),
    Watch(Watch),
    /// A watch is not opened.
    Refusal(WatchError),
}

impl Answer {
    pub(super) fn fits(&self, request: &Request) -> bool {
        matches!(
            (&self.0, request),
            (Said::List(_), Request::List(_)) | (Said::Watch(_) | Said::Refusal(_), Request::Watch(_))
        )
    }
}

impl From<List> for Answer {
    fn from(list: List) -> Self {
        Self(Said::List(list))
    }
}

impl From<Watch> for Answer {
    fn from(watch: Watch) -> Self {
        Self(Said::Watch(watch))
    }
}

/// A line of an answer.
#[derive(Debug)]
pub(super) enum Line<T, E> {
    Say(T),
    Wait(Duration),
    Fail(E),
    Stall,
}

/// A list, or a page of one: the items, and its end.
#[derive(Debug)]
#[must_use = "it is said once it is in a script"]
pub struct List {
    lines: Vec<Line<ListPart, ListError>>,
    /// `None` where it does not come to its end.
    end: Option<ListMeta>,
}

impl List {
    /// The state at a version.
    pub fn at(version: impl Into<ResourceVersion>) -> Self {
        let end = ListMeta::new(version.into());
        Self { lines: Vec::new(), end: Some(end) }
    }

    pub(super) fn failed(error: impl Into<ListError>) -> Self {
        Self { lines: vec![Line::Fail(error.into())], end: None }
    }

    pub(super) fn stalled() -> Self {
        Self { lines: vec![Line::Stall], end: None }
    }

    /// An object.
    pub fn item(mut self, object: Object) -> Self {
        self.lines.push(Line::Say(ListPart::Item(object)));
        self
    }

    /// Objects.
    pub fn items(self, objects: impl IntoIterator<Item = Object>) -> Self {
        objects.into_iter().fold(self, Self::item)
    }

    /// What comes next takes so long to come.
    pub fn wait(mut self, time: Duration) -> Self {
        self.lines.push(Line::Wait(time));
        self
    }

    /// There is another page, and this is its token.
    pub fn continues(mut self, token: &str) -> Self {
        if let Some(end) = &mut self.end {
            end.continue_token = Some(token.to_owned());
        }
        self
    }

    /// There are so many items in the pages to come.
    pub fn remaining(mut self, items: u64) -> Self {
        if let Some(end) = &mut self.end {
            end.remaining_item_count = Some(items);
        }
        self
    }

    /// It fails here.
    pub fn fails(mut self, error: impl Into<ListError>) -> Self {
        self.lines.push(Line::Fail(error.into()));
        self.end = None;
        self
    }

    /// It stops here, without an end.
    pub fn breaks_off(mut self) -> Self {
        self.end = None;
        self
    }

    /// Nothing more comes, for ever.
    pub fn stalls(mut self) -> Self {
        self.lines.push(Line::Stall);
        self.end = None;
        self
    }

    pub(super) fn into_lines(self) -> Vec<Line<ListPart, ListError>> {
        let end = self.end.map(|end| Line::Say(ListPart::End(end)));
        self.lines.into_iter().chain(end).collect()
    }
}

/// A watch: events, and an end of some sort. Unless it [fails](Self::fails) or [stalls](Self::stalls), the server
/// closes it after its last event.
#[derive(Debug, Default)]
#[must_use = "it is said once it is in a script"]
pub struct Watch {
    lines: Vec<Line<WatchEvent, WatchError>>,
}

impl Watch {
    /// A watch without events.
    pub fn new() -> Self {
        Self::default()
    }

    /// An object is new.
    pub fn added(self, object: Object) -> Self {
        self.event(WatchEvent::Added(object))
    }

    /// An object has changed.
    pub fn modified(self, object: Object) -> Self {
        self.event(WatchEvent::Modified(object))
    }

    /// An object is gone.
    pub fn deleted(self, object: Object) -> Self {
        self.event(WatchEvent::Deleted(object))
    }

    /// A bookmark that ends nothing.
    pub fn bookmark(self, version: impl Into<ResourceVersion>) -> Self {
        self.event(WatchEvent::Bookmark(Bookmark { version: version.into(), initial_events_end: false }))
    }

    /// The bookmark that ends the initial events.
    pub fn initial_events_end(self, version: impl Into<ResourceVersion>) -> Self {
        self.event(WatchEvent::Bookmark(Bookmark { version: version.into(), initial_events_end: true }))
    }

    /// Any event.
    pub fn event(mut self, event: WatchEvent) -> Self {
        self.lines.push(Line::Say(event));
        self
    }

    /// What comes next takes so long to come.
    pub fn wait(mut self, time: Duration) -> Self {
        self.lines.push(Line::Wait(time));
        self
    }

    /// It fails here.
    pub fn fails(mut self, error: impl Into<WatchError>) -> Self {
        self.lines.push(Line::Fail(error.into()));
        self
    }

    /// Nothing more comes, for ever.
    pub fn stalls(mut self) -> Self {
        self.lines.push(Line::Stall);
        self
    }

    pub(super) fn into_lines(self) -> Vec<Line<WatchEvent, WatchError>> {
        self.lines
    }
}
