//! Calls of the reconcile function.

use std::collections::HashSet;
use std::sync::Arc;

use parking_lot::Mutex;
use watchkeeper_controller::{Action, Controller, Request};
use watchkeeper_testkit::script::{List, Watch};

use crate::{Calls, SECOND, after, shop, shops};

#[tokio::test(start_paused = true)]
async fn calls_for_one_key_never_overlap_and_concurrency_is_bounded() {
    let mut watch = Watch::new();
    for version in 10..60 {
        let name = ["a", "b", "c", "d", "e"][version as usize % 5];
        watch = watch.wait(SECOND / 10).modified(shop(name, version, 1));
    }
    let shops = shops(List::at(1).items(["a", "b", "c", "d", "e"].map(|name| shop(name, 1, 1))), watch);
    let running = Arc::new(Mutex::new(HashSet::new()));
    let peak = Arc::new(Mutex::new(0));
    let (inside, counted) = (running.clone(), peak.clone());
    let reconcile = move |request: Request, _| {
        let (inside, counted) = (inside.clone(), counted.clone());
        async move {
            assert!(inside.lock().insert(request.key().clone()), "controller.C1");
            {
                let (now, mut peak) = (inside.lock().len(), counted.lock());
                *peak = now.max(*peak);
            }
            tokio::time::sleep(SECOND / 4).await;
            inside.lock().remove(request.key());
            Ok(Action::await_change())
        }
    };
    Controller::new("shops", &shops).concurrency(3).run(reconcile, Arc::new(()), after(20)).await;
    assert_eq!(*peak.lock(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_change_during_a_call_causes_another_call() {
    let shops = shops(
        List::at(1).item(shop("a", 1, 1)),
        Watch::new().wait(SECOND).modified(shop("a", 2, 1)).wait(SECOND).modified(shop("a", 3, 1)),
    );
    let calls = Calls::new();
    let noted = calls.clone();
    let reconcile = move |request: Request, _| {
        let noted = noted.clone();
        async move {
            noted.note(&request);
            after(5).await;
            Ok(Action::await_change())
        }
    };
    Controller::new("shops", &shops).run(reconcile, Arc::new(()), after(20)).await;
    assert_eq!(calls.all(), ["a@0", "a@5"], "both changes share one call");
}

#[tokio::test(start_paused = true)]
async fn a_call_can_request_a_requeue() {
    let shops = shops(List::at(1).item(shop("a", 1, 1)), Watch::new());
    let calls = Calls::new();
    let noted = calls.clone();
    let reconcile = move |request: Request, _| {
        noted.note(&request);
        std::future::ready(Ok(Action::requeue(SECOND * 4)))
    };
    Controller::new("shops", &shops).run(reconcile, Arc::new(()), after(10)).await;
    assert_eq!(calls.all(), ["a@0", "a@4", "a@8"]);
}

#[tokio::test(start_paused = true)]
async fn a_key_is_not_reconciled_before_the_cache_has_observed_its_writes() {
    // The write of version 9 is observed four seconds after the call; other changes arrive before.
    let watch = Watch::new()
        .wait(SECOND)
        .modified(shop("a", 5, 1))
        .wait(SECOND)
        .modified(shop("b", 6, 1))
        .wait(SECOND * 2)
        .modified(shop("a", 9, 1));
    let shops = shops(List::at(1).item(shop("a", 1, 1)).item(shop("b", 1, 1)), watch);
    let calls = Calls::new();
    let (noted, store) = (calls.clone(), shops.store().clone());
    let reconcile = move |request: Request, _| {
        noted.note(&request);
        if request.key().name() == "a" && store.snapshot().version() == &1.into() {
            request.expect(&store, 9);
        }
        std::future::ready(Ok(Action::await_change()))
    };
    Controller::new("shops", &shops).concurrency(2).run(reconcile, Arc::new(()), after(20)).await;
    // `a` has been queued since second 1; observing the write is a change too.
    assert_eq!(calls.all(), ["a@0", "b@0", "b@2", "a@4", "a@4"]);
}
