//! Scripted responses to lists and watches.

use std::time::Duration;

use watchkeeper_core::{
    Bookmark, ListError, ListMeta, ListPart, Object, ResourceVersion, WatchError, WatchEvent,
};

use super::Request;

/// The response to one request.
#[derive(Debug)]
pub struct Response(pub(super) Kind);

#[derive(Debug)]
pub(super) enum Kind {
    List(List),
    Watch(Watch),
    /// The watch fails to open.
    WatchError(WatchError),
}

impl Response {
    pub(super) fn matches(&self, request: &Request) -> bool {
        matches!(
            (&self.0, request),
            (Kind::List(_), Request::List(_)) | (Kind::Watch(_) | Kind::WatchError(_), Request::Watch(_))
        )
    }
}

impl From<List> for Response {
    fn from(list: List) -> Self {
        Self(Kind::List(list))
    }
}

impl From<Watch> for Response {
    fn from(watch: Watch) -> Self {
        Self(Kind::Watch(watch))
    }
}

/// A step of a response.
#[derive(Debug)]
pub(super) enum Step<T, E> {
    Yield(T),
    Wait(Duration),
    Fail(E),
    Stall,
}

/// A list, or a page of one: items and an end.
#[derive(Debug)]
#[must_use = "has no effect until it is added to a script"]
pub struct List {
    steps: Vec<Step<ListPart, ListError>>,
    /// `None` if the list is incomplete.
    end: Option<ListMeta>,
}

impl List {
    /// Creates an empty list at a version.
    pub fn at(version: impl Into<ResourceVersion>) -> Self {
        let end = ListMeta::new(version.into());
        Self { steps: Vec::new(), end: Some(end) }
    }

    pub(super) fn failed(error: impl Into<ListError>) -> Self {
        Self { steps: vec![Step::Fail(error.into())], end: None }
    }

    pub(super) fn stalled() -> Self {
        Self { steps: vec![Step::Stall], end: None }
    }

    /// Adds an object.
    pub fn item(mut self, object: Object) -> Self {
        self.steps.push(Step::Yield(ListPart::Item(object)));
        self
    }

    /// Adds objects.
    pub fn items(self, objects: impl IntoIterator<Item = Object>) -> Self {
        objects.into_iter().fold(self, Self::item)
    }

    /// Waits before the next step.
    pub fn wait(mut self, time: Duration) -> Self {
        self.steps.push(Step::Wait(time));
        self
    }

    /// Sets the continue token of the next page.
    pub fn continues(mut self, token: &str) -> Self {
        if let Some(end) = &mut self.end {
            end.continue_token = Some(token.to_owned());
        }
        self
    }

    /// Sets the remaining item count.
    pub fn remaining(mut self, items: u64) -> Self {
        if let Some(end) = &mut self.end {
            end.remaining_item_count = Some(items);
        }
        self
    }

    /// Fails at this point.
    pub fn fails(mut self, error: impl Into<ListError>) -> Self {
        self.steps.push(Step::Fail(error.into()));
        self.end = None;
        self
    }

    /// Ends the stream without a list end.
    pub fn breaks_off(mut self) -> Self {
        self.end = None;
        self
    }

    /// Stalls at this point, forever.
    pub fn stalls(mut self) -> Self {
        self.steps.push(Step::Stall);
        self.end = None;
        self
    }

    pub(super) fn into_steps(self) -> Vec<Step<ListPart, ListError>> {
        let end = self.end.map(|end| Step::Yield(ListPart::End(end)));
        self.steps.into_iter().chain(end).collect()
    }
}

/// A watch: events, after which the stream ends unless it [fails](Self::fails) or [stalls](Self::stalls).
#[derive(Debug, Default)]
#[must_use = "has no effect until it is added to a script"]
pub struct Watch {
    steps: Vec<Step<WatchEvent, WatchError>>,
}

impl Watch {
    /// Creates a watch without events.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an ADDED event.
    pub fn added(self, object: Object) -> Self {
        self.event(WatchEvent::Added(object))
    }

    /// Adds a MODIFIED event.
    pub fn modified(self, object: Object) -> Self {
        self.event(WatchEvent::Modified(object))
    }

    /// Adds a DELETED event.
    pub fn deleted(self, object: Object) -> Self {
        self.event(WatchEvent::Deleted(object))
    }

    /// Adds a bookmark.
    pub fn bookmark(self, version: impl Into<ResourceVersion>) -> Self {
        self.event(WatchEvent::Bookmark(Bookmark { version: version.into(), initial_events_end: false }))
    }

    /// Adds the bookmark that ends the initial events.
    pub fn initial_events_end(self, version: impl Into<ResourceVersion>) -> Self {
        self.event(WatchEvent::Bookmark(Bookmark { version: version.into(), initial_events_end: true }))
    }

    /// Adds an event.
    pub fn event(mut self, event: WatchEvent) -> Self {
        self.steps.push(Step::Yield(event));
        self
    }

    /// Waits before the next step.
    pub fn wait(mut self, time: Duration) -> Self {
        self.steps.push(Step::Wait(time));
        self
    }

    /// Fails at this point.
    pub fn fails(mut self, error: impl Into<WatchError>) -> Self {
        self.steps.push(Step::Fail(error.into()));
        self
    }

    /// Stalls at this point, forever.
    pub fn stalls(mut self) -> Self {
        self.steps.push(Step::Stall);
        self
    }

    pub(super) fn into_steps(self) -> Vec<Step<WatchEvent, WatchError>> {
        self.steps
    }
}
