//! Writers: create, change, delete and create again, at random.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;
use watchkeeper_client::Client;
use watchkeeper_client::resource::{DeleteOptions, ResourceClient, WriteOptions};
use watchkeeper_client::rest::{PatchKind, RequestError};

use crate::random::Random;
use crate::resources::{NAMESPACES, Resource, new_phase, place};

const WRITERS: usize = 8;
/// How often each of them writes.
const PACE: Duration = Duration::from_millis(20);
/// How many objects are created at once at the beginning.
const AT_ONCE: usize = 64;

/// What has been written.
#[derive(Debug, Default)]
pub(crate) struct Written {
    pub(crate) done: AtomicU64,
    /// There was nothing to change, or something to create already.
    pub(crate) idle: AtomicU64,
    /// The server was not there, or busy.
    pub(crate) failed: AtomicU64,
}

/// Creates all objects that there are at the beginning.
pub(crate) async fn fill(client: &Client, random: &mut Random) {
    for namespace in NAMESPACES {
        let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
        let namespaces = Resource::Namespaces.client(client);
        namespaces.create(&body, &WriteOptions::default()).await.unwrap();
    }
    for (resource, count) in Resource::MANY {
        let all = resource.client(client);
        let bodies = (0..count).map(|number| resource.body(number, random));
        let created = stream::iter(bodies).map(|body| {
            let there = all.clone().namespace(body["metadata"]["namespace"].as_str().unwrap());
            async move { there.create(&body, &WriteOptions::default()).await.unwrap() }
        });
        created.buffer_unordered(AT_ONCE).for_each(|_| async {}).await;
    }
}

/// Writes until it is stopped; what has begun then is waited for.
pub(crate) async fn write(
    client: &Client,
    random: &mut Random,
    written: &Arc<Written>,
    stop: &CancellationToken,
) {
    let mut writers = JoinSet::new();
    for _ in 0..WRITERS {
        let (client, mut random) = (client.clone(), random.fork());
        let (written, stop) = (written.clone(), stop.clone());
        writers.spawn(async move {
            let mut ticks = interval(PACE);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            while stop.run_until_cancelled(ticks.tick()).await.is_some() {
                count(write_once(&client, &mut random).await, &written);
            }
        });
    }
    while let Some(ended) = writers.join_next().await {
        ended.unwrap();
    }
}

async fn write_once(client: &Client, random: &mut Random) -> Result<(), RequestError> {
    if random.once_in(100) {
        let name = random.pick(&NAMESPACES);
        return change(&Resource::Namespaces.client(client), name, &Resource::Namespaces.change(random))
            .await;
    }
    let (resource, count) = *random.pick(&Resource::MANY);
    // Some were not there at the beginning; and some are written more often than others.
    let end = if random.once_in(3) { 50 } else { count + count / 10 };
    let number = random.below(end);
    let (namespace, name) = place(number);
    let objects = resource.client(client).namespace(namespace);
    match random.below(10) {
        0 => create(&objects, resource, number, random).await,
        // Of what can be there, four in five are: they come four times as often as they go for good.
        1 if random.once_in(4) => delete(&objects, &name).await,
        2 => {
            delete(&objects, &name).await?;
            create(&objects, resource, number, random).await
        }
        3 if resource == Resource::ConfigMaps => {
            let body = resource.body(number, random);
            objects.update(&body, &WriteOptions::default()).await.map(drop)
        }
        4 | 5 if resource == Resource::Pods => {
            let phase = new_phase(random);
            let (kind, options) = (PatchKind::Merge, WriteOptions::default());
            objects.patch_status(&name, kind, &phase, &options).await.map(drop)
        }
        _ => change(&objects, &name, &resource.change(random)).await,
    }
}

async fn create(
    objects: &ResourceClient<Value>,
    resource: Resource,
    number: u64,
    random: &mut Random,
) -> Result<(), RequestError> {
    objects.create(&resource.body(number, random), &WriteOptions::default()).await.map(drop)
}

async fn delete(objects: &ResourceClient<Value>, name: &str) -> Result<(), RequestError> {
    let at_once = DeleteOptions { grace_period_seconds: Some(0), ..DeleteOptions::default() };
    objects.delete(name, &at_once).await.map(drop)
}

async fn change(objects: &ResourceClient<Value>, name: &str, change: &Value) -> Result<(), RequestError> {
    objects.patch(name, PatchKind::Merge, change, &WriteOptions::default()).await.map(drop)
}

fn count(outcome: Result<(), RequestError>, written: &Written) {
    let counter = match outcome {
        Ok(()) => &written.done,
        Err(error) if error.is_not_found() || error.is_already_exists() || error.is_conflict() => {
            &written.idle
        }
        Err(error) => {
            let code = error.status().map(|status| status.code);
            assert!(
                !matches!(code, Some(400..=499)) || code == Some(429),
                "the writers are wrong: {error:?}"
            );
            &written.failed
        }
    };
    counter.fetch_add(1, Ordering::Relaxed);
}
