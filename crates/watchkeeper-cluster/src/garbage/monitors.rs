//! Monitors: one informer per deletable resource, which feeds the graph.
//!
//! Input: discovery, repeated when a CustomResourceDefinition changes, and periodically.
//! Output: the [`graph`](super::graph), and deletions in terminating namespaces.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use tokio::sync::{Notify, watch};
use tokio::task::{AbortHandle, JoinSet};
use tokio_util::sync::CancellationToken;
use watchkeeper_cache::delta::Delta;
use watchkeeper_cache::handler::Subscription;
use watchkeeper_cache::{Informer, InformerFactory};
use watchkeeper_client::DiscoveryClient;
use watchkeeper_client::discovery::{ApiResource, Discovered, Discovery as _};
use watchkeeper_core::{Collection, ErrorChain, GroupVersion, Object};
use watchkeeper_wire::decode;

use super::collector::Collector;
use super::graph::{Due, Graph, Observed, State};
use super::live::{FOREGROUND, ORPHAN};
use super::reference::{Owner, Reference, Type};
use crate::namespace::Departures;
use crate::view::OwnerReference;

/// Period of discovery.
const PERIOD: Duration = Duration::from_secs(30);

/// The monitors of all deletable resources.
pub(super) struct Monitors {
    pub(super) factory: InformerFactory,
    pub(super) discovery: DiscoveryClient,
    pub(super) collector: Arc<Collector>,
    pub(super) departures: Departures,
    /// Notified when a CustomResourceDefinition has changed.
    changed: Arc<Notify>,
    running: HashMap<Collection, Running>,
    tasks: JoinSet<Collection>,
}

/// A running monitor.
struct Running {
    /// The collection of its informer, unless the informer is shared with others.
    own: Option<Collection>,
    task: AbortHandle,
}

/// The metadata that the cache keeps only in encoded form.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Body {
    metadata: Meta,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Meta {
    finalizers: Vec<String>,
    owner_references: Vec<OwnerReference>,
}

impl Monitors {
    pub(super) fn new(
        factory: InformerFactory,
        discovery: DiscoveryClient,
        collector: Arc<Collector>,
        departures: Departures,
    ) -> Self {
        let changed = Arc::new(Notify::new());
        Self {
            factory,
            discovery,
            collector,
            departures,
            changed,
            running: HashMap::new(),
            tasks: JoinSet::new(),
        }
    }

    /// Starts monitors for new resources and stops those of removed ones. Returns, for each new monitor, a
    /// receiver that becomes true when it has caught up.
    pub(super) async fn sync(&mut self) -> Vec<watch::Receiver<bool>> {
        let found = match self.discovery.discover().await {
            Ok(found) => found,
            Err(error) => {
                tracing::warn!(error = %ErrorChain(&error), "discovery failed; retrying later");
                return Vec::new();
            }
        };
        let mut fresh = collectable(&found);
        let is_over = |all: &Collection| {
            let is_known = !found.failures.contains_key(&all.group_version());
            is_known && fresh.iter().all(|(wanted, _)| wanted != all)
        };
        let over: Vec<Collection> = self.running.keys().filter(|all| is_over(all)).cloned().collect();
        for all in over {
            self.end(&all).await;
        }
        fresh.retain(|(all, _)| !self.running.contains_key(all));
        if !fresh.is_empty() {
            self.collector.objects.reset();
        }
        fresh.into_iter().map(|(all, of)| self.start(all, &of)).collect()
    }

