//! Metrics of a queue.

use std::time::Duration;

use tokio::time::advance;
use watchkeeper_metrics::Registry;
use watchkeeper_workqueue::WorkQueue;

use crate::take;

fn value(registry: &Registry, name: &str) -> f64 {
    let page = registry.render();
    let line = page.lines().find(|line| line.starts_with(&format!("{name}{{name=\"shops\"}} "))).unwrap();
    line.rsplit(' ').next().unwrap().parse().unwrap()
}

#[tokio::test(start_paused = true)]
async fn every_stage_of_a_key_is_counted() {
    let registry = Registry::new();
    let queue = WorkQueue::builder().metrics(&registry, "shops").unwrap().build();
    let all = |depth: f64, adds: f64, retries: f64| {
        assert_eq!(value(&registry, "workqueue_depth"), depth);
        assert_eq!(value(&registry, "workqueue_adds_total"), adds);
        assert_eq!(value(&registry, "workqueue_retries_total"), retries);
    };
    queue.add("a");
    queue.add("a");
    queue.add("b");
    all(2.0, 2.0, 0.0);
    advance(Duration::from_secs(3)).await;
    let item = take(&queue).unwrap();
    all(1.0, 2.0, 0.0);
    assert_eq!(value(&registry, "workqueue_queue_duration_seconds_sum"), 3.0);
    queue.add("a");
    queue.add_after("c", Duration::from_secs(60));
    all(2.0, 3.0, 1.0);

    advance(Duration::from_secs(2)).await;
    let other = take(&queue).unwrap();
    advance(Duration::from_secs(1)).await;
    assert_eq!(value(&registry, "workqueue_unfinished_work_seconds"), 4.0);
    assert_eq!(value(&registry, "workqueue_longest_running_processor_seconds"), 3.0);
    drop(item);
    assert_eq!(value(&registry, "workqueue_work_duration_seconds_sum"), 3.0);
    assert_eq!(value(&registry, "workqueue_longest_running_processor_seconds"), 1.0);
    drop(other);
    drop(take(&queue).unwrap());
    // `a` was queued for three seconds since it was added again.
    assert_eq!(value(&registry, "workqueue_queue_duration_seconds_sum"), 3.0 + 5.0 + 3.0);
    all(0.0, 3.0, 1.0);
    assert_eq!(value(&registry, "workqueue_queue_duration_seconds_count"), 3.0);

    drop(queue);
    assert_eq!(value(&registry, "workqueue_unfinished_work_seconds"), 0.0, "a dropped queue is not asked");
}

#[test]
fn buckets_equal_those_of_client_go() {
    let registry = Registry::new();
    let queue = WorkQueue::builder().metrics(&registry, "shops").unwrap().build();
    queue.add("a");
    drop(take(&queue));
    let page = registry.render();
    let ends: Vec<_> = page
        .lines()
        .filter_map(|line| line.strip_prefix("workqueue_queue_duration_seconds_bucket{name=\"shops\",le=\""))
        .filter_map(|line| line.split('"').next()?.parse::<f64>().ok())
        .filter(|end| end.is_finite())
        .collect();
    assert_eq!(ends, [1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0]);
}
