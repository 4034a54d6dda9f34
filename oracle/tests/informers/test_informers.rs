//! Twenty informers with different resources, selectors, encodings and ways to get the initial state.

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

use crate::handlers::RecordingHandler;
use crate::recorder::{Recorder, ReflectorLog};
use crate::resources::Resource;
use crate::transports::Transport;

/// With one fault per second, the default delays would take up the whole test.
const BACKOFF: Backoff = Backoff {
    base: Duration::from_millis(50),
    factor: 2.0,
    jitter: 1.0,
    cap: Duration::from_millis(800),
    steps: 10,
};

/// The configuration of one informer.
struct InformerSpec {
    resource: Resource,
    namespace: &'static str,
    labels: &'static str,
    fields: &'static str,
    format: Format,
    initial_state: InitialState,
}

/// The content that the informer requests from the server.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    /// Protobuf for built-in kinds, JSON for custom resources.
    Typed,
    Json,
    Metadata,
}

/// The way in which the reflector gets its initial state.
#[derive(Clone, Copy)]
enum InitialState {
    /// As the initial events of a watch.
    Streamed,
    /// As one list.
    Listed,
    /// As lists with this limit.
    Paged(u32),
}

use Format::{Json, Metadata, Typed};
use InitialState::{Listed, Paged, Streamed};
use Resource::{ConfigMaps, Leases, Namespaces, Pods, Secrets, Widgets};

const fn all(resource: Resource, format: Format, initial_state: InitialState) -> InformerSpec {
    InformerSpec { resource, namespace: "", labels: "", fields: "", format, initial_state }
}

const SPECS: [InformerSpec; 20] = [
    all(ConfigMaps, Typed, Streamed),
    all(ConfigMaps, Json, Paged(300)),
    InformerSpec { namespace: "north", labels: "app=web", ..all(ConfigMaps, Typed, Streamed) },
    InformerSpec { labels: "app in (web,db),tier!=gold", ..all(ConfigMaps, Metadata, Listed) },
    InformerSpec { labels: "!app", ..all(ConfigMaps, Json, Streamed) },
    InformerSpec { fields: "metadata.namespace=south", ..all(ConfigMaps, Typed, Listed) },
    InformerSpec { namespace: "east", fields: "metadata.name=it-00004", ..all(ConfigMaps, Typed, Streamed) },
    InformerSpec { namespace: "west", ..all(ConfigMaps, Metadata, Paged(100)) },
    all(Secrets, Typed, Paged(200)),
    InformerSpec { labels: "tier=gold", fields: "type=Opaque", ..all(Secrets, Json, Listed) },
    InformerSpec { namespace: "south", ..all(Secrets, Metadata, Streamed) },
    all(Pods, Typed, Streamed),
    InformerSpec { fields: "spec.nodeName=n1", ..all(Pods, Typed, Listed) },
    InformerSpec { fields: "status.phase=Running", ..all(Pods, Json, Streamed) },
    InformerSpec { namespace: "west", labels: "app=web", ..all(Pods, Metadata, Paged(50)) },
    // The server keeps renewing leases of its own, so that only other namespaces stop changing between rounds.
    InformerSpec { namespace: "north", ..all(Leases, Typed, Streamed) },
    InformerSpec { namespace: "east", labels: "shard", ..all(Leases, Json, Listed) },
    all(Widgets, Typed, Paged(150)),
    InformerSpec { fields: "spec.color=red", ..all(Widgets, Json, Streamed) },
    all(Namespaces, Typed, Streamed),
];

/// An informer under test, with its handlers.
pub(crate) struct TestInformer {
    pub(crate) name: String,
    pub(crate) collection: Collection,
    pub(crate) informer: Informer,
    pub(crate) handlers: Vec<RecordingHandler>,
    /// Field paths of its indexes.
    pub(crate) indexes: Vec<&'static str>,
    pub(crate) log: Arc<ReflectorLog>,
}

/// Starts all informers, spread over the transports.
pub(crate) fn start(transports: &[Transport], seed: u64) -> Vec<TestInformer> {
    let specs = SPECS.iter().zip(transports.iter().cycle()).zip(0..);
    specs
        .map(|((spec, transport), number)| TestInformer::start(spec, &transport.client, seed ^ number))
        .collect()
}

impl TestInformer {
    fn start(spec: &InformerSpec, client: &Client, seed: u64) -> Self {
        let collection = spec.collection();
        let format = match spec.format {
            Typed => "typed",
            Json => "json",
            Metadata => "metadata",
        };
        let name = format!("{collection}, {format}");
        let log = Arc::<ReflectorLog>::default();
        let kind = Kind::from(collection.kind());
        let informer = Informer::builder(kind.clone(), spec.source(client))
            .configure(|mut reflector| {
                if let Paged(size) = spec.initial_state {
                    reflector = reflector.page_size(NonZeroU32::new(size).unwrap());
                }
                reflector.name(name.clone()).backoff(BACKOFF).seed(seed).observer(Recorder(log.clone()))
            })
            .build();
        let mut indexes = vec!["metadata.labels.shard", "metadata.annotations.turn"];
        match (spec.format, spec.resource) {
            (Metadata, _) => {}
            (_, Pods) => indexes.extend(["spec.nodeName", "status.phase"]),
            (_, ConfigMaps) => indexes.push("data.color"),
            (_, Widgets) => indexes.push("spec.color"),
            _ => {}
        }
        for path in &indexes {
            informer.add_index(path, by_field(kind.clone(), path.parse().unwrap())).unwrap();
        }
        let mut handlers = RecordingHandler::all(&informer);
        handlers.push(RecordingHandler::filtering(&informer, &"app=web".parse().unwrap()));
        informer.start();
        Self { name, collection, informer, handlers, indexes, log }
    }
}

impl InformerSpec {
    fn collection(&self) -> Collection {
        let all = self.resource.collection();
        let selected = all
            .namespace(self.namespace)
            .labels(&self.labels.parse().unwrap())
            .fields(&self.fields.parse().unwrap());
        match self.format {
            Metadata => selected.metadata_only(),
            Typed | Json => selected,
        }
    }

    fn source(&self, client: &Client) -> Source {
        let (collection, kind) = (self.collection(), self.resource.kind());
        let content = if self.format == Json { Content::json() } else { Content::for_kind(&kind) };
        let rest = client.rest(&collection.group_version(), content);
        let mut source = RestSource::new(rest, collection.resource(), kind)
            .labels(self.labels.parse().unwrap())
            .fields(self.fields.parse().unwrap());
        if !self.namespace.is_empty() {
            source = source.namespace(self.namespace);
        }
        if self.format == Metadata {
            source = source.metadata_only();
        }
        Source { source, sends_initial_events: matches!(self.initial_state, Streamed) }
    }
}

/// A [`RestSource`] that may claim not to support initial events, so that the reflector lists.
struct Source {
    source: RestSource,
    sends_initial_events: bool,
}

impl ListWatch for Source {
    fn list(&self, request: ListRequest) -> ListStream {
        self.source.list(request)
    }

    fn watch(&self, request: WatchRequest) -> WatchFuture {
        self.source.watch(request)
    }

    fn sends_initial_events(&self) -> bool {
        self.sends_initial_events
    }
}
