//! Resuming a stream.

use std::time::Duration;

use serde_json::json;
use watchkeeper_web::stream::Limits;

use crate::reader::{Reader, View};
use crate::world::{World, maps};

#[tokio::test]
async fn resuming_sends_only_what_changed() {
    let world = World::start().await;
    for name in ["stays", "changes", "goes"] {
        world.create(name, "web").await;
    }
    let (mut reader, mut view) = (world.open(&[maps(&world, "a", "")]).await, View::default());
    reader.until("synced", &mut view).await;
    let last = reader.id();
    drop(reader);
    for app in ["one", "two", "three"] {
        world.label("changes", app).await;
    }
    world.delete("goes").await;
    world.create("came", "web").await;
    world.create("came-and-went", "web").await;
    world.delete("came-and-went").await;

    let mut reader = Reader::open(world.address, "", Some(&last)).await;
    assert!(reader.resumed && reader.id() == last);
    let mut resumed_view = View { subs: view.subs.clone(), ..View::default() };
    let mut rows = Vec::new();
    let served = world.served().await;
    while resumed_view.keys("a") != served.keys().collect::<Vec<_>>()
        || resumed_view.subs["a"][&world.key("changes")][4]["app"] != "three"
    {
        let event = reader.next().await;
        assert_eq!(event.event, "rows");
        rows.extend(event.data["rows"].as_array().unwrap().iter().map(|row| row[0].clone()));
        resumed_view.see(&event);
    }
    assert!(!rows.contains(&json!(world.key("stays"))), "unchanged row was sent: {rows:?}");
    world.stop().await;
}

#[tokio::test]
async fn lost_messages_are_replayed_unchanged() {
    let world = World::start().await;
    world.create("one", "web").await;
    let mut reader = world.open(&[maps(&world, "a", "")]).await;
    let first = reader.next().await;
    let last = reader.id();
    let (second, third) = (reader.next().await, reader.next().await);
    assert_eq!((first.event.as_str(), third.event.as_str()), ("columns", "synced"));
    // The same stream over a second connection, while the first is still open; the first ends.
    let mut again = Reader::open(world.address, &format!("?last={last}"), None).await;
    assert!(again.resumed);
    assert_eq!((again.next().await, again.next().await), (second, third));
    assert_eq!(reader.event().await, None);
    world.create("two", "web").await;
    assert_eq!(again.next().await.data["rows"][0][0], world.key("two"));
    world.stop().await;
}

#[tokio::test]
async fn clients_that_missed_too_much_are_reset() {
    let world = World::start().await;
    let large = "x".repeat(400_000);
    for name in ["one", "two", "three"] {
        world.create(name, "web").await;
    }
    let mut sub = maps(&world, "a", "");
    sub["as"] = "object".into();
    let (mut reader, mut view) = (world.open(&[sub]).await, View::default());
    reader.until("synced", &mut view).await;
    let last = reader.id();
    for name in ["one", "two", "three", "one"] {
        let data = format!("{large}{}", reader.last);
        world.merge(name, &json!({"data": {"of": data}})).await;
        reader.until_seen(&mut view, |view| view.subs["a"][&world.key(name)]["data"]["of"] == data).await;
    }
    drop(reader);
    let mut reader = Reader::open(world.address, "", Some(&last)).await;
    assert!(reader.resumed);
    let reset = reader.event().await.unwrap();
    assert_eq!((reset.event.as_str(), &reset.data), ("reset", &json!({"sub": "a"})));
    let mut again = View::default();
    reader.last = reset.id.rsplit_once('.').unwrap().1.parse().unwrap();
    reader.until("synced", &mut again).await;
    assert_eq!(again.subs, view.subs);
    world.stop().await;
}

#[tokio::test]
async fn expired_streams_start_anew() {
    let mut limits = Limits::default();
    limits.retention = Duration::from_millis(50);
    let world = World::limited(limits).await;
    let sub = maps(&world, "a", "");
    let (mut reader, mut view) = (world.open(std::slice::from_ref(&sub)).await, View::default());
    reader.until("synced", &mut view).await;
    let (last, stream) = (reader.id(), reader.stream.clone());
    drop(reader);
    while !world.service.streams().is_empty() {
        tokio::task::yield_now().await;
    }
    let (status, answer) = world.put(&stream, r#"{"subscriptions":[]}"#).await;
    assert_eq!((status, &answer["code"]), (404, &40000.into()));
    let mut reader = Reader::open(world.address, "", Some(&last)).await;
    assert!(!reader.resumed && reader.stream != stream);
    world.subscribe(&reader.stream, &[sub]).await;
    reader.until("synced", &mut view).await;
    world.stop().await;
}

#[tokio::test]
async fn invalid_ids_start_anew() {
    let world = World::start().await;
    let reader = world.open(&[]).await;
    let stream = &reader.stream;
    for last in ["", "x", "x.1", ".0", &format!("{stream}.7"), &format!("{stream}.-1"), stream] {
        let other = Reader::open(world.address, "", Some(last)).await;
        assert!(!other.resumed && other.stream != *stream, "{last}");
    }
    let same = Reader::open(world.address, "", Some(&format!("{stream}.0"))).await;
    assert!(same.resumed && same.stream == *stream);
    world.stop().await;
}
