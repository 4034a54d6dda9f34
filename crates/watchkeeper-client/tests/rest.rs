//! Requests against the embedded server.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Value, json};
use watchkeeper_apiserver::faults::Fault;
use watchkeeper_apiserver::http::Verb;
use watchkeeper_apiserver::server::ApiServer;
use watchkeeper_client::rest::{Content, PatchKind, RequestError, RetryPolicy, Warning, WarningHandler};
use watchkeeper_client::{RestClient, Transport};
use watchkeeper_core::ErrorChain;

struct World {
    server: ApiServer,
    transport: Transport,
}

impl World {
    async fn start() -> Self {
        let server = ApiServer::builder().start().await.unwrap();
        let transport = Transport::from_config(&support::config(&server)).unwrap();
        Self { server, transport }
    }

    fn core(&self, content: Content) -> RestClient {
        RestClient::for_group_version(self.transport.clone(), &"v1".parse().unwrap(), content)
    }
}

fn config_map(name: &str, value: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"k": value}})
}

#[tokio::test]
async fn objects_are_created_read_updated_and_deleted_in_both_encodings() {
    let world = World::start().await;
    for (name, content) in [("json", Content::json()), ("protobuf", Content::protobuf())] {
        let core = world.core(content);
        let one = |request: watchkeeper_client::rest::Request| {
            request.namespace("default").resource("configmaps").name(name)
        };
        let created = core.post().namespace("default").resource("configmaps").object(&config_map(name, "1"));
        let created = created.send().await.unwrap();
        assert!(created.was_created());
        let media_type = created.headers["content-type"].to_str().unwrap().to_owned();
        assert_eq!(media_type.contains("protobuf"), name == "protobuf");

        let read: Value = one(core.get()).send().await.unwrap().into().unwrap();
        assert_eq!(read["data"]["k"], "1", "{name}");
        let mut changed = read.clone();
        changed["data"]["k"] = "2".into();
        (changed["apiVersion"], changed["kind"]) = ("v1".into(), "ConfigMap".into());
        let changed: Value = one(core.put()).object(&changed).send().await.unwrap().into().unwrap();
        assert_eq!(changed["data"]["k"], "2");
        let patched = one(core.patch(PatchKind::Merge)).body(r#"{"data":{"k":"3"}}"#).send().await.unwrap();
        assert_eq!(patched.into::<Value>().unwrap()["data"]["k"], "3");
        one(core.delete()).send().await.unwrap();
        let error = one(core.get()).send().await.unwrap_err();
        assert!(error.is_not_found(), "{error}");
        assert_eq!(error.to_string(), format!("configmaps {name:?} not found"));
    }
    world.server.stop().await;
}

#[tokio::test]
async fn an_invalid_request_is_rejected_before_anything_is_sent() {
    let world = World::start().await;
    let core = world.core(Content::json());
    for (request, expected) in [
        (
            core.get().resource("pods").name("a/b"),
            "invalid request GET /api/v1/pods: invalid name \"a/b\": may not contain '/'",
        ),
        (
            core.get().resource("pods").name(""),
            "invalid request GET /api/v1/pods: invalid name \"\": may not be empty",
        ),
        (
            core.get().resource("pods").resource("nodes"),
            "invalid request GET /api/v1/pods: resource set twice: \"pods\" and \"nodes\"",
        ),
        (
            core.post().namespace("").resource("pods"),
            "invalid request POST /api/v1/pods: an empty namespace is not allowed for a single object",
        ),
    ] {
        let error = request.send().await.unwrap_err();
        assert!(matches!(error, RequestError::Invalid { .. }) && !error.may_have_happened());
        assert_eq!(ErrorChain(&error).to_string(), expected);
    }
    assert_eq!(world.transport.connections(), 0);
    world.server.stop().await;
}

#[tokio::test]
async fn a_request_is_retried_only_if_the_server_asks_for_it() {
    let world = World::start().await;
    let core = world.core(Content::json());
    let list = |core: &RestClient| core.get().namespace("default").resource("configmaps");
    // 429 has Retry-After: 1.
    let busy = world.server.faults().add(Fault::on(Verb::List).answer(429).times(1));
    list(&core).send().await.unwrap();
    assert_eq!(busy.hits(), 1);
    // 500 has none.
    let broken = world.server.faults().add(Fault::on(Verb::List).answer(500).times(1));
    let error = list(&core).send().await.unwrap_err();
    assert!(error.status().unwrap().is_internal_error());
    assert_eq!(broken.hits(), 1);
    // A GET is retried after a lost connection, a POST is not.
    let cut = world.server.faults().add(Fault::on(Verb::List).cut_connection().times(1));
    let outcome = list(&core).send().await;
    assert_eq!(cut.hits(), 1);
    assert!(matches!(outcome, Ok(_) | Err(RequestError::Body { .. })), "{outcome:?}");
    // The number of retries is limited.
    let always = world.server.faults().add(Fault::on(Verb::Create).answer(429));
    let create = core.post().namespace("default").resource("configmaps").object(&config_map("a", "1"));
    let error = create.retry_policy(RetryPolicy { max_retries: 1, backoff: None }).send().await.unwrap_err();
    assert!(error.status().unwrap().is_too_many_requests());
    assert_eq!(always.hits(), 2);
    world.server.stop().await;
}

#[tokio::test]
async fn a_slow_request_times_out() {
    let world = World::start().await;
    world.server.faults().add(Fault::on(Verb::List).delay(Duration::from_secs(30)));
    let list = world.core(Content::json()).get().resource("pods").timeout(Duration::from_millis(50));
    let error = list.send().await.unwrap_err();
    assert_eq!(error.to_string(), "GET /api/v1/pods: timed out after 0.05s");
    world.server.stop().await;
}

#[derive(Debug, Default)]
struct RecordedWarnings(Mutex<Vec<String>>);

impl WarningHandler for RecordedWarnings {
    fn warn(&self, warning: &Warning) {
        self.0.lock().push(warning.text.clone());
    }
}

#[tokio::test]
async fn warnings_reach_their_handler() {
    let world = World::start().await;
    let warnings = Arc::new(RecordedWarnings::default());
    let core = world.core(Content::json()).warnings(warnings.clone());
    let mut object = config_map("a", "1");
    object["bogus"] = 1.into();
    let create = core.post().namespace("default").resource("configmaps").object(&object);
    create.param("fieldValidation", "Warn").send().await.unwrap();
    assert_eq!(*warnings.0.lock(), ["unknown field \"bogus\""]);
    world.server.stop().await;
}
