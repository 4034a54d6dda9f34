//! What a client says in traces, and what it never says.
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
use watchkeeper_client::rest::{Content, Limiter};
use watchkeeper_client::{Config, RestClient, Transport};

/// Keeps everything that is said, at every level and by every crate.
#[derive(Clone, Default)]
struct Ear {
    heard: Arc<Mutex<Vec<String>>>,
    spans: Arc<AtomicU64>,
}

struct Line<'a>(&'a mut String);

impl Visit for Line<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        write!(self.0, " {field}={value:?}").unwrap();
    }
}

impl Ear {
    fn hear(&self, mut line: String, visit: impl FnOnce(&mut dyn Visit)) {
        visit(&mut Line(&mut line));
        self.heard.lock().push(line);
    }

    /// The lines that begin so.
    fn lines(&self, beginning: &str) -> Vec<String> {
        self.heard.lock().iter().filter(|line| line.starts_with(beginning)).cloned().collect()
    }
}

impl Subscriber for Ear {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let id = self.spans.fetch_add(1, Ordering::Relaxed) + 1;
        let metadata = span.metadata();
        let line = format!("span {id} {} {} {}", metadata.level(), metadata.target(), metadata.name());
        self.hear(line, |visit| span.record(visit));
        Id::from_u64(id)
    }

    fn record(&self, span: &Id, values: &Record<'_>) {
        self.hear(format!("record {}", span.into_u64()), |visit| values.record(visit));
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let line = format!("event {} {}", event.metadata().level(), event.metadata().target());
        self.hear(line, |visit| event.record(visit));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

fn core(config: &Config) -> RestClient {
    let transport = Transport::from_config(config).unwrap();
    RestClient::of(transport, &"v1".parse().unwrap(), Content::json())
}

#[tokio::test]
async fn a_request_is_a_span_with_its_code_and_its_attempts() {
    let ear = Ear::default();
    let _hearing = tracing::subscriber::set_default(ear.clone());
    let server = ApiServer::builder().start().await.unwrap();
    let core = core(&support::config(&server)).limited_by(Arc::new(Limiter::new(10.0, 1)));
    let host = core.transport().host().to_owned();
    server.faults().add(Fault::on(Verb::Get).answer(429).times(1));
    let get = core.get().namespace("default").resource("configmaps").name("a").param("pretty", "hunter5");
    get.send().await.unwrap_err();

    let span = ear.lines("span").into_iter().find(|line| line.contains(" request ")).unwrap();
    let (id, said) = span["span ".len()..].split_once(' ').unwrap();
    assert_eq!(
        said,
        format!(
            "DEBUG watchkeeper_client::rest::call request method=GET host={host:?} \
             template=\"/api/v1/namespaces/{{namespace}}/configmaps/{{name}}?pretty={{value}}\""
        )
    );
    let records = ear.lines(&format!("record {id} "));
    assert_eq!(
        records,
        ["attempts=1", "code=\"429\"", "attempts=2", "code=\"404\""].map(|it| format!("record {id} {it}"))
    );
    let again = ear.lines("event DEBUG watchkeeper_client::rest::send");
    assert_eq!(
        again,
        ["event DEBUG watchkeeper_client::rest::send message=retrying request \
          request=GET /api/v1/namespaces/default/configmaps/a retries=1 wait=1s"]
    );
    assert!(ear.lines("event DEBUG watchkeeper_client::rest::call").is_empty(), "no wait was long");
    for _ in 0..2 {
        core.get().resource("pods").send().await.unwrap();
    }
    let waited = ear.lines("event DEBUG watchkeeper_client::rest::call");
    assert!(!waited.is_empty(), "there is one token in a tenth of a second");
    assert!(waited.iter().all(|line| line.contains("has waited for the client's own limiter")), "{waited:?}");
    server.stop().await;
}

#[tokio::test]
async fn credentials_and_values_are_never_said_whoever_speaks() {
    const TOKEN: &str = "t0ken-of-the-test";
    let ear = Ear::default();
    let _hearing = tracing::subscriber::set_default(ear.clone());
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
    let heard = ear.heard.lock().join("\n");
    assert!(heard.contains("watchkeeper_client"), "somebody has spoken");
    let encoded = base64::engine::general_purpose::STANDARD.encode("me:p4ssword-of-the-test");
    for secret in
        [TOKEN, "p4ssword-of-the-test", &encoded, "v4lue-of-the-plugin", "qu3ry-value", "Bearer", "Basic "]
    {
        let said: Vec<&str> = heard.lines().filter(|line| line.contains(secret)).collect();
        assert!(said.is_empty(), "{secret:?}: {said:#?}");
    }
}
