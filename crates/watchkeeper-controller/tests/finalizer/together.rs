//! Concurrent changes to one list of finalizers.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use watchkeeper_cache::InformerFactory;
use watchkeeper_client::retry_on_conflict;
use watchkeeper_controller::{Action, Controller, Error, Finalizer, Finalizing, Manager};
use watchkeeper_core::Collection;

use crate::World;

const CONTROLLERS: usize = 4;

/// Keeps a finalizer on the shared map, and notifies when all controllers have theirs on it.
async fn keep_finalizer(
    map: Arc<Value>,
    context: Arc<(Finalizer<Value>, Arc<Notify>)>,
) -> Result<Action, Error> {
    if map["metadata"]["name"] != "shared" {
        return Ok(Action::await_change());
    }
    let (finalizer, all_applied) = &*context;
    finalizer
        .run(map, |step| async move {
            if let Finalizing::Apply(map) = step
                && crate::finalizers(&map).len() == CONTROLLERS + 1
            {
                all_applied.notify_one();
            }
            Ok(Action::await_change())
        })
        .await
}

#[tokio::test]
async fn several_controllers_keep_their_finalizers_on_one_object() {
    let world = World::start().await;
    let maps = Collection::CONFIG_MAPS.namespace(world.cluster.namespace());
    let factory = InformerFactory::new(world.client.clone());
    let informer = factory.informer(&maps);
    let (mut manager, all_applied) = (Manager::new(&factory), Arc::new(Notify::new()));
    for number in 0..CONTROLLERS {
        let name = format!("example.com/controller-{number}");
        let finalizer = Finalizer::new(&name, &world.maps);
        let context = Arc::new((finalizer, all_applied.clone()));
        manager.add(Controller::new(&name, &informer), keep_finalizer, context);
    }
    let scenario = async {
        world.create("shared", &["example.com/person"]).await;
        // Meanwhile another client changes other fields.
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
    manager.run_until(Box::pin(scenario)).await.unwrap();
    world.cluster.stop().await;
}

#[tokio::test]
async fn a_finalizer_survives_concurrent_additions_and_removals_of_others() {
    let world = World::start().await;
    let map = world.create("busy", &["example.com/first"]).await;
    let mut others = JoinSet::new();
    for number in 0..6 {
        let (maps, name) = (world.maps.clone(), format!("example.com/other-{number}"));
        others.spawn(async move {
            for _ in 0..5 {
                for on in [true, false] {
                    // Read, modify, update with the resource version, as a typical client does.
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
        applied = world.run(&map, Ok(Action::await_change())).await.0.len(); // repeated while the list keeps changing
    }
    while let Some(other) = others.join_next().await {
        other.unwrap();
    }
    let mut left = world.finalizers("busy").await;
    left.sort();
    assert_eq!(left, ["example.com/first", crate::OURS]);
    world.cluster.stop().await;
}
