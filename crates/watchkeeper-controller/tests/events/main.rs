//! Recording and writing events, against a fake sink and against a server.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod combined;
mod ending;
mod serial;
mod server;
mod sheet;

use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use watchkeeper_controller::events::{Event, EventApi, EventRecorder, Reference};
use watchkeeper_metrics::Registry;

use crate::sheet::Sheet;

/// A recorder with a running writer and its sink.
struct World {
    recorder: EventRecorder,
    sheet: Sheet,
    registry: Registry,
    stop: CancellationToken,
    writing: JoinHandle<()>,
    begun: Instant,
}

impl World {
    fn start(api: EventApi) -> Self {
        let (sheet, registry, stop) = (Sheet::default(), Registry::new(), CancellationToken::new());
        let (recorder, writer) = EventRecorder::new(sheet.clone(), api, "shops");
        let writer = writer.metrics(&registry).unwrap();
        let writing = tokio::spawn(writer.run(stop.clone()));
        Self { recorder, sheet, registry, stop, writing, begun: Instant::now() }
    }

    fn record(&self, object: &str, message: &str) {
        let event = Event::normal("Because", message).action("Acting");
        self.recorder.record(&reference(object), event);
    }

    /// Waits until the writer is idle.
    async fn settle(&self) {
        sleep(Duration::from_millis(1)).await;
    }

    /// Stops the writer, and returns how long that took.
    async fn stop(self) -> Duration {
        let begun = Instant::now();
        self.stop.cancel();
        self.writing.await.unwrap();
        begun.elapsed()
    }

    /// Returns the number of events with this result.
    fn count(&self, result: &str) -> u32 {
        count(&self.registry, result)
    }
}

fn count(registry: &Registry, result: &str) -> u32 {
    let series = format!("event_recorder_events_total{{name=\"shops\",result=\"{result}\"}} ");
    let page = registry.render();
    page.lines().find_map(|line| line.strip_prefix(&series)).map_or(0, |count| count.parse().unwrap())
}

fn reference(name: &str) -> Reference {
    Reference {
        api_version: "example.com/v1".to_owned(),
        kind: "Shop".to_owned(),
        namespace: "x".to_owned(),
        name: name.to_owned(),
        ..Reference::default()
    }
}
