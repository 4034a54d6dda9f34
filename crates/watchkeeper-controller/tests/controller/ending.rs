//! Shutdown of a controller.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::time::Instant;
use watchkeeper_controller::{Action, Controller, Request};
use watchkeeper_testkit::script::{List, Watch};

use crate::{Calls, SECOND, after, shop, shops};

#[tokio::test(start_paused = true)]
async fn running_calls_finish_and_no_others_start() {
    let shops = shops(List::at(1).items(["a", "b", "c"].map(|name| shop(name, 1, 1))), Watch::new());
    let finished = Arc::new(AtomicUsize::new(0));
    let calls = Calls::new();
    let (noted, counted) = (calls.clone(), finished.clone());
    let reconcile = move |request: Request, _| {
        let (noted, counted) = (noted.clone(), counted.clone());
        async move {
            noted.note(&request);
            after(10).await;
            counted.fetch_add(1, Ordering::SeqCst);
            Ok(Action::await_change())
        }
    };
    let begun = Instant::now();
    Controller::new("shops", &shops).concurrency(2).run(reconcile, Arc::new(()), after(4)).await;
    assert_eq!((calls.all(), finished.load(Ordering::SeqCst)), (vec!["a@0".into(), "b@0".into()], 2));
    assert_eq!(begun.elapsed().as_secs(), 10);
}

#[tokio::test(start_paused = true)]
async fn calls_that_exceed_the_grace_period_are_dropped() {
    let shops = shops(List::at(1).item(shop("a", 1, 1)), Watch::new());
    let begun = Instant::now();
    let held = Arc::new(());
    let inside = held.clone();
    let reconcile = move |_: Request, _| {
        let inside = inside.clone();
        async move {
            let _inside = inside;
            std::future::pending().await
        }
    };
    Controller::new("shops", &shops).grace(SECOND * 3).run(reconcile, Arc::new(()), after(4)).await;
    assert_eq!(begun.elapsed().as_secs(), 7);
    assert_eq!(Arc::strong_count(&held), 1, "no task is left");
}

#[tokio::test(start_paused = true)]
async fn it_ends_with_its_informer_and_can_be_stopped_before_the_first_list() {
    let shops = shops(List::at(1).item(shop("a", 1, 1)), Watch::new());
    let calls = Calls::new();
    let stopping = shops.clone();
    let stop = tokio::spawn(async move {
        after(3).await;
        stopping.stop().await;
    });
    Controller::new("shops", &shops).run(calls.noting(), Arc::new(()), std::future::pending()).await;
    stop.await.unwrap();
    assert_eq!(calls.all(), ["a@0"]);

    let never = crate::shops(List::at(1).stalls(), Watch::new());
    Controller::new("shops", &never).run(calls.noting(), Arc::new(()), after(1)).await;
    assert_eq!(calls.all(), ["a@0"]);
}
