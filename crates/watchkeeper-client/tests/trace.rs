//! Traces and logs of a client, and what they never contain.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use base64::Engine as _;
use parking_lot::Mutex;
use serde_json::json;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};
use watchkeeper_apiserver::faults::Fault;
use watchkeeper_apiserver::http::{Anonymous, Verb};
use watchkeeper_apiserver::server::ApiServer;
use watchkeeper_client::config::{Authorization, Exec};
use watchkeeper_client::rest::{Content, RateLimiter};
use watchkeeper_client::{Config, RestClient, Transport};

/// Records all spans and events, at every level and from every crate.
#[derive(Clone, Default)]
struct Recorder {
    lines: Arc<Mutex<Vec<String>>>,
    spans: Arc<AtomicU64>,
}

struct LineVisitor<'a>(&'a mut String);

impl Visit for LineVisitor<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        write!(self.0, " {field}={value:?}").unwrap();
    }
}

impl Recorder {
    fn push(&self, mut line: String, visit: impl FnOnce(&mut dyn Visit)) {
        visit(&mut LineVisitor(&mut line));
        self.lines.lock().push(line);
    }

    /// Returns the lines with this prefix.
    fn lines(&self, prefix: &str) -> Vec<String> {
        self.lines.lock().iter().filter(|line| line.starts_with(prefix)).cloned().collect()
    }
}

impl Subscriber for Recorder {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let id = self.spans.fetch_add(1, Ordering::Relaxed) + 1;
        let metadata = span.metadata();
        let line = format!("span {id} {} {} {}", metadata.level(), metadata.target(), metadata.name());
        self.push(line, |visit| span.record(visit));
        Id::from_u64(id)
    }

    fn record(&self, span: &Id, values: &Record<'_>) {
        self.push(format!("record {}", span.into_u64()), |visit| values.record(visit));
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let line = format!("event {} {}", event.metadata().level(), event.metadata().target());
        self.push(line, |visit| event.record(visit));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

fn core(config: &Config) -> RestClient {
    let transport = Transport::from_config(config).unwrap();
    RestClient::for_group_version(transport, &"v1".parse().unwrap(), Content::json())
}

#[tokio::test]
async fn a_request_is_a_span_with_its_code_and_its_attempts() {
    let recorder = Recorder::default();
    let _guard = tracing::subscriber::set_default(recorder.clone());
    let server = ApiServer::builder().start().await.unwrap();
    let core = core(&support::config(&server)).rate_limiter(Arc::new(RateLimiter::new(10.0, 1)));
    let host = core.transport().host().to_owned();
    server.faults().add(Fault::on(Verb::Get).answer(429).times(1));
    let get = core.get().namespace("default").resource("configmaps").name("a").param("pretty", "hunter5");
    get.send().await.unwrap_err();

    let span = recorder.lines("span").into_iter().find(|line| line.contains(" request ")).unwrap();
    let (id, text) = span["span ".len()..].split_once(' ').unwrap();
    assert_eq!(
        text,
        format!(
            "DEBUG watchkeeper_client::rest::call request method=GET host={host:?} \
             template=\"/api/v1/namespaces/{{namespace}}/configmaps/{{name}}?pretty={{value}}\""
        )
    );
    let records = recorder.lines(&format!("record {id} "));
    assert_eq!(
        records,
        ["attempts=1", "code=\"429\"", "attempts=2", "code=\"404\""].map(|it| format!("record {id} {it}"))
    );
    let retries = recorder.lines("event DEBUG watchkeeper_client::rest::send");
    assert_eq!(
        retries,
        ["event DEBUG watchkeeper_client::rest::send message=retrying request \
          request=GET /api/v1/namespaces/default/configmaps/a retries=1 wait=1s"]
    );
    assert!(recorder.lines("event DEBUG watchkeeper_client::rest::call").is_empty(), "no wait was long");
    for _ in 0..2 {
        core.get().resource("pods").send().await.unwrap();
    }
    let waited = recorder.lines("event DEBUG watchkeeper_client::rest::call");
    assert!(!waited.is_empty(), "there are ten tokens per second");
    assert!(waited.iter().all(|line| line.contains("delayed by the client-side rate limiter")), "{waited:?}");
    server.stop().await;
}

#[tokio::test]
async fn credentials_and_values_are_never_logged() {
    const TOKEN: &str = "t0ken-of-the-test";
    let recorder = Recorder::default();
    let _guard = tracing::subscriber::set_default(recorder.clone());
    for is_plain in [false, true] {
        let mut builder = ApiServer::builder().token(TOKEN).anonymous(Anonymous::default());
        if is_plain {
            builder = builder.plain_http();
        }
        let server = builder.start().await.unwrap();
        let printed = json!({"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential",
            "status": {"token": TOKEN}});
        let command = json!({"command": "echo", "args": [printed.to_string()], "interactiveMode": "Never",
            "apiVersion": "client.authentication.k8s.io/v1",
            "env": [{"name": "SECRET", "value": "v4lue-of-the-plugin"}]});
        let command = serde_json::from_value(command).unwrap();
        for authorization in [
            Authorization::Token(TOKEN.into()),
            Authorization::Basic { username: "me".into(), password: "p4ssword-of-the-test".into() },
            Authorization::Exec(Box::new(Exec { command, cluster: None })),
        ] {
            let mut config = support::config(&server);
            (config.plain_credentials, config.authorization) = (true, authorization);
            let core = core(&config);
            server.faults().add(Fault::on(Verb::List).answer(429).times(1));
            let list = core.get().namespace("default").resource("secrets").param("pretty", "qu3ry-value");
            let listed = list.send().await;
            let is_basic = matches!(config.authorization, Authorization::Basic { .. });
            assert_eq!(listed.is_err(), is_basic, "{listed:?}");
        }
        server.stop().await;
    }
    let lines = recorder.lines.lock().join("\n");
    assert!(lines.contains("watchkeeper_client"), "nothing was logged");
    let encoded = base64::engine::general_purpose::STANDARD.encode("me:p4ssword-of-the-test");
    for secret in
        [TOKEN, "p4ssword-of-the-test", &encoded, "v4lue-of-the-plugin", "qu3ry-value", "Bearer", "Basic "]
    {
        let leaks: Vec<&str> = lines.lines().filter(|line| line.contains(secret)).collect();
        assert!(leaks.is_empty(), "{secret:?}: {leaks:#?}");
    }
}
