//! What watchkeeper-apiserver refuses, it refuses as the real server does: with the same code, the same message
//! and the same causes in the same order. And it refuses nothing that the real server takes.
//!
//! Valid objects of many kinds lie in `validation/objects.json`. Each is sent as it is, and with each of its
//! fields left out, emptied or spoilt. More, and what may not change, are written out in `validation/cases.txt`.

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
#[path = "validation/said.rs"]
mod said;

use change::{Change, cases, common, mutations};
use said::Said;

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

/// How many requests are under way at a time.
const WORKERS: usize = 8;
const RANDOM_PODS: usize = 100;

/// Both servers.
struct Both {
    real: Cluster,
    ours: ApiServer,
    client: Client<HttpConnector, Full<Bytes>>,
}

impl Both {
    async fn start() -> Outcome<Self> {
        let client = Client::builder(TokioExecutor::new()).build_http();
        Ok(Self {
            real: Cluster::start().await?,
            ours: ApiServer::builder().plain_http().start().await?,
            client,
        })
    }

    async fn real(&self, method: Method, path: &str, body: &Value) -> Outcome<Said> {
        let request = Request::builder().method(method).uri(path).header(CONTENT_TYPE, "application/json");
        let answer = self.real.send(request.body(Bytes::from(body.to_string()))?).await?;
        Ok(Said::of(answer.status().as_u16(), answer.body()))
    }

