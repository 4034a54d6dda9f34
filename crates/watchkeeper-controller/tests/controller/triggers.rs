//! Changes that cause a call.

use std::sync::Arc;
use watchkeeper_controller::{Controller, predicate};
use watchkeeper_core::{ObjectKey, OwnerReference};
use watchkeeper_testkit::script::{List, Watch};

use crate::{Calls, SECOND, after, informer, part, shop, shops};

#[tokio::test(start_paused = true)]
async fn every_initial_object_and_every_change_is_reconciled() {
    let shops = shops(
        List::at(2).item(shop("a", 1, 1)).item(shop("b", 2, 1)),
        Watch::new().wait(SECOND).modified(shop("b", 3, 2)).wait(SECOND).deleted(shop("a", 4, 1)),
    );
    let calls = Calls::new();
    Controller::new("shops", &shops).run(calls.noting(), Arc::new(()), after(5)).await;
    assert_eq!(calls.all(), ["a@0", "b@0", "b@1", "a@2"]);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_reconciled_before_all_informers_are_ready() {
    let shops = shops(List::at(1).item(shop("a", 1, 1)), Watch::new());
    let others = informer("Part", List::at(1).wait(SECOND * 3), Watch::new());
    let calls = Calls::new();
    Controller::new("shops", &shops).owns(&others).run(calls.noting(), Arc::new(()), after(5)).await;
    assert_eq!(calls.all(), ["a@3"]);
}

#[tokio::test(start_paused = true)]
async fn changes_of_owned_objects_reconcile_the_owner() {
    let a =
        OwnerReference { api_version: "example.com/v2", kind: "Shop", name: "a", uid: "a", controller: true };
    let b = OwnerReference { name: "b", uid: "b", ..a };
    let strangers = [
        OwnerReference { kind: "Stall", ..a },
        OwnerReference { api_version: "example.org/v1", ..a },
        OwnerReference { controller: false, ..a },
    ];
    let shops = shops(List::at(1).item(shop("a", 1, 1)).item(shop("b", 1, 1)), Watch::new());
    let mut watch = Watch::new().wait(SECOND).added(part("p", 2, &a));
    watch = watch.wait(SECOND).modified(part("p", 3, &b)); // was a's
    watch = watch.wait(SECOND).deleted(part("p", 4, &b));
    for (number, stranger) in (5..).zip(&strangers) {
        watch = watch.wait(SECOND).added(part(&format!("q{number}"), number, stranger));
    }
    let parts = informer("Part", List::at(1), watch);
    let calls = Calls::new();
    Controller::new("shops", &shops).owns(&parts).run(calls.noting(), Arc::new(()), after(10)).await;
    assert_eq!(calls.all(), ["a@0", "b@0", "a@1", "a@2", "b@2", "b@3"]);
}

#[tokio::test(start_paused = true)]
async fn an_object_created_and_deleted_before_delivery_causes_one_call() {
    let a =
        OwnerReference { api_version: "example.com/v1", kind: "Shop", name: "a", uid: "a", controller: true };
    // Both events arrive at once: the controller receives them as one delta.
    let shops = shops(
        List::at(1).item(shop("a", 1, 1)),
        Watch::new().wait(SECOND).added(shop("b", 2, 1)).deleted(shop("b", 3, 1)),
    );
    let parts = informer(
        "Part",
        List::at(1),
        Watch::new().wait(SECOND * 2).added(part("p", 2, &a)).deleted(part("p", 3, &a)),
    );
    let calls = Calls::new();
    Controller::new("shops", &shops).owns(&parts).run(calls.noting(), Arc::new(()), after(5)).await;
    assert_eq!(calls.all(), ["a@0", "b@1", "a@2"]);
}

#[tokio::test(start_paused = true)]
async fn keys_from_a_channel_are_reconciled() {
    let shops = shops(List::at(1).item(shop("a", 1, 1)), Watch::new());
    let (sender, keys) = tokio::sync::mpsc::channel(4);
    sender.send(ObjectKey::namespaced("x", "early")).await.unwrap();
    let calls = Calls::new();
    let sending = tokio::spawn(async move {
        tokio::time::sleep(SECOND * 2).await;
        sender.send(ObjectKey::namespaced("x", "late")).await.unwrap();
    });
    Controller::new("shops", &shops).reconcile_on(keys).run(calls.noting(), Arc::new(()), after(5)).await;
    sending.await.unwrap();
    let mut all = calls.all();
    all[..2].sort();
    assert_eq!(all, ["a@0", "early@0", "late@2"], "the controller outlives the sender");
}

#[tokio::test(start_paused = true)]
async fn a_custom_mapping_decides_which_keys_are_reconciled() {
    let shops = shops(List::at(1).item(shop("a", 1, 1)), Watch::new());
    let prices = informer("Price", List::at(1), Watch::new().wait(SECOND).added(shop("beer", 2, 1)));
    let calls = Calls::new();
    let all_shops = |_: &_| vec![ObjectKey::namespaced("x", "a"), ObjectKey::namespaced("x", "z")];
    Controller::new("shops", &shops)
        .watches(&prices, all_shops)
        .run(calls.noting(), Arc::new(()), after(5))
        .await;
    assert_eq!(calls.all(), ["a@0", "a@1", "z@1"]);
}

#[tokio::test(start_paused = true)]
async fn a_predicate_filters_updates_and_nothing_else() {
    let mut terminating = shop("a", 4, 1);
    terminating.metadata = {
        let mut head = watchkeeper_core::ObjectMetaBuilder::default();
        head.namespace("x").name("a").uid("a").version("4").generation(1);
        head.deleted("2026-01-01T00:00:00Z".parse().ok());
        head.finish()
    };
    let shops = shops(
        List::at(1).item(shop("a", 1, 1)),
        Watch::new()
            .wait(SECOND)
            .modified(shop("a", 2, 1)) // only its status
            .wait(SECOND)
            .added(shop("b", 3, 1))
            .wait(SECOND)
            .modified(terminating)
            .wait(SECOND)
            .deleted(shop("a", 5, 1)),
    );
    let calls = Calls::new();
    Controller::new("shops", &shops)
        .with_predicate(predicate::generation_changed)
        .run(calls.noting(), Arc::new(()), after(9))
        .await;
    assert_eq!(calls.all(), ["a@0", "b@2", "a@3", "a@4"]);
    // Not even a predicate that rejects everything hides objects.
    assert_eq!(shops.store().snapshot().len(), 1);
    let calls = Calls::new();
    Controller::new("shops", &shops)
        .with_predicate(|_, _| false)
        .run(calls.noting(), Arc::new(()), after(1))
        .await;
    assert_eq!(calls.all(), ["b@0"]);
}

#[tokio::test(start_paused = true)]
async fn resync_reconciles_every_object_periodically() {
    let shops = shops(List::at(1).item(shop("a", 1, 1)), Watch::new());
    let calls = Calls::new();
    Controller::new("shops", &shops).resync(SECOND * 10).run(calls.noting(), Arc::new(()), after(25)).await;
    assert_eq!(calls.all(), ["a@0", "a@10", "a@20"]);
}

#[tokio::test(start_paused = true)]
async fn changes_are_reconciled_before_the_rest_of_the_initial_list() {
    let shops = shops(
        List::at(1).items(["a", "b", "c"].map(|name| shop(name, 1, 1))),
        Watch::new().wait(SECOND / 2).added(shop("z", 2, 1)),
    );
    let calls = Calls::new();
    let slow = {
        let calls = calls.clone();
        move |request: watchkeeper_controller::Request, _| {
            let calls = calls.clone();
            async move {
                calls.note(&request);
                after(1).await;
                Ok(watchkeeper_controller::Action::await_change())
            }
        }
    };
    Controller::new("shops", &shops).run(slow, Arc::new(()), after(9)).await;
    assert_eq!(calls.all(), ["a@0", "z@1", "b@2", "c@3"]);
}