    /// Synchronizes the monitors with discovery until `stop`.
    pub(super) async fn run(mut self, stop: CancellationToken) {
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => break,
                Some(ended) = self.tasks.join_next() => {
                    let is_over = |ended: &Collection| self.running.get(ended).is_some_and(|it| it.task.is_finished());
                    if let Some(ended) = ended.ok().filter(is_over) {
                        self.running.remove(&ended); // the resource was removed
                    }
                    continue;
                }
                () = self.changed.notified() => {}
                () = tokio::time::sleep(PERIOD) => {}
            }
            self.sync().await;
        }
        self.tasks.shutdown().await;
    }

    fn start(&mut self, all: Collection, of: &Type) -> watch::Receiver<bool> {
        // If a full informer exists, its objects are not cached a second time.
        let is_kept = self.factory.collections().contains(&all);
        let own = (!is_kept).then(|| all.clone().metadata_only());
        let informer = self.factory.informer(own.as_ref().unwrap_or(&all));
        informer.start();
        let changes = informer.subscribe(Default::default());
        let caught_up = changes.caught_up();
        let of = self.collector.graph.lock().of(&of.api_version, &of.kind);
        let defines = of.kind == "CustomResourceDefinition";
        let changed = defines.then(|| self.changed.clone());
        let (collector, departures) = (self.collector.clone(), self.departures.clone());
        let monitor = Monitor { informer, changes, of, collector, departures, changed };
        let ended = all.clone();
        let task = self.tasks.spawn(async {
            monitor.run().await;
            ended
        });
        self.running.insert(all, Running { own, task });
        caught_up
    }

    async fn end(&mut self, all: &Collection) {
        let Some(running) = self.running.remove(all) else { return };
        match running.own {
            Some(own) => self.factory.stop_informer(&own).await, // delivers pending changes first
            None => running.task.abort(),
        }
    }
}

/// Watches one resource.
struct Monitor {
    informer: Informer,
    changes: Subscription,
    of: Arc<Type>,
    collector: Arc<Collector>,
    departures: Departures,
    changed: Option<Arc<Notify>>,
}

impl Monitor {
    async fn run(mut self) {
        while let Some(change) = self.changes.next().await {
            let due = self.apply(&change);
            self.collector.queue(due);
            if let Some(changed) = &self.changed {
                changed.notify_one();
            }
        }
    }

    fn apply(&self, change: &Delta<Arc<Object>>) -> Due {
        let object = change.newest();
        if matches!(change, Delta::Deleted { .. }) {
            if let Some(namespace) = object.metadata.key().namespace() {
                self.departures.gone_from(namespace);
            }
            return self.collector.graph.lock().gone(object.metadata.uid());
        }
        // Most objects have no owner and are not being deleted: these are not decoded.
        let is_plain =
            object.metadata.owner_references().len() == 0 && object.metadata.deletion_timestamp().is_none();
        let body = if is_plain {
            Body::default()
        } else {
            match decode(&object.encoded, self.informer.kind()) {
                Ok(body) => body,
                Err(error) => {
                    tracing::error!(key = %object.metadata.key(), %error, "failed to decode object; ignored by the garbage collector");
                    return Due::default();
                }
            }
        };
        let mut graph = self.collector.graph.lock();
        let observed = self.observe(&mut graph, object, &body.metadata);
        graph.observe(observed)
    }

    fn observe(&self, graph: &mut Graph, object: &Object, body: &Meta) -> Observed {
        let (is_terminating, has) = (object.metadata.deletion_timestamp().is_some(), |name| {
            body.finalizers.iter().any(|it| it == name)
        });
        let state = State {
            is_terminating,
            deletes_dependents: is_terminating && has(FOREGROUND),
            orphans_dependents: is_terminating && has(ORPHAN),
        };
        let owners = body.owner_references.iter().map(|owner| Owner {
            of: graph.of(&owner.api_version, &owner.kind),
            name: owner.name.as_str().into(),
            uid: graph.uid(&owner.uid),
            blocks: owner.block_owner_deletion == Some(true),
        });
        let owners = owners.collect();
        let uid = graph.uid(object.metadata.uid());
        Observed {
            reference: Reference { of: self.of.clone(), key: object.metadata.key().clone(), uid },
            owners,
            state,
        }
    }
}

/// Returns all resources whose objects can be garbage, which excludes events.
fn collectable(found: &Discovered) -> Vec<(Collection, Type)> {
    let is_deletable =
        |resource: &ApiResource| ["delete", "list", "watch"].iter().all(|verb| resource.can(verb));
    let is_event = |at: &GroupVersion, resource: &ApiResource| {
        resource.name == "events" && matches!(at.group.as_str(), "" | "events.k8s.io")
    };
    let all = found.preferred_resources().into_iter();
    all.filter(|(at, resource)| is_deletable(resource) && !is_event(at, resource))
        .map(|(at, resource)| {
            let all = Collection::new(&at.group, &at.version, &resource.name, &resource.kind.kind);
            let of = Type { kind: resource.kind.kind.clone(), api_version: at.to_string() };
            (all.cluster_scoped(!resource.namespaced), of)
        })
        .collect()
}
