//! Limits of streams.

use serde_json::json;
use watchkeeper_web::stream::{Limits, MAX_SUBSCRIPTIONS};

use crate::reader::{Reader, View};
use crate::world::{World, escaped, maps};

#[tokio::test]
async fn a_stream_has_1024_subscriptions_and_no_more() {
    let world = World::start().await;
    world.create("one", "web").await;
    let subs: Vec<_> =
        (0..=MAX_SUBSCRIPTIONS).map(|number| maps(&world, &format!("s{number}"), "")).collect();
    let (mut reader, mut view) = (world.open(&[]).await, View::default());
    world.subscribe(&reader.stream, &subs[..MAX_SUBSCRIPTIONS]).await;
    reader.until_seen(&mut view, |view| view.synced.len() == MAX_SUBSCRIPTIONS).await;
    world.create("two", "web").await;
    reader.until_seen(&mut view, |view| view.subs.values().all(|rows| rows.len() == 2)).await;
    let (status, answer) = world.put(&reader.stream, &json!({"subscriptions": subs}).to_string()).await;
    assert_eq!(
        (status, answer["message"].as_str()),
        (400, Some("1025 subscriptions exceed the limit of 1024 per stream"))
    );
    world.delete("two").await;
    reader.until_seen(&mut view, |view| view.subs.values().all(|rows| rows.len() == 1)).await;
    world.stop().await;
}

#[tokio::test]
async fn invalid_subscriptions_are_rejected_and_change_nothing() {
    let world = World::start().await;
    let (mut reader, mut view) = (world.open(&[maps(&world, "a", "")]).await, View::default());
    reader.until("synced", &mut view).await;
    for body in ["", "{", "[]", r#"{"subscriptions":7}"#, r#"{"subscriptions":[{"id":"a"}]}"#] {
        let (status, answer) = world.put(&reader.stream, body).await;
        assert_eq!((status, &answer["code"]), (400, &40000.into()), "{body}: {answer}");
    }
    let (status, _) = world.put("0123456789abcdef0123456789abcdef", r#"{"subscriptions":[]}"#).await;
    assert_eq!(status, 404);
    let query = format!("?sub={}", escaped("{"));
    let (status, body) = Reader::try_open(world.address, &query, None).await.err().unwrap();
    assert_eq!(status, 400);
    assert!(body.contains("invalid subscription"), "{body}");
    world.create("one", "web").await;
    reader.until_seen(&mut view, |view| view.keys("a").len() == 1).await;
    world.stop().await;
}

#[tokio::test]
async fn the_number_of_streams_is_limited_and_disconnected_ones_are_evicted() {
    let mut limits = Limits::default();
    limits.streams = 2;
    let world = World::limited(limits).await;
    let (first, _second) = (world.open(&[]).await, world.open(&[]).await);
    let (status, body) = Reader::try_open(world.address, "", None).await.err().unwrap();
    assert_eq!((status, body.contains("too many streams")), (503, true), "{body}");
    let last = first.id();
    drop(first);
    // The service notices the disconnect a moment later.
    let third = loop {
        match Reader::try_open(world.address, "", None).await {
            Ok(third) => break third,
            Err((status, _)) => assert_eq!(status, 503),
        }
    };
    assert_eq!(world.service.streams().len(), 2);
    assert!(Reader::try_open(world.address, "", Some(&last)).await.is_err(), "the first stream was evicted");
    drop(third);
    world.stop().await;
}

#[tokio::test]
async fn streams_end_when_the_service_stops() {
    let world = World::start().await;
    let (mut reader, mut view) = (world.open(&[maps(&world, "a", "")]).await, View::default());
    reader.until("synced", &mut view).await;
    world.service.stop().await;
    while let Some(event) = reader.event().await {
        view.see(&event);
    }
    let (status, _) = Reader::try_open(world.address, "", None).await.err().unwrap();
    assert_eq!(status, 503);
    world.stop().await;
}
