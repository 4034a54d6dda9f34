//! One step after the other.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use watchkeeper_client::rest::PatchKind;
use watchkeeper_controller::Action;
use watchkeeper_testkit::{Fault, Verb};

use crate::{OURS, World};

const WELL: Result<Action, &str> = Ok(Action::Done);

fn done(what: &[&str]) -> (Vec<String>, bool) {
    (what.iter().map(ToString::to_string).collect(), true)
}

#[tokio::test]
async fn it_is_on_the_object_before_anything_is_applied_and_is_written_once() {
    let world = World::start().await;
    let map = world.create("a", &[]).await;
    let applied = format!("apply with [{OURS:?}]");
    assert_eq!(world.run(&map, WELL).await, done(&[&applied]));
    let written = world.get("a").await.unwrap();
    assert_eq!(world.run(&written, WELL).await, done(&[&applied]));
    assert_eq!(world.get("a").await.unwrap(), written, "nothing is written the second time");
    // With the old state it is seen that it is there.
    assert_eq!(world.run(&map, WELL).await, done(&[&applied]));
    assert_eq!(world.get("a").await.unwrap(), written);

    let other = world.create("b", &["example.com/other"]).await;
    world.run(&other, WELL).await;
    assert_eq!(world.finalizers("b").await, ["example.com/other", OURS]);
    world.cluster.stop().await;
}

#[tokio::test]
async fn it_is_taken_off_after_the_cleanup_and_no_other_with_it() {
    let world = World::start().await;
    world.create("a", &["example.com/one", OURS, "example.com/two"]).await;
    world.delete("a").await;
    let going = world.get("a").await.unwrap();
    assert_eq!(world.run(&going, Err("not yet")).await, (vec!["cleanup".to_owned()], false));
    assert_eq!(world.finalizers("a").await.len(), 3, "as long as the cleanup fails it stays");
    assert_eq!(world.run(&going, WELL).await, done(&["cleanup"]));
    assert_eq!(world.finalizers("a").await, ["example.com/one", "example.com/two"]);

    let waits = world.get("a").await.unwrap();
    assert_eq!(world.run(&waits, WELL).await, done(&[]), "it waits for others");
    assert_eq!(world.run(&going, WELL).await, done(&["cleanup"]), "from an old state it is done again");
    assert_eq!(world.get("a").await.unwrap(), waits);

    world.create("alone", &[OURS]).await;
    world.delete("alone").await;
    let going = world.get("alone").await.unwrap();
    assert_eq!(world.run(&going, WELL).await, done(&["cleanup"]));
    assert_eq!(world.get("alone").await, None);
    assert_eq!(world.run(&going, WELL).await, done(&["cleanup"]), "although it is gone");
    world.cluster.stop().await;
}

#[tokio::test]
async fn what_is_gone_goes_or_is_another_is_left_alone() {
    let world = World::start().await;
    let map = world.create("a", &[]).await;
    world.delete("a").await;
    assert_eq!(world.run(&map, WELL).await, done(&[]));
    let another = world.create("a", &[]).await;
    assert_eq!(world.run(&map, WELL).await, done(&[]));
    assert_eq!(world.get("a").await.unwrap(), another);

    let wanted = world.create("b", &["example.com/other"]).await;
    world.delete("b").await;
    assert_eq!(world.run(&wanted, WELL).await, done(&[]), "it has begun to go");
    assert_eq!(world.finalizers("b").await, ["example.com/other"]);
    world.cluster.stop().await;
}

#[tokio::test]
async fn a_view_that_does_not_show_all_loses_nothing() {
    let world = World::start().await;
    let map = world.create("a", &["example.com/other"]).await;
    let mut cut = Value::clone(&map);
    cut["metadata"].as_object_mut().unwrap().remove("finalizers");
    let (done, is_well) = world.run(&Arc::new(cut), WELL).await;
    assert_eq!((done.len(), is_well), (1, true));
    assert_eq!(world.finalizers("a").await, ["example.com/other", OURS]);
    // Other changes do not matter.
    let old = world.create("b", &[]).await;
    let label = json!({"metadata": {"labels": {"a": "b"}}});
    world.maps.patch("b", PatchKind::Merge, &label, &Default::default()).await.unwrap();
    let reads = Fault::on(Verb::Get).resource("configmaps").delay(Duration::ZERO);
    let reads = world.cluster.faults().add(reads);
    world.run(&old, WELL).await;
    assert_eq!(reads.hits(), 0, "the patch alone does it");
    assert_eq!(world.finalizers("b").await, [OURS]);
    world.cluster.stop().await;
}
