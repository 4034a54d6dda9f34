//! Several at the same list at once.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use watchkeeper_cache::{InformerFactory, Keep};
use watchkeeper_client::retry_on_conflict;
use watchkeeper_controller::{Action, Controller, Finalizer, Finalizing, Manager, Request};
use watchkeeper_core::Collection;

use crate::World;

#[tokio::test]
async fn several_controllers_share_an_object_and_none_loses_what_is_anothers() {
    const CONTROLLERS: usize = 4;
    let world = World::start().await;
    let maps = Collection::CONFIG_MAPS.namespace(world.cluster.namespace());
    let factory = InformerFactory::new(world.client.clone());
    let informer = factory.informer(&maps);
    let (mut manager, all_applied) = (Manager::new(&factory), Arc::new(Notify::new()));
    for number in 0..CONTROLLERS {
        let name = format!("example.com/controller-{number}");
        let finalizer = Finalizer::new(&name, &world.maps, informer.store());
        let (reader, all_applied) = (informer.reader::<Value>(Keep::Encoded), all_applied.clone());
        manager.add(Controller::new(&name, &informer), move |request: Request| {
            let (finalizer, reader, all_applied) = (finalizer.clone(), reader.clone(), all_applied.clone());
            async move {
                let Some(map) = reader.get(request.key())? else { return Ok(Action::Done) };
                let is_ours = map["metadata"]["name"] == "shared";
                let act = |what: Finalizing<Value>| async move {
                    if let Finalizing::Apply(map) = what
                        && crate::finalizers(&map).len() == CONTROLLERS + 1
                    {
                        all_applied.notify_one();
                    }
                    Ok(Action::Done)
                };
                match is_ours {
                    true => finalizer.run(&request, map, act).await,
                    false => Ok(Action::Done),
                }
            }
        });
    }
    let story = async {
        world.create("shared", &["example.com/person"]).await;
        // A person who changes other fields and the list meanwhile.
        for round in 0..20 {
            retry_on_conflict(async || {
                let mut map = world.maps.get("shared").await?;
                map["data"] = json!({"round": round.to_string()});
                world.maps.update(&map, &Default::default()).await
            })
            .await
            .unwrap();
        }
        all_applied.notified().await;
        world.delete("shared").await;
        let ended = async {
            let mut changes = informer.subscribe(Default::default());
            while let Some(change) = changes.next().await {
                let map: Value = watchkeeper_wire::decode(&change.newest().encoded, informer.kind()).unwrap();
                if map["metadata"]["name"] == "shared" && crate::finalizers(&map) == ["example.com/person"] {
                    return;
                }
            }
        };
        ended.await;
        retry_on_conflict(async || {
            let mut map = world.maps.get("shared").await?;
            map["metadata"]["finalizers"] = json!([]);
            world.maps.update(&map, &Default::default()).await
        })
        .await
        .unwrap();
        assert_eq!(world.get("shared").await, None);
    };
    manager.run_until(Box::pin(story)).await.unwrap();
    world.cluster.stop().await;
}

#[tokio::test]
async fn one_finalizer_survives_many_who_put_on_and_take_off_theirs() {
    let world = World::start().await;
    let map = world.create("busy", &["example.com/first"]).await;
    let mut others = JoinSet::new();
    for number in 0..6 {
        let (maps, name) = (world.maps.clone(), format!("example.com/other-{number}"));
        others.spawn(async move {
            for _ in 0..5 {
                for on in [true, false] {
                    // As someone does it who knows of no one else: read, change, write if nothing has changed.
                    while let Err(error) = async {
                        let mut map = maps.get("busy").await?;
                        let mut list = crate::finalizers(&map);
                        list.retain(|other| *other != name);
                        if on {
                            list.push(name.clone());
                        }
                        map["metadata"]["finalizers"] = json!(list);
                        maps.update(&map, &Default::default()).await
                    }
                    .await
                    {
                        assert!(error.is_conflict(), "{error}");
                    }
                }
            }
        });
    }
    let mut applied = 0;
    while applied == 0 {
        applied = world.run(&map, Ok(Action::Done)).await.0.len(); // again if the list changes all the time
    }
    while let Some(other) = others.join_next().await {
        other.unwrap();
    }
    let mut left = world.finalizers("busy").await;
    left.sort();
    assert_eq!(left, ["example.com/first", crate::OURS]);
    world.cluster.stop().await;
}
