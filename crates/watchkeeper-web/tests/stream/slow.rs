//! Slow clients use bounded memory and receive the newest state.

use serde_json::json;

use crate::reader::View;
use crate::world::{World, maps};

#[tokio::test]
async fn changes_coalesce_per_key_for_slow_clients() {
    const CHANGES: usize = 80;
    let world = World::start().await;
    world.create("one", "web").await;
    world.create("two", "web").await;
    let mut sub = maps(&world, "a", "");
    sub["as"] = "object".into();
    let (mut reader, mut view) = (world.open(&[sub]).await, View::default());
    reader.until("synced", &mut view).await;
    let before = reader.last;
    // Far more than the buffers of a connection hold, without anything being read.
    let large = "x".repeat(300_000);
    for number in 0..CHANGES {
        let name = if number % 2 == 0 { "one" } else { "two" };
        world.merge(name, &json!({"data": {"of": format!("{number} {large}")}})).await;
    }
    let watched = world.service.catalog().watched("", "v1", "configmaps").await.unwrap();
    let streams = watched.informer.store().handlers();
    let stream = streams.iter().find(|figures| &*figures.name == "stream").unwrap();
    assert!(stream.pending <= 2, "more than one change per key: {stream:?}");
    assert!(stream.coalesced > 0, "{stream:?}");
    let begins = |view: &View, name: &str, number: usize| {
        let text = view.subs["a"][&world.key(name)]["data"]["of"].as_str().unwrap();
        text.starts_with(&format!("{number} "))
    };
    reader
        .until_seen(&mut view, |view| begins(view, "one", CHANGES - 2) && begins(view, "two", CHANGES - 1))
        .await;
    let messages = reader.last - before;
    assert!(messages < CHANGES as u64, "{messages} messages for {CHANGES} changes");
    world.stop().await;
}
