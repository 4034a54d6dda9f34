//! The steps of a finalizer, one at a time.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use watchkeeper_client::rest::PatchKind;
use watchkeeper_controller::Action;
use watchkeeper_testkit::{Fault, Verb};

use crate::{OURS, World};

const SUCCESS: Result<Action, &str> = Ok(Action::await_change());

fn done(what: &[&str]) -> (Vec<String>, bool) {
    (what.iter().map(ToString::to_string).collect(), true)
}

#[tokio::test]
async fn the_finalizer_is_added_once_before_apply_runs() {
    let world = World::start().await;
    let map = world.create("a", &[]).await;
    let applied = format!("apply with [{OURS:?}]");
    assert_eq!(world.run(&map, SUCCESS).await, done(&[&applied]));
    let written = world.get("a").await.unwrap();
    assert_eq!(world.run(&written, SUCCESS).await, done(&[&applied]));
    assert_eq!(world.get("a").await.unwrap(), written, "the second run writes nothing");
    // A stale cache does not add it twice.
    assert_eq!(world.run(&map, SUCCESS).await, done(&[&applied]));
    assert_eq!(world.get("a").await.unwrap(), written);

    let other = world.create("b", &["example.com/other"]).await;
    world.run(&other, SUCCESS).await;
    assert_eq!(world.finalizers("b").await, ["example.com/other", OURS]);
    world.cluster.stop().await;
}

#[tokio::test]
async fn the_finalizer_is_removed_after_the_cleanup_and_no_other_with_it() {
    let world = World::start().await;
    world.create("a", &["example.com/one", OURS, "example.com/two"]).await;
    world.delete("a").await;
    let terminating = world.get("a").await.unwrap();
    assert_eq!(world.run(&terminating, Err("not yet")).await, (vec!["cleanup".to_owned()], false));
    assert_eq!(world.finalizers("a").await.len(), 3, "it stays while the cleanup fails");
    assert_eq!(world.run(&terminating, SUCCESS).await, done(&["cleanup"]));
    assert_eq!(world.finalizers("a").await, ["example.com/one", "example.com/two"]);

    let waiting = world.get("a").await.unwrap();
    assert_eq!(world.run(&waiting, SUCCESS).await, done(&[]), "it waits for other finalizers");
    assert_eq!(
        world.run(&terminating, SUCCESS).await,
        done(&["cleanup"]),
        "a stale cache repeats the cleanup"
    );
    assert_eq!(world.get("a").await.unwrap(), waiting);

    world.create("alone", &[OURS]).await;
    world.delete("alone").await;
    let terminating = world.get("alone").await.unwrap();
    assert_eq!(world.run(&terminating, SUCCESS).await, done(&["cleanup"]));
    assert_eq!(world.get("alone").await, None);
    assert_eq!(world.run(&terminating, SUCCESS).await, done(&["cleanup"]), "even after it is gone");
    world.cluster.stop().await;
}

#[tokio::test]
async fn deleted_terminating_and_replaced_objects_are_left_alone() {
    let world = World::start().await;
    let map = world.create("a", &[]).await;
    world.delete("a").await;
    assert_eq!(world.run(&map, SUCCESS).await, done(&[]));
    let another = world.create("a", &[]).await;
    assert_eq!(world.run(&map, SUCCESS).await, done(&[]));
    assert_eq!(world.get("a").await.unwrap(), another);

    let wanted = world.create("b", &["example.com/other"]).await;
    world.delete("b").await;
    assert_eq!(world.run(&wanted, SUCCESS).await, done(&[]), "its deletion has started");
    assert_eq!(world.finalizers("b").await, ["example.com/other"]);
    world.cluster.stop().await;
}

#[tokio::test]
async fn a_cache_that_drops_finalizers_loses_none_on_the_server() {
    let world = World::start().await;
    let map = world.create("a", &["example.com/other"]).await;
    let mut cut = Value::clone(&map);
    cut["metadata"].as_object_mut().unwrap().remove("finalizers");
    let (done, succeeded) = world.run(&Arc::new(cut), SUCCESS).await;
    assert_eq!((done.len(), succeeded), (1, true));
    assert_eq!(world.finalizers("a").await, ["example.com/other", OURS]);
    // Unrelated changes do not conflict.
    let old = world.create("b", &[]).await;
    let label = json!({"metadata": {"labels": {"a": "b"}}});
    world.maps.patch("b", PatchKind::Merge, &label, &Default::default()).await.unwrap();
    let reads = Fault::on(Verb::Get).resource("configmaps").delay(Duration::ZERO);
    let reads = world.cluster.faults().add(reads);
    world.run(&old, SUCCESS).await;
    assert_eq!(reads.hits(), 0, "one patch is enough");
    assert_eq!(world.finalizers("b").await, [OURS]);
    world.cluster.stop().await;
}
