//! Garbage collector: deletes objects whose owners are all gone.
//!
//! Input: the metadata of all deletable objects of any kind.
//! Output: deletions of garbage, removed owner references, and completed foreground (`foregroundDeletion`)
//! and orphaning (`orphan`) deletions.
//!
//! ```text
//! monitors -> graph -> queue -> collector -> server
//! ```

mod collector;
mod graph;
mod live;
mod monitors;
mod recent;
mod reference;

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use watchkeeper_client::DiscoveryClient;
use watchkeeper_client::discovery::RestMapper;
use watchkeeper_client::rest::Content;
use watchkeeper_workqueue::WorkQueue;

use crate::context::ControllerContext;
use crate::namespace::Departures;
use crate::resource::NAMESPACES;
use collector::Collector;
use live::Objects;
use monitors::Monitors;

/// Number of workers.
const WORKERS: usize = 20;
/// Time limit for all monitors to catch up before collection starts.
const CATCH_UP_TIMEOUT: Duration = Duration::from_secs(30);

/// Starts the garbage collector. It reports deletions in terminating namespaces to `departures`.
pub(crate) fn start(context: &mut ControllerContext, departures: Departures) {
    let client = context.client().clone();
    let discovery = DiscoveryClient::new(client.rest(&NAMESPACES.group_version(), Content::json()));
    let mapper = RestMapper::new(Arc::new(discovery.clone()));
    let collector = Arc::new(Collector {
        graph: Default::default(),
        objects: Objects::new(client, mapper),
        queue: WorkQueue::new(),
    });
    let monitors = Monitors::new(context.factory().clone(), discovery, collector.clone(), departures);
    context.spawn(|stop| run(monitors, collector, stop));
}

async fn run(mut monitors: Monitors, collector: Arc<Collector>, stop: CancellationToken) {
    let caught_up = async {
        for mut monitor in monitors.sync().await {
            let _ = monitor.wait_for(|caught_up| *caught_up).await; // an error means that the monitor has ended
        }
    };
    tokio::select! {
        () = stop.cancelled() => return,
        _ = tokio::time::timeout(CATCH_UP_TIMEOUT, caught_up) => {}
    }
    let mut workers = JoinSet::new();
    for _ in 0..WORKERS {
        let collector = collector.clone();
        workers.spawn(async move { collector.work().await });
    }
    monitors.run(stop).await;
    collector.queue.shut_down_now();
    while workers.join_next().await.is_some() {}
}
