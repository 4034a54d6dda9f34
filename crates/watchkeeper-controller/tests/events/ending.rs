//! Shutdown of a writer.

use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use watchkeeper_controller::events::{Event, EventApi, EventRecorder};
use watchkeeper_metrics::Registry;

use crate::sheet::{Sheet, Trouble};
use crate::{World, count, reference};

#[tokio::test(start_paused = true)]
async fn queued_events_are_flushed_and_later_ones_dropped() {
    for api in [EventApi::Core, EventApi::Events] {
        let world = World::start(api);
        for number in 0..100 {
            world.record(&format!("a{number}"), "m");
        }
        let (recorder, registry, sheet) =
            (world.recorder.clone(), world.registry.clone(), world.sheet.clone());
        assert_eq!(world.stop().await, Duration::ZERO);
        assert_eq!(sheet.events().len(), 100);
        recorder.record(&reference("late"), Event::normal("Because", "m"));
        assert_eq!((count(&registry, "written"), count(&registry, "dropped")), (100, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn series_counts_are_written_at_shutdown() {
    let world = World::start(EventApi::Events);
    for _ in 0..7 {
        world.record("a", "m");
    }
    world.settle().await;
    let sheet = world.sheet.clone();
    world.stop().await;
    assert_eq!(sheet.requests(), ["create a 1", "patch a 2", "patch a 7"]);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_retried_at_shutdown() {
    for api in [EventApi::Core, EventApi::Events] {
        let world = World::start(api);
        world.sheet.troubles([Trouble::Unreachable; 100]);
        for object in ["a", "b"] {
            world.record(object, "m");
        }
        world.settle().await;
        let (sheet, registry) = (world.sheet.clone(), world.registry.clone());
        assert_eq!(world.stop().await, Duration::ZERO, "no delay remains");
        let mut requests = sheet.requests();
        requests.sort();
        assert_eq!(requests, ["create a 1", "create b 1"]);
        assert_eq!(count(&registry, "failed"), 2);
    }
}

#[tokio::test(start_paused = true)]
async fn the_final_flush_is_bounded() {
    let (sheet, registry, stop) = (Sheet::default(), Registry::new(), CancellationToken::new());
    sheet.silent_for("a");
    let (recorder, writer) = EventRecorder::new(sheet, EventApi::Core, "shops");
    let writer = writer.metrics(&registry).unwrap().flush_within(Duration::from_secs(2));
    for object in ["a", "b", "c"] {
        recorder.record(&reference(object), Event::normal("Because", "m"));
    }
    stop.cancel();
    let begun = Instant::now();
    writer.run(stop).await;
    assert_eq!(begun.elapsed(), Duration::from_secs(2));
    assert_eq!(count(&registry, "failed"), 2, "the queued ones");

    // Without a recorder there is nothing to wait for.
    let (recorder, writer) = EventRecorder::new(Sheet::default(), EventApi::Events, "shops");
    drop(recorder);
    writer.run(CancellationToken::new()).await;
}
