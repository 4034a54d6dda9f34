//! Validation: watchkeeper-apiserver rejects the objects that the real server rejects, with the same code, message and
//! causes in the same order, and accepts those that it accepts.
//!
//! `validation/objects.json` has valid objects of many kinds. Each is sent unchanged, and with each of its fields
//! removed, emptied or made invalid. `validation/cases.txt` has further changes, and updates of immutable fields.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{Method, Request};
use http_body_util::{BodyExt as _, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use watchkeeper_apiserver::server::ApiServer;
use watchkeeper_oracle::{Cluster, seed};

#[path = "validation/change.rs"]
mod change;
#[path = "printed_tables/objects.rs"]
mod printed;
#[path = "validation/response.rs"]
mod response;

use change::{Change, cases, common_changes, mutations};
use response::Response;

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

/// The number of concurrent requests.
const WORKERS: usize = 8;
const RANDOM_PODS: usize = 100;

/// The real server and ours.
struct Pair {
    real: Cluster,
    ours: ApiServer,
    client: Client<HttpConnector, Full<Bytes>>,
}

impl Pair {
    async fn start() -> Outcome<Self> {
        let client = Client::builder(TokioExecutor::new()).build_http();
        Ok(Self {
            real: Cluster::start().await?,
            ours: ApiServer::builder().plain_http().start().await?,
            client,
        })
    }

    async fn real(&self, method: Method, path: &str, body: &Value) -> Outcome<Response> {
        let request = Request::builder().method(method).uri(path).header(CONTENT_TYPE, "application/json");
        let response = self.real.send(request.body(Bytes::from(body.to_string()))?).await?;
        Ok(Response::new(response.status().as_u16(), response.body()))
    }

    async fn ours(&self, method: Method, path: &str, body: &Value) -> Outcome<Response> {
        let request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.ours.url()))
            .header(CONTENT_TYPE, "application/json")
            .header(AUTHORIZATION, format!("Bearer {}", self.ours.token()));
        let response = self.client.request(request.body(Full::new(Bytes::from(body.to_string())))?).await?;
        let code = response.status().as_u16();
        Ok(Response::new(code, &response.into_body().collect().await?.to_bytes()))
    }

    /// Sends a request to both, with a dry run, and describes how their responses differ.
    async fn compare(&self, case: &Comparison) -> Outcome<Option<String>> {
        let Comparison { method, path, change, bases, .. } = case;
        let path = format!("{path}?dryRun=All");
        let real = self.real(method.clone(), &path, &change.applied(&bases[0])).await?;
        let ours = self.ours(method.clone(), &path, &change.applied(&bases[1])).await?;
        Ok(difference(case, &real, &ours))
    }

    /// Runs all comparisons concurrently. The `listed` ones must differ, and no others may.
    async fn compare_all(self, cases: Vec<Comparison>, listed: &'static [KnownDifference]) -> Outcome {
        let (pair, count) = (Arc::new(self), cases.len());
        let cases = Arc::new(cases);
        let next = Arc::new(AtomicUsize::new(0));
        let mut workers = JoinSet::new();
        for _ in 0..WORKERS {
            let (pair, cases, next) = (pair.clone(), cases.clone(), next.clone());
            workers.spawn(async move {
                let (mut differences, mut seen) = (Vec::new(), Vec::new());
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    match (pair.compare(case).await, listed.iter().position(|listed| listed.matches(case))) {
                        (Ok(None), _) => {}
                        (Ok(Some(_)), Some(listed)) => seen.push(listed),
                        (Ok(Some(difference)), None) => differences.push(difference),
                        (Err(error), _) => differences.push(format!("{}: {error}", case.path)),
                    }
                }
                (differences, seen)
            });
        }
        let (mut differences, mut seen) = (Vec::new(), Vec::new());
        for (more, listed) in workers.join_all().await {
            differences.extend(more);
            seen.extend(listed);
        }
        differences.sort_unstable();
        let stale = listed.iter().enumerate().filter(|(at, _)| !seen.contains(at));
        differences.extend(stale.map(|(_, KnownDifference { resource, change, reason })| {
            format!("listed difference no longer occurs: {resource} {change}\n  reason: {reason}")
        }));
        println!("{count} compared");
        assert!(
            differences.is_empty(),
            "{} of {count} differ:\n{}",
            differences.len(),
            differences.join("\n")
        );
        Ok(())
    }

    /// Creates an object on both, and returns what each stores.
    async fn create(&self, path: &str, object: &Value) -> Outcome<[Value; 2]> {
        let real = self.real(Method::POST, path, object).await?;
        let ours = self.ours(Method::POST, path, object).await?;
        assert_eq!((real.code, ours.code), (201, 201), "{path}: {real:?}, {ours:?}");
        Ok([real.body, ours.body])
    }
}

/// A request whose responses are compared.
struct Comparison {
    method: Method,
    path: String,
    resource: String,
    change: Change,
    /// The objects that `change` is applied to: the real server's and ours.
    bases: [Value; 2],
}

impl Comparison {
    fn new(method: Method, path: &str, change: Change, bases: [Value; 2]) -> Self {
        let resource = path.rsplit('/').next().unwrap_or_default().to_owned();
        Self { method, path: path.to_owned(), resource, change, bases }
    }

    fn create(path: &str, change: Change, object: &Value) -> Self {
        Self::new(Method::POST, path, change, [object.clone(), object.clone()])
    }

    fn update(path: &str, change: Change, bases: &[Value; 2]) -> Self {
        let name = bases[0]["metadata"]["name"].as_str().unwrap_or_default();
        let mut case = Self::new(Method::PUT, path, change, bases.clone());
        case.path = format!("{path}/{name}");
        case
    }
}

