//! Delayed keys (`workqueue.Q4`).

use std::time::Duration;

use tokio::time::{Instant, advance};
use watchkeeper_workqueue::limit::Exponential;
use watchkeeper_workqueue::{AddOpts, Priority, WorkQueue};

use crate::{all, next, now, take};

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test(start_paused = true)]
async fn a_delayed_key_is_not_ready_before_its_deadline() {
    let queue = WorkQueue::new();
    queue.add_after("a", SECOND);
    assert_eq!((queue.len(), next(&queue)), (0, None));
    advance(SECOND - Duration::from_millis(1)).await;
    assert_eq!(next(&queue), None);
    advance(Duration::from_millis(1)).await;
    assert_eq!((queue.len(), next(&queue)), (1, Some("a")));
    queue.add_after("b", Duration::ZERO);
    assert_eq!(next(&queue), Some("b"));
}

#[tokio::test(start_paused = true)]
async fn waiting_workers_receive_delayed_keys_on_time_and_in_order() {
    let queue = WorkQueue::new();
    let begun = Instant::now();
    let workers: Vec<_> = (0..3)
        .map(|_| {
            let queue = queue.clone();
            tokio::spawn(async move { queue.get().await.map(|item| (*item, begun.elapsed().as_secs())) })
        })
        .collect();
    tokio::task::yield_now().await; // all three wait, one of them as the timekeeper
    queue.add_after("late", 3 * SECOND);
    queue.add_after("early", SECOND);
    queue.add_after("between", 2 * SECOND);
    let mut got = Vec::new();
    for worker in workers {
        got.push(worker.await.unwrap().unwrap());
    }
    got.sort_by_key(|(_, at)| *at);
    assert_eq!(got, [("early", 1), ("between", 2), ("late", 3)]);
}

#[tokio::test(start_paused = true)]
async fn another_getter_becomes_timekeeper_when_the_timekeeper_is_dropped() {
    let queue = WorkQueue::new();
    queue.add_after("a", SECOND);
    let keeper = tokio::spawn({
        let queue = queue.clone();
        async move { drop(queue.get().await) }
    });
    tokio::task::yield_now().await;
    let other = tokio::spawn({
        let queue = queue.clone();
        async move { queue.get().await.map(|item| *item) }
    });
    tokio::task::yield_now().await;
    keeper.abort();
    assert_eq!(other.await.unwrap(), Some("a"), "the paused clock advances only if something sleeps");
}

#[tokio::test(start_paused = true)]
async fn the_earliest_of_several_deadlines_wins() {
    let queue = WorkQueue::new();
    queue.add_after("a", 2 * SECOND);
    queue.add_after("a", SECOND);
    queue.add_after("a", 3 * SECOND);
    advance(SECOND).await;
    assert_eq!(all(&queue), ["a"]);
    advance(10 * SECOND).await;
    assert_eq!(all(&queue), [""; 0], "the later deadlines are gone");
}

#[tokio::test(start_paused = true)]
async fn adding_a_key_does_not_cancel_its_delay() {
    let queue = WorkQueue::new();
    queue.add_after("a", SECOND);
    queue.add("a");
    let item = take(&queue).unwrap();
    advance(SECOND).await;
    assert_eq!(next(&queue), None, "still processed");
    drop(item);
    assert_eq!(all(&queue), ["a"]);
}

#[tokio::test(start_paused = true)]
async fn a_delay_keeps_its_priority() {
    let queue = WorkQueue::new();
    queue.add_with_opts("low", AddOpts::priority(Priority::Low).after(SECOND));
    queue.add_after("normal", SECOND);
    queue.add_with_opts("high", AddOpts::priority(Priority::High).after(SECOND));
    advance(SECOND).await;
    assert_eq!(all(&queue), ["high", "normal", "low"]);
}

#[tokio::test(start_paused = true)]
async fn backoff_grows_with_each_failure_until_forgotten() {
    let queue = WorkQueue::builder().rate_limiter(Exponential::new(SECOND, 100 * SECOND)).build();
    queue.add("a");
    for waits in [1, 2, 4] {
        take(&queue).unwrap().retry();
        advance(SECOND * waits - Duration::from_millis(1)).await;
        assert_eq!(queue.len(), 0);
        advance(Duration::from_millis(1)).await;
        assert_eq!(queue.len(), 1);
    }
    assert_eq!(queue.num_requeues(&"a"), 3);
    let item = take(&queue).unwrap();
    assert_eq!(item.num_requeues(), 3);
    item.forget();
    assert_eq!((queue.num_requeues(&"a"), next(&queue)), (0, None));
    queue.add("a");
    take(&queue).unwrap().requeue_after(SECOND);
    assert!(now(queue.get()).is_none());
    advance(SECOND).await;
    assert_eq!(all(&queue), ["a"]);
}

#[tokio::test(start_paused = true)]
async fn a_delay_that_overflows_the_clock_is_a_long_one() {
    let queue = WorkQueue::new();
    queue.add_after("a", Duration::MAX);
    advance(Duration::from_secs(86_400 * 365)).await;
    assert_eq!(next(&queue), None);
}