    async fn ours(&self, method: Method, path: &str, body: &Value) -> Outcome<Said> {
        let request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.ours.url()))
            .header(CONTENT_TYPE, "application/json")
            .header(AUTHORIZATION, format!("Bearer {}", self.ours.token()));
        let answer = self.client.request(request.body(Full::new(Bytes::from(body.to_string())))?).await?;
        let code = answer.status().as_u16();
        Ok(Said::of(code, &answer.into_body().collect().await?.to_bytes()))
    }

    /// Sends a change to both, without keeping what becomes of it, and tells of a difference.
    async fn ask(&self, question: &Question) -> Outcome<Option<String>> {
        let Question { method, path, change, bases, .. } = question;
        let path = format!("{path}?dryRun=All");
        let real = self.real(method.clone(), &path, &change.applied(&bases[0])).await?;
        let ours = self.ours(method.clone(), &path, &change.applied(&bases[1])).await?;
        Ok(difference(question, &real, &ours))
    }

    /// Asks all, some at a time. What is listed must end otherwise, and nothing else may.
    async fn ask_all(self, questions: Vec<Question>, listed: &'static [Otherwise]) -> Outcome {
        let (both, count) = (Arc::new(self), questions.len());
        let questions = Arc::new(questions);
        let next = Arc::new(AtomicUsize::new(0));
        let mut workers = JoinSet::new();
        for _ in 0..WORKERS {
            let (both, questions, next) = (both.clone(), questions.clone(), next.clone());
            workers.spawn(async move {
                let (mut differences, mut seen) = (Vec::new(), Vec::new());
                while let Some(question) = questions.get(next.fetch_add(1, Ordering::Relaxed)) {
                    match (both.ask(question).await, listed.iter().position(|listed| listed.is(question))) {
                        (Ok(None), _) => {}
                        (Ok(Some(_)), Some(listed)) => seen.push(listed),
                        (Ok(Some(difference)), None) => differences.push(difference),
                        (Err(error), _) => differences.push(format!("{}: {error}", question.path)),
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
        let gone = listed.iter().enumerate().filter(|(at, _)| !seen.contains(at));
        differences.extend(gone.map(|(_, Otherwise { resource, change, why })| {
            format!("listed, and no longer a difference: {resource} {change}\n  because {why}")
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

    /// Creates an object on both.
    async fn create(&self, path: &str, object: &Value) -> Outcome<[Value; 2]> {
        let real = self.real(Method::POST, path, object).await?;
        let ours = self.ours(Method::POST, path, object).await?;
        assert_eq!((real.code, ours.code), (201, 201), "{path}: {real:?}, {ours:?}");
        Ok([real.body, ours.body])
    }
}

/// What both servers are asked to do.
struct Question {
    method: Method,
    path: String,
    resource: String,
    change: Change,
    /// What is changed before it is sent, to the real server and to ours.
    bases: [Value; 2],
}

impl Question {
    fn new(method: Method, path: &str, change: Change, bases: [Value; 2]) -> Self {
        let resource = path.rsplit('/').next().unwrap_or_default().to_owned();
        Self { method, path: path.to_owned(), resource, change, bases }
    }

    fn create(path: &str, change: Change, object: &Value) -> Self {
        Self::new(Method::POST, path, change, [object.clone(), object.clone()])
    }

    fn update(path: &str, change: Change, bases: &[Value; 2]) -> Self {
        let name = bases[0]["metadata"]["name"].as_str().unwrap_or_default();
        let mut question = Self::new(Method::PUT, path, change, bases.clone());
        question.path = format!("{path}/{name}");
        question
    }
}

/// A change that ends otherwise than on the real server: it must.
struct Otherwise {
    resource: &'static str,
    change: &'static str,
    why: &'static str,
}

impl Otherwise {
    fn is(&self, question: &Question) -> bool {
        question.resource == self.resource && question.change.to_string().trim_end() == self.change
    }
}

const fn otherwise(resource: &'static str, change: &'static str, why: &'static str) -> Otherwise {
    Otherwise { resource, change, why }
}

const PORT: &str = "on a dry run the real server does not look whether a port is one that it gives";
const TWICE: &str = "the real server gives ports before it looks for those that are there twice, and fails";

/// What ends otherwise when it is new.
const NEW_OTHERWISE: &[Otherwise] = &[
    otherwise("services", "/spec/ports/0/nodePort=-1", PORT),
    otherwise("services", "/spec/ports/0/nodePort=70000", PORT),
];

/// What ends otherwise when it is changed.
const CHANGED_OTHERWISE: &[Otherwise] = &[
    otherwise("services", "/spec/ports/0/nodePort=-1", PORT),
    otherwise("services", "/spec/ports/0/nodePort=70000", PORT),
    otherwise("services", "/spec/ports/1/nodePort=-1", PORT),
    otherwise("services", "/spec/ports/1/nodePort=70000", PORT),
    otherwise(
        "services",
        r#"/spec/ports/-={"name":"http","protocol":"TCP","port":80,"targetPort":"web","nodePort":30080}"#,
        TWICE,
    ),
];

/// Tells of a difference between what the real server and ours have said.
fn difference(question: &Question, real: &Said, ours: &Said) -> Option<String> {
    let Question { method, path, resource, change, .. } = question;
    let is_same = match change.shows_types {
        true => real.outline() == ours.outline(),
        false => real.is_said_by(ours, resource),
    };
    let (real, ours) = (real.told(), ours.told());
    (!is_same).then(|| format!("{method} {path} {change}\n  real: {real}\n  ours: {ours}"))
}

fn objects() -> Outcome<BTreeMap<String, Value>> {
    Ok(serde_json::from_str(include_str!("validation/objects.json"))?)
}

fn path_of<'a>(objects: &'a BTreeMap<String, Value>, resource: &str) -> Outcome<&'a String> {
    let path = objects.keys().find(|path| path.ends_with(&format!("/{resource}")));
    path.ok_or_else(|| format!("no object of {resource}").into())
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_are_taken_and_refused_as_by_the_real_server() -> Outcome {
    let mut questions = Vec::new();
    for (path, object) in objects()? {
        let changes = common().into_iter().chain(mutations(&object));
        questions.extend(changes.map(|change| Question::create(&path, change, &object)));
    }
    let objects = objects()?;
    for case in cases(include_str!("validation/cases.txt")).filter(|case| !case.is_update) {
        let path = path_of(&objects, &case.resource)?;
        questions.push(Question::create(path, case.change, &objects[path]));
    }
    Both::start().await?.ask_all(questions, NEW_OTHERWISE).await
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_are_taken_and_refused_as_by_the_real_server() -> Outcome {
    let both = Both::start().await?;
    let objects = objects()?;
    let mut stored = BTreeMap::new();
    for (path, object) in &objects {
        stored.insert(path, both.create(path, object).await?);
    }
    let mut questions = Vec::new();
    for (path, bases) in &stored {
        let changes = common().into_iter().filter(|change| !change.renames);
        questions.extend(changes.map(|change| Question::update(path, change, bases)));
    }
    for case in cases(include_str!("validation/cases.txt")).filter(|case| case.is_update) {
        let (resource, part) = match case.resource.split_once('/') {
            Some((resource, part)) => (resource, format!("/{part}")),
            None => (&*case.resource, String::new()),
        };
        let path = path_of(&objects, resource)?;
        let mut question = Question::update(path, case.change, &stored[path]);
        question.path.push_str(&part);
        questions.push(question);
    }
    both.ask_all(questions, &[]).await
}

/// Each field of what is stored, those that were given by default too, is left out, emptied or spoilt in a PUT.
#[tokio::test(flavor = "multi_thread")]
async fn every_field_is_changed_as_on_the_real_server() -> Outcome {
    let both = Both::start().await?;
    let mut questions = Vec::new();
    for (path, object) in &mut objects()? {
        if path.ends_with("/services") {
            // Said, so that both servers give the same.
            object["spec"]["clusterIP"] = json!("10.0.0.50");
        }
        let bases = both.create(path, object).await?;
        let changes = mutations(&bases[0]);
        questions.extend(changes.into_iter().map(|change| Question::update(path, change, &bases)));
    }
    both.ask_all(questions, CHANGED_OTHERWISE).await
}

/// The objects of the printed tables, too, and pods with anything in their status.
#[tokio::test(flavor = "multi_thread")]
async fn what_the_real_server_takes_is_taken() -> Outcome {
    let mut random = printed::Random(seed());
    let pods = (0..RANDOM_PODS).map(|number| ("/v1/pods", random.pod(number)));
    let mut questions = Vec::new();
    for (names, object) in printed::objects().into_iter().chain(pods) {
        let (path, object) = printed::creation(names, object);
        questions.push(Question::create(&path, Change::default(), &object));
    }
    Both::start().await?.ask_all(questions, &[]).await
}