/// A change to which the real server responds differently, on purpose.
struct KnownDifference {
    resource: &'static str,
    change: &'static str,
    reason: &'static str,
}

impl KnownDifference {
    fn matches(&self, case: &Comparison) -> bool {
        case.resource == self.resource && case.change.to_string().trim_end() == self.change
    }
}

const fn known(resource: &'static str, change: &'static str, reason: &'static str) -> KnownDifference {
    KnownDifference { resource, change, reason }
}

const PORT: &str = "the real server does not check the node port range in a dry run";
const TWICE: &str = "the real server fails to allocate a duplicate node port before it validates the object";

/// Known differences for new objects.
const CREATE_DIFFERENCES: &[KnownDifference] = &[
    known("services", "/spec/ports/0/nodePort=-1", PORT),
    known("services", "/spec/ports/0/nodePort=70000", PORT),
];

/// Known differences for updates.
const UPDATE_DIFFERENCES: &[KnownDifference] = &[
    known("services", "/spec/ports/0/nodePort=-1", PORT),
    known("services", "/spec/ports/0/nodePort=70000", PORT),
    known("services", "/spec/ports/1/nodePort=-1", PORT),
    known("services", "/spec/ports/1/nodePort=70000", PORT),
    known(
        "services",
        r#"/spec/ports/-={"name":"http","protocol":"TCP","port":80,"targetPort":"web","nodePort":30080}"#,
        TWICE,
    ),
];

/// Describes how the responses of the real server and ours differ.
fn difference(case: &Comparison, real: &Response, ours: &Response) -> Option<String> {
    let Comparison { method, path, resource, change, .. } = case;
    let is_same = match change.shows_types {
        true => real.outline() == ours.outline(),
        false => real.equals(ours, resource),
    };
    let (real, ours) = (real.summary(), ours.summary());
    (!is_same).then(|| format!("{method} {path} {change}\n  real: {real}\n  ours: {ours}"))
}

fn objects() -> Outcome<BTreeMap<String, Value>> {
    Ok(serde_json::from_str(include_str!("validation/objects.json"))?)
}

fn path_of<'a>(objects: &'a BTreeMap<String, Value>, resource: &str) -> Outcome<&'a String> {
    let path = objects.keys().find(|path| path.ends_with(&format!("/{resource}")));
    path.ok_or_else(|| format!("no {resource} in objects.json").into())
}

#[tokio::test(flavor = "multi_thread")]
async fn new_objects_are_accepted_and_rejected_as_on_the_real_server() -> Outcome {
    let mut comparisons = Vec::new();
    for (path, object) in objects()? {
        let changes = common_changes().into_iter().chain(mutations(&object));
        comparisons.extend(changes.map(|change| Comparison::create(&path, change, &object)));
    }
    let objects = objects()?;
    for case in cases(include_str!("validation/cases.txt")).filter(|case| !case.is_update) {
        let path = path_of(&objects, &case.resource)?;
        comparisons.push(Comparison::create(path, case.change, &objects[path]));
    }
    Pair::start().await?.compare_all(comparisons, CREATE_DIFFERENCES).await
}

#[tokio::test(flavor = "multi_thread")]
async fn updates_are_accepted_and_rejected_as_on_the_real_server() -> Outcome {
    let pair = Pair::start().await?;
    let objects = objects()?;
    let mut stored = BTreeMap::new();
    for (path, object) in &objects {
        stored.insert(path, pair.create(path, object).await?);
    }
    let mut comparisons = Vec::new();
    for (path, bases) in &stored {
        let changes = common_changes().into_iter().filter(|change| !change.renames);
        comparisons.extend(changes.map(|change| Comparison::update(path, change, bases)));
    }
    for case in cases(include_str!("validation/cases.txt")).filter(|case| case.is_update) {
        let (resource, subresource) = match case.resource.split_once('/') {
            Some((resource, subresource)) => (resource, format!("/{subresource}")),
            None => (&*case.resource, String::new()),
        };
        let path = path_of(&objects, resource)?;
        let mut comparison = Comparison::update(path, case.change, &stored[path]);
        comparison.path.push_str(&subresource);
        comparisons.push(comparison);
    }
    pair.compare_all(comparisons, &[]).await
}

/// Each field of a stored object, including defaulted ones, is removed, emptied or made invalid in a PUT.
#[tokio::test(flavor = "multi_thread")]
async fn updates_of_every_field_are_accepted_and_rejected_as_on_the_real_server() -> Outcome {
    let pair = Pair::start().await?;
    let mut comparisons = Vec::new();
    for (path, object) in &mut objects()? {
        if path.ends_with("/services") {
            // Set explicitly, so that both servers have the same address.
            object["spec"]["clusterIP"] = json!("10.0.0.50");
        }
        let bases = pair.create(path, object).await?;
        let changes = mutations(&bases[0]);
        comparisons.extend(changes.into_iter().map(|change| Comparison::update(path, change, &bases)));
    }
    pair.compare_all(comparisons, UPDATE_DIFFERENCES).await
}

/// The objects of the test `printed_tables`, and pods with a random status.
#[tokio::test(flavor = "multi_thread")]
async fn printed_objects_and_random_pods_are_accepted_as_on_the_real_server() -> Outcome {
    let mut random = printed::Random(seed());
    let pods = (0..RANDOM_PODS).map(|number| ("/v1/pods", random.pod(number)));
    let mut comparisons = Vec::new();
    for (names, object) in printed::objects().into_iter().chain(pods) {
        let (path, object) = printed::creation(names, object);
        comparisons.push(Comparison::create(&path, Change::default(), &object));
    }
    Pair::start().await?.compare_all(comparisons, &[]).await
}
