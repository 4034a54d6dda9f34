//! Mapping from other objects to primary keys, and predicates.

use std::sync::Arc;
use watchkeeper_cache::Informer;
use watchkeeper_controller::mapping::all_owners;
use watchkeeper_controller::{Controller, predicate};
use watchkeeper_core::{Encoded, Object, ObjectMetaBuilder, OwnerReference};
use watchkeeper_testkit::script::{List, Watch};

use crate::{Calls, SECOND, after, informer, part, shop, shops};

/// Returns a shop whose spec refers to a map.
fn referring(key: (&str, &str), version: u64, map: &str) -> Object {
    let mut head = ObjectMetaBuilder::default();
    head.namespace(key.0).name(key.1).uid(key.1).version(&version.to_string());
    let body = format!(r#"{{"spec":{{"configMapRef":{{"name":"{map}"}}}}}}"#);
    Object { metadata: head.finish(), encoded: Encoded::json(body.into_bytes()) }
}

/// Returns an object with the label `shop`, unless that is empty.
fn labelled(key: (&str, &str), version: u64, shop: &str) -> Object {
    let mut head = ObjectMetaBuilder::default();
    head.namespace(key.0).name(key.1).uid(key.1).version(&version.to_string());
    if !shop.is_empty() {
        head.label("shop", shop);
    }
    Object { metadata: head.finish(), encoded: Encoded::json(*b"{}") }
}

async fn calls(controller: Controller) -> Vec<String> {
    let calls = Calls::new();
    controller.run(calls.noting(), Arc::new(()), after(10)).await;
    calls.all()
}

#[tokio::test(start_paused = true)]
async fn the_old_and_the_new_value_of_a_label_are_both_reconciled() {
    let shops = shops(List::at(1).item(shop("a", 1, 1)), Watch::new());
    let watch = Watch::new()
        .wait(SECOND)
        .added(labelled(("x", "p"), 2, "a"))
        .wait(SECOND)
        .modified(labelled(("x", "p"), 3, "b"))
        .wait(SECOND)
        .added(labelled(("x", "q"), 4, ""))
        .wait(SECOND)
        .deleted(labelled(("x", "p"), 5, "b"));
    let parts = informer("Part", List::at(1), watch);
    let called = calls(Controller::new("shops", &shops).watches_by_label(&parts, "shop")).await;
    assert_eq!(called, ["a@0", "a@1", "a@2", "b@2", "b@4"]);
}

#[tokio::test(start_paused = true)]
async fn owns_reconciles_the_controlling_owner_and_all_owners_every_owner_of_the_kind() {
    let a =
        OwnerReference { api_version: "example.com/v2", kind: "Shop", name: "a", uid: "a", controller: true };
    let shops = || shops(List::at(1).item(shop("a", 1, 1)), Watch::new());
    let stranger = OwnerReference { kind: "Stall", controller: false, ..a };
    let parts = || {
        let watch = Watch::new().wait(SECOND).added(part("p", 2, &OwnerReference { controller: false, ..a }));
        let watch = watch.wait(SECOND).added(part("q", 3, &a)).wait(SECOND).added(part("r", 4, &stranger));
        informer("Part", List::at(1), watch)
    };
    assert_eq!(calls(Controller::new("shops", &shops()).owns(&parts())).await, ["a@0", "a@2"]);
    let shops = shops();
    let all = Controller::new("shops", &shops).watches(&parts(), all_owners(shops.kind().name()));
    assert_eq!(calls(all).await, ["a@0", "a@1", "a@2"]);
}

/// Returns shops that refer to maps, and maps that change one second apart.
fn shops_and_maps() -> (Informer, Informer) {
    let list = List::at(4)
        .item(referring(("x", "a"), 1, "m"))
        .item(referring(("x", "b"), 2, "m"))
        .item(referring(("x", "c"), 3, "n"))
        .item(referring(("y", "d"), 4, "m"));
    let shops = shops(list, Watch::new().wait(SECOND * 3).modified(referring(("x", "b"), 5, "n")));
    let watch = Watch::new()
        .wait(SECOND)
        .added(labelled(("x", "m"), 5, ""))
        .wait(SECOND)
        .added(labelled(("z", "m"), 6, ""))
        .wait(SECOND * 2)
        .modified(labelled(("x", "m"), 7, ""))
        .wait(SECOND)
        .deleted(labelled(("x", "n"), 8, ""));
    (shops, informer("Map", List::at(4).item(labelled(("x", "n"), 4, "")), watch))
}

const EXPECTED_CALLS: [&str; 10] = ["a@0", "b@0", "c@0", "d@0", "a@1", "b@1", "b@3", "a@4", "b@5", "c@5"];

#[tokio::test(start_paused = true)]
async fn objects_that_refer_to_a_changed_object_are_reconciled() {
    let (shops, maps) = shops_and_maps();
    let path = || "spec.configMapRef.name".parse().unwrap();
    let controller = Controller::new("shops", &shops).watches_by_field(&maps, path());
    // A second controller on the same informer shares the index.
    let other = Controller::new("others", &shops).watches_by_field(&maps, path());
    let (called, also) = tokio::join!(calls(controller), calls(other));
    let mut called = called;
    called.sort_by_key(|call| call.split('@').nth(1).map(str::to_owned));
    assert_eq!(called, EXPECTED_CALLS);
    assert_eq!(also.len(), 10);
}

#[tokio::test(start_paused = true)]
async fn a_custom_index_finds_the_objects_that_refer_to_another() {
    let (shops, maps) = shops_and_maps();
    let unknown = Controller::new("shops", &shops).watches_by_index(&maps, "map").unwrap_err();
    assert!(unknown.to_string().contains("map"), "{unknown}");
    let by =
        watchkeeper_cache::store::by_field(shops.kind().clone(), "spec.configMapRef.name".parse().unwrap());
    shops.add_index("map", by).unwrap();
    let controller = Controller::new("shops", &shops).watches_by_index(&maps, "map").unwrap();
    assert_eq!(calls(controller).await.len(), 10);

    // A cluster-scoped object can be referred to from every namespace.
    let (shops, _) = shops_and_maps();
    let maps = informer("Map", List::at(4), Watch::new().wait(SECOND).added(labelled(("", "m"), 5, "")));
    let controller =
        Controller::new("shops", &shops).watches_by_field(&maps, "spec.configMapRef.name".parse().unwrap());
    let at_once: Vec<_> = calls(controller).await.into_iter().filter(|call| call.ends_with("@1")).collect();
    assert_eq!(at_once, ["a@1", "b@1", "d@1"]);
}

#[test]
fn predicates_compare_one_part_of_the_metadata_and_combine() {
    use predicate::{and, annotations_changed, generation_changed, labels_changed, not, or};
    let object = |label: &str, annotation: &str, generation: i64| {
        let mut head = ObjectMetaBuilder::default();
        head.name("a").label("l", label).annotation("n", annotation).generation(generation);
        Object { metadata: head.finish(), encoded: Encoded::json(*b"{}") }
    };
    let old = object("1", "1", 1);
    let (label, annotation) = (object("2", "1", 1), object("1", "2", 1));
    assert!(labels_changed(&old, &label) && !labels_changed(&old, &annotation));
    assert!(annotations_changed(&old, &annotation) && !annotations_changed(&old, &label));
    let either = or(labels_changed, generation_changed);
    assert!(either(&old, &label) && either(&old, &object("1", "1", 2)) && !either(&old, &annotation));
    let joined = and(labels_changed, not(annotations_changed));
    assert!(joined(&old, &label) && !joined(&old, &object("2", "2", 1)));
}

#[tokio::test(start_paused = true)]
async fn no_predicate_hides_a_deletion_or_a_replacement() {
    let of = |version: &str, uid: &str, deleted: Option<&str>| {
        let mut head = ObjectMetaBuilder::default();
        head.namespace("x").name("a").uid(uid).version(version).generation(1);
        head.deleted(deleted.and_then(|time| time.parse().ok()));
        Object { metadata: head.finish(), encoded: Encoded::json(*b"{}") }
    };
    let watch = Watch::new()
        .wait(SECOND)
        .modified(of("2", "1", None))
        .wait(SECOND)
        .modified(of("3", "1", Some("2026-01-01T00:00:00Z")))
        .wait(SECOND)
        .modified(of("4", "2", None));
    let shops = shops(List::at(1).item(of("1", "1", None)), watch);
    let reject_all =
        predicate::not(predicate::or(|_: &Object, _: &Object| true, predicate::generation_changed));
    assert_eq!(
        calls(Controller::new("shops", &shops).with_predicate(reject_all)).await,
        ["a@0", "a@2", "a@3"]
    );
}
