//! Writers: tasks that create, update, delete and recreate random objects.

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
use crate::resources::{NAMESPACES, Resource, namespace_and_name, random_phase};

const WRITERS: usize = 8;
/// Time between two writes of one writer.
const PERIOD: Duration = Duration::from_millis(20);
/// Number of concurrent requests while creating the initial objects.
const CONCURRENCY: usize = 64;

/// Number of writes, by outcome.
#[derive(Debug, Default)]
pub(crate) struct WriteCounts {
    pub(crate) succeeded: AtomicU64,
    /// Failed with 404, 409 or an existing object.
    pub(crate) conflicted: AtomicU64,
    /// The server was unreachable or overloaded.
    pub(crate) failed: AtomicU64,
}

/// Creates the initial objects.
pub(crate) async fn fill(client: &Client, random: &mut Random) {
    for namespace in NAMESPACES {
        let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
        let namespaces = Resource::Namespaces.client(client);
        namespaces.create(&body, &WriteOptions::default()).await.unwrap();
    }
    for (resource, count) in Resource::WRITTEN {
        let all = resource.client(client);
        let bodies = (0..count).map(|number| resource.body(number, random));
        let created = stream::iter(bodies).map(|body| {
            let namespaced = all.clone().namespace(body["metadata"]["namespace"].as_str().unwrap());
            async move { namespaced.create(&body, &WriteOptions::default()).await.unwrap() }
        });
        created.buffer_unordered(CONCURRENCY).for_each(|_| async {}).await;
    }
}

/// Writes until `stop` is cancelled, and waits for the writes in progress.
pub(crate) async fn write(
    client: &Client,
    random: &mut Random,
    counts: &Arc<WriteCounts>,
    stop: &CancellationToken,
) {
    let mut writers = JoinSet::new();
    for _ in 0..WRITERS {
        let (client, mut random) = (client.clone(), random.fork());
        let (counts, stop) = (counts.clone(), stop.clone());
        writers.spawn(async move {
            let mut ticks = interval(PERIOD);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            while stop.run_until_cancelled(ticks.tick()).await.is_some() {
                count(write_once(&client, &mut random).await, &counts);
            }
        });
    }
    while let Some(exit) = writers.join_next().await {
        exit.unwrap();
    }
}

async fn write_once(client: &Client, random: &mut Random) -> Result<(), RequestError> {
    if random.one_in(100) {
        let name = random.pick(&NAMESPACES);
        return change(&Resource::Namespaces.client(client), name, &Resource::Namespaces.change(random))
            .await;
    }
    let (resource, count) = *random.pick(&Resource::WRITTEN);
    // Some of the numbers are not among the initial objects, and the first 50 are written most often.
    let end = if random.one_in(3) { 50 } else { count + count / 10 };
    let number = random.below(end);
    let (namespace, name) = namespace_and_name(number);
    let objects = resource.client(client).namespace(namespace);
    match random.below(10) {
        0 => create(&objects, resource, number, random).await,
        // A creation is 4x as likely as a deletion for good, so that about four in five names exist.
        1 if random.one_in(4) => delete(&objects, &name).await,
        2 => {
            delete(&objects, &name).await?;
            create(&objects, resource, number, random).await
        }
        3 if resource == Resource::ConfigMaps => {
            let body = resource.body(number, random);
            objects.update(&body, &WriteOptions::default()).await.map(drop)
        }
        4 | 5 if resource == Resource::Pods => {
            let phase = random_phase(random);
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
    let options = DeleteOptions { grace_period_seconds: Some(0), ..DeleteOptions::default() };
    objects.delete(name, &options).await.map(drop)
}

async fn change(objects: &ResourceClient<Value>, name: &str, change: &Value) -> Result<(), RequestError> {
    objects.patch(name, PatchKind::Merge, change, &WriteOptions::default()).await.map(drop)
}

fn count(outcome: Result<(), RequestError>, counts: &WriteCounts) {
    let counter = match outcome {
        Ok(()) => &counts.succeeded,
        Err(error) if error.is_not_found() || error.is_already_exists() || error.is_conflict() => {
            &counts.conflicted
        }
        Err(error) => {
            let code = error.status().map(|status| status.code);
            assert!(
                !matches!(code, Some(400..=499)) || code == Some(429),
                "a writer sent an invalid request: {error:?}"
            );
            &counts.failed
        }
    };
    counter.fetch_add(1, Ordering::Relaxed);
}
