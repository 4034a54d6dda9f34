//! Transforms: once for each received state, and their failures.

use std::sync::Arc;

use parking_lot::Mutex;
use watchkeeper_cache::delta::Delta;
use watchkeeper_cache::handler::{Filter, RawEvent, RawEvents};
use watchkeeper_cache::{Reflector, Store};
use watchkeeper_core::{Encoded, Object, ObjectMetaBuilder};
use watchkeeper_testkit::script::{List, Script, Watch, object};

use crate::story::{Recorder, Story, story_of};

/// Runs a reflector against a script, with a transform that fails for objects with this name.
async fn played(script: Script, bad: &'static str) -> (Story, Vec<String>) {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let story = story_of(&script, |reflector: Reflector<Recorder>| {
        let seen = seen.clone();
        reflector.transform(move |object| {
            seen.lock().push(format!("{}@{}", object.metadata.key(), object.metadata.resource_version()));
            match object.metadata.key().name() == bad {
                true => Err("it is bad".into()),
                false => Ok(()),
            }
        })
    })
    .await;
    let seen = seen.lock().clone();
    (story, seen)
}

#[tokio::test(start_paused = true)]
async fn every_object_is_transformed_once_when_received() {
    let listed = Script::new()
        .without_initial_events()
        .then(List::at(2).items([object("a", 1), object("b", 2)]))
        .then(Watch::new().added(object("c", 3)).modified(object("a", 4)).deleted(object("b", 5)).stalls());
    let streamed = Script::new().then(
        Watch::new()
            .added(object("a", 1))
            .added(object("b", 2))
            .initial_events_end(2)
            .added(object("c", 3))
            .modified(object("a", 4))
            .deleted(object("b", 5))
            .stalls(),
    );
    for script in [listed, streamed] {
        let (story, seen) = played(script, "none").await;
        assert_eq!(seen, ["a@1", "b@2", "c@3", "a@4", "b@5"]);
        assert_eq!(story.writes, ["commit @2: a@1 b@2", "put c@3", "put a@4", "delete b@5"]);
    }
}

#[tokio::test(start_paused = true)]
async fn an_object_that_fails_to_transform_keeps_its_state_and_is_reported() {
    let script = Script::new()
        .without_initial_events()
        .then(List::at(2).items([object("a", 1), object("bad", 2)]))
        .then(
            Watch::new().modified(object("bad", 3)).added(object("c", 4)).deleted(object("bad", 5)).stalls(),
        );
    let (story, _) = played(script, "bad").await;
    assert_eq!(story.writes, ["commit @2: a@1", "bookmark @3", "put c@4", "delete unseen bad@5"]);
    assert_eq!(story.observed.untransformed, ["bad@2: it is bad", "bad@3: it is bad", "bad@5: it is bad"]);
    assert_eq!(story.observed.versions, ["2", "3", "4", "5"], "the version counts");
    assert_eq!(story.observed.lists.len(), 1, "the list does not fail");
}

#[tokio::test(start_paused = true)]
async fn a_store_keeps_the_last_transformed_state_until_the_object_is_deleted() {
    let expired = || watchkeeper_core::Status::expired("too old");
    let script = Script::new()
        .without_initial_events()
        .then(List::at(2).items([object("a", 1), object("b", 2)]))
        .then(Watch::new().modified(object("b", 3)).fails(expired()))
        .then(List::at(5).items([object("a", 4), object("b", 3)]))
        .then(Watch::new().modified(object("a", 6)).deleted(object("b", 7)).stalls());
    let (store, writer) = Store::new();
    let mut seen = RawEvents::new(&store, Filter::default(), 100);
    let reflector = Reflector::new(script.clone(), writer).transform(|object| {
        match (object.metadata.key().name(), object.metadata.resource_version().as_u64()) {
            ("b", Some(3..)) => Err("it is bad".into()),
            _ => Ok(()),
        }
    });
    reflector.run(script.played()).await;
    let mut writes = Vec::new();
    while let Some(RawEvent::Event(delta)) = seen.next().await {
        writes.push(match &delta {
            Delta::Deleted { old, last } => {
                format!("-{}@{} {}", old.metadata.key(), old.metadata.resource_version(), last.is_some())
            }
            other => {
                format!("{}@{}", other.newest().metadata.key(), other.newest().metadata.resource_version())
            }
        });
    }
    assert_eq!(writes, ["a@1", "b@2", "a@4", "a@6", "-b@2 false"]);
    assert_eq!(store.snapshot().version(), &7.into());
}

#[tokio::test(start_paused = true)]
async fn a_transform_that_panics_or_changes_the_identity_fails() {
    let script = Script::new()
        .without_initial_events()
        .then(List::at(3).items([object("a", 1), object("b", 2), object("c", 3)]))
        .then(Watch::new().stalls());
    let story = story_of(&script, |reflector| {
        reflector.transform(|object: &mut Object| match object.metadata.key().name() {
            "a" => panic!("of all things"),
            "b" => {
                object.metadata = ObjectMetaBuilder::default().name("other").version("2").uid("b").finish();
                Ok(())
            }
            _ => {
                object.encoded = Encoded::json(*b"{}");
                Ok(())
            }
        })
    })
    .await;
    assert_eq!(story.writes, ["commit @3: c@3"]);
    let expected =
        ["a@1: transform panicked: of all things", "b@2: transform changed the key, UID or resource version"];
    assert_eq!(story.observed.untransformed, expected);
}

#[tokio::test(start_paused = true)]
async fn a_transform_that_strips_the_metadata_of_the_body_does_not_hide_the_version() {
    let script = Script::new()
        .without_initial_events()
        .then(List::at(2).item(object("a", 1)))
        .then(Watch::new().modified(object("a", 3)).deleted(object("a", 4)).stalls());
    let (store, writer) = Store::new();
    let mut seen = RawEvents::new(&store, Filter::default(), 100);
    let reflector = Reflector::new(script.clone(), writer).transform(|object| {
        object.encoded = Encoded::json(*b"{}");
        Ok(())
    });
    reflector.run(script.played()).await;
    assert_eq!(store.snapshot().version(), &4.into());
    let mut versions = Vec::new();
    while let Some(RawEvent::Event(delta)) = seen.next().await {
        assert_eq!(&*delta.newest().encoded.body, b"{}");
        versions.push(delta.newest().metadata.resource_version().to_string());
    }
    assert_eq!(versions, ["1", "3", "4"]);
}
