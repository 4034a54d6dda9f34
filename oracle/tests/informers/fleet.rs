//! Fleet: twenty informers that are as different as they can be.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use watchkeeper_cache::Informer;
use watchkeeper_cache::reflector::Backoff;
use watchkeeper_cache::store::by_field;
use watchkeeper_client::Client;
use watchkeeper_client::rest::Content;
use watchkeeper_client::source::RestSource;
use watchkeeper_core::{Collection, ListRequest, ListStream, ListWatch, WatchFuture, WatchRequest};
use watchkeeper_wire::Kind;

use crate::listeners::Listener;
use crate::resources::Resource;
use crate::roads::Road;
use crate::witness::{Seen, Witness};

/// With faults every second the delays of real life would leave nothing else.
const BACKOFF: Backoff = Backoff {
    base: Duration::from_millis(50),
    factor: 2.0,
    jitter: 1.0,
    cap: Duration::from_millis(800),
    steps: 10,
};

/// What an informer is to have.
struct Plan {
    of: Resource,
    namespace: &'static str,
    labels: &'static str,
    fields: &'static str,
    form: Form,
    /// How the whole state comes.
    whole: Whole,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// In protobuf where there is protobuf.
    Typed,
    Json,
    Metadata,
}

#[derive(Clone, Copy)]
enum Whole {
    /// As the initial events of a watch.
    Streamed,
    Listed,
    Paged(u32),
}

use Form::{Json, Metadata, Typed};
use Resource::{ConfigMaps, Leases, Namespaces, Pods, Secrets, Widgets};
use Whole::{Listed, Paged, Streamed};

const fn all(of: Resource, form: Form, whole: Whole) -> Plan {
    Plan { of, namespace: "", labels: "", fields: "", form, whole }
}

const PLANS: [Plan; 20] = [
    all(ConfigMaps, Typed, Streamed),
    all(ConfigMaps, Json, Paged(300)),
    Plan { namespace: "north", labels: "app=web", ..all(ConfigMaps, Typed, Streamed) },
    Plan { labels: "app in (web,db),tier!=gold", ..all(ConfigMaps, Metadata, Listed) },
    Plan { labels: "!app", ..all(ConfigMaps, Json, Streamed) },
    Plan { fields: "metadata.namespace=south", ..all(ConfigMaps, Typed, Listed) },
    Plan { namespace: "east", fields: "metadata.name=it-00004", ..all(ConfigMaps, Typed, Streamed) },
    Plan { namespace: "west", ..all(ConfigMaps, Metadata, Paged(100)) },
    all(Secrets, Typed, Paged(200)),
    Plan { labels: "tier=gold", fields: "type=Opaque", ..all(Secrets, Json, Listed) },
    Plan { namespace: "south", ..all(Secrets, Metadata, Streamed) },
    all(Pods, Typed, Streamed),
    Plan { fields: "spec.nodeName=n1", ..all(Pods, Typed, Listed) },
    Plan { fields: "status.phase=Running", ..all(Pods, Json, Streamed) },
    Plan { namespace: "west", labels: "app=web", ..all(Pods, Metadata, Paged(50)) },
    // The server has some of its own, which it renews: only those of a namespace rest when the writers do.
    Plan { namespace: "north", ..all(Leases, Typed, Streamed) },
    Plan { namespace: "east", labels: "shard", ..all(Leases, Json, Listed) },
    all(Widgets, Typed, Paged(150)),
    Plan { fields: "spec.color=red", ..all(Widgets, Json, Streamed) },
    all(Namespaces, Typed, Streamed),
];

/// An informer and who listens to it.
pub(crate) struct Member {
    pub(crate) name: String,
    pub(crate) collection: Collection,
    pub(crate) informer: Informer,
    pub(crate) listeners: Vec<Listener>,
    /// The paths of its indexes.
    pub(crate) indexes: Vec<&'static str>,
    pub(crate) seen: Arc<Seen>,
}

/// Makes and starts all of them.
pub(crate) fn launch(roads: &[Road], seed: u64) -> Vec<Member> {
    let members = PLANS.iter().zip(roads.iter().cycle()).zip(0..);
    members.map(|((plan, road), number)| Member::start(plan, &road.client, seed ^ number)).collect()
}

impl Member {
    fn start(plan: &Plan, client: &Client, seed: u64) -> Self {
        let collection = plan.collection();
        let form = match plan.form {
            Typed => "typed",
            Json => "json",
            Metadata => "metadata",
        };
        let name = format!("{collection}, {form}");
        let seen = Arc::<Seen>::default();
        let kind = Kind::from(collection.kind());
        let informer = Informer::builder(kind.clone(), plan.source(client))
            .configure(|mut reflector| {
                if let Paged(size) = plan.whole {
                    reflector = reflector.page_size(NonZeroU32::new(size).unwrap());
                }
                reflector.name(name.clone()).backoff(BACKOFF).seed(seed).observer(Witness(seen.clone()))
            })
            .build();
        let mut indexes = vec!["metadata.labels.shard", "metadata.annotations.turn"];
        match (plan.form, plan.of) {
            (Metadata, _) => {}
            (_, Pods) => indexes.extend(["spec.nodeName", "status.phase"]),
            (_, ConfigMaps) => indexes.push("data.color"),
            (_, Widgets) => indexes.push("spec.color"),
            _ => {}
        }
        for path in &indexes {
            informer.add_index(path, by_field(kind.clone(), path.parse().unwrap())).unwrap();
        }
        let mut listeners = Listener::all(&informer);
        listeners.push(Listener::filtering(&informer, &"app=web".parse().unwrap()));
        informer.start();
        Self { name, collection, informer, listeners, indexes, seen }
    }
}

impl Plan {
    fn collection(&self) -> Collection {
        let all = self.of.collection();
        let some = all
            .namespace(self.namespace)
            .labels(&self.labels.parse().unwrap())
            .fields(&self.fields.parse().unwrap());
        match self.form {
            Metadata => some.metadata_only(),
            Typed | Json => some,
        }
    }

    fn source(&self, client: &Client) -> Source {
        let (collection, kind) = (self.collection(), self.of.kind());
        let content = if self.form == Json { Content::json() } else { Content::for_kind(&kind) };
        let rest = client.rest(&collection.group_version(), content);
        let mut source = RestSource::new(rest, collection.resource(), kind)
            .labels(self.labels.parse().unwrap())
            .fields(self.fields.parse().unwrap());
        if !self.namespace.is_empty() {
            source = source.namespace(self.namespace);
        }
        if self.form == Metadata {
            source = source.metadata_only();
        }
        Source { source, streams: matches!(self.whole, Streamed) }
    }
}

/// A source that may not know of initial events.
struct Source {
    source: RestSource,
    streams: bool,
}

impl ListWatch for Source {
    fn list(&self, request: ListRequest) -> ListStream {
        self.source.list(request)
    }

    fn watch(&self, request: WatchRequest) -> WatchFuture {
        self.source.watch(request)
    }

    fn sends_initial_events(&self) -> bool {
        self.streams
    }
}
