//! Plugins: real programs that give tokens and certificates.

use std::path::PathBuf;
use std::sync::Arc;

use base64::Engine as _;
use http::{Request, StatusCode};
use serde_json::{Value, json};
use watchkeeper_client::Transport;
use watchkeeper_client::auth::{PLUGIN_TIMEOUT, PluginPolicy};
use watchkeeper_client::metrics::{Metrics, PrometheusMetrics};
use watchkeeper_client::transport::{Body, BuildError, TransportError};
use watchkeeper_metrics::Registry;

use crate::{Speaks, World, ask_who, until, who};

const V1: &str = "client.authentication.k8s.io/v1";
const PAST: &str = "2020-01-01T00:00:00Z";
const FUTURE: &str = "2999-01-01T00:00:00Z";

impl World {
    /// A plugin that does this. The shell reads it: a file that was written just now cannot always be run.
    fn plugin(&self, script: &str) -> String {
        let directory = self.directory.path().display();
        self.write("plugin", format!("cd '{directory}'\n{script}\n"));
        format!(
            "exec: {{command: sh, args: ['{directory}/plugin', a b], apiVersion: {V1}, interactiveMode: Never}}"
        )
    }

    /// A plugin that prints what is in the file `answer`, and counts how often it was run.
    fn answering_plugin(&self) -> String {
        self.plugin("echo >> runs; cat answer")
    }

    fn answer(&self, status: &Value) {
        let answer = json!({"apiVersion": V1, "kind": "ExecCredential", "status": status});
        self.write("answer", answer.to_string());
    }

    fn runs(&self) -> usize {
        self.read("runs").len()
    }

    /// A certificate for this name, as a plugin prints it.
    fn certificate(&self, name: &str, expires: &str) -> Value {
        let identity = self.authority.vouch_for_client(name, &[]).unwrap();
        json!({"clientCertificateData": identity.certificate, "clientKeyData": identity.key,
            "expirationTimestamp": expires})
    }
}

#[tokio::test]
async fn a_plugin_is_run_once_for_all_requests_and_all_transports() {
    let world = World::start().await;
    world.answer(&json!({"token": "jane", "expirationTimestamp": FUTURE}));
    let user = world.answering_plugin();
    let (one, other) = (world.transport(&user), world.transport(&user));
    let asked = (0..20).map(|number| who(if number % 2 == 0 { &one } else { &other }));
    for name in futures_util::future::join_all(asked).await {
        assert_eq!(name, "jane");
    }
    assert_eq!(world.runs(), 1);
    let different = world.transport(&user.replace("a b", "c"));
    assert_eq!(who(&different).await, "jane");
    assert_eq!(world.runs(), 2, "another config is another plugin");
    world.stop().await;
}

#[tokio::test]
async fn a_plugin_is_run_again_when_its_credentials_have_expired() {
    let world = World::start().await;
    world.answer(&json!({"token": "jane", "expirationTimestamp": PAST}));
    let transport = world.transport(&world.answering_plugin());
    assert_eq!(who(&transport).await, "jane");
    let before = world.runs();
    world.answer(&json!({"token": "root", "expirationTimestamp": FUTURE}));
    assert_eq!(who(&transport).await, "root");
    assert_eq!(who(&transport).await, "root");
    assert_eq!(world.runs(), before + 1);
    world.stop().await;
}

#[tokio::test]
async fn a_plugin_is_run_again_when_the_server_has_refused_its_token() {
    let world = World::start().await;
    world.answer(&json!({"token": "revoked"}));
    let transport = world.transport(&world.answering_plugin());
    let asked = (0..10).map(|_| who(&transport));
    assert_eq!(futures_util::future::join_all(asked).await, ["401"; 10]);
    assert_eq!(world.runs(), 1, "the refused request itself is not sent again");
    world.answer(&json!({"token": "jane"}));
    let asked = (0..10).map(|_| who(&transport));
    assert_eq!(futures_util::future::join_all(asked).await, ["jane"; 10]);
    assert_eq!(world.runs(), 2);
    world.stop().await;
}

#[tokio::test]
async fn a_new_certificate_of_a_plugin_makes_new_connections() {
    for speaks in [Speaks::Http2, Speaks::Http1] {
        let world = World::speaking(speaks).await;
        world.answer(&world.certificate("ann", FUTURE));
        let transport = world.transport(&world.answering_plugin());
        assert_eq!(who(&transport).await, "ann");
        assert_eq!(who(&transport).await, "ann");
        assert_eq!(world.runs(), 1);
        world.stop().await;

        let world = World::speaking(speaks).await;
        world.answer(&world.certificate("ann", PAST));
        let transport = world.transport(&world.answering_plugin());
        for name in ["ann", "bob", "eve"] {
            world.answer(&world.certificate(name, PAST));
            assert_eq!(who(&transport).await, name, "at once, though nobody has waited");
        }
        // A certificate counts before a token for the server: without one, the old connection would too.
        world.answer(&json!({"token": "jane", "expirationTimestamp": FUTURE}));
        assert_eq!(who(&transport).await, "jane");
        world.stop().await;
    }
}

#[tokio::test]
async fn runs_of_a_plugin_and_the_lives_of_its_certificates_are_counted() {
    let world = World::start().await;
    let registry = Registry::new();
    let metrics: Arc<dyn Metrics> = Arc::new(PrometheusMetrics::new(&registry).unwrap());
    let over = |user: &str| {
        let mut config = world.config(user);
        config.metrics = metrics.clone();
        Transport::from_config(&config).unwrap()
    };
    let value = |series: &str| -> f64 {
        let page = registry.render();
        let line = page.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("{series} is not in {page}")).parse().unwrap()
    };
    let (ttl, rotations) =
        ("rest_client_exec_plugin_ttl_seconds", "rest_client_exec_plugin_certificate_rotation_age_count");
    assert_eq!((value(ttl), value(rotations)), (f64::INFINITY, 0.0));
    let transport = over(&world.answering_plugin());
    for name in ["ann", "ann", "bob"] {
        world.answer(&world.certificate(name, PAST));
        assert_eq!(who(&transport).await, name);
    }
    let left = value(ttl);
    assert!(left > 0.0 && left.is_finite(), "{left}");
    let (runs, rotated) = (world.runs() as f64, value(rotations));
    assert_eq!(value("rest_client_exec_plugin_call_total{code=\"0\",call_status=\"no_error\"}"), runs);
    assert!(rotated >= 1.0 && rotated < runs, "{rotated} of {runs}: the last one is in use");
    world.answer(&json!({"token": "jane"}));
    assert_eq!(who(&transport).await, "jane");
    assert_eq!((value(ttl), value(rotations)), (f64::INFINITY, rotated + 1.0), "there is none any more");

    drop(transport); // the same plugin would be the same one, with what it has given
    who(&over(&world.plugin("exit 3"))).await;
    let failed = "rest_client_exec_plugin_call_total{code=\"3\",call_status=\"plugin_execution_error\"}";
    assert!(value(failed) >= 1.0);
    let user = format!("exec: {{command: not-there-at-all, apiVersion: {V1}, interactiveMode: Never}}");
    who(&over(&user)).await;
    let missing = "rest_client_exec_plugin_call_total{code=\"1\",call_status=\"plugin_not_found_error\"}";
    assert!(value(missing) >= 1.0);
    world.stop().await;
}

#[tokio::test]
async fn a_connection_that_was_in_use_when_the_certificate_changed_is_not_used_again() {
    let world = World::speaking(Speaks::Http1).await;
    world.answer(&world.certificate("ann", PAST));
    let transport = world.transport(&world.answering_plugin());
    assert_eq!(who(&transport).await, "ann");
    let unread = transport.send(Request::get("/version").body(Body::empty()).unwrap()).await.unwrap();
    world.answer(&world.certificate("bob", FUTURE));
    assert_eq!(who(&transport).await, "bob");
    assert_eq!(transport.connections(), 2);
    unread.into_body().bytes().await.unwrap();
    until(|| transport.connections() == 1).await;
    assert_eq!(who(&transport).await, "bob");
    world.stop().await;
}

#[tokio::test]
async fn a_plugin_is_told_what_is_wanted_and_cannot_read_our_input() {
    let world = World::start().await;
    let script =
        r#"printf %s "$KUBERNETES_EXEC_INFO" > info; echo "$1 $GREETING" > said; cat > input; cat answer"#;
    let user = world.plugin(script);
    let told = "env: [{name: GREETING, value: hello}], provideClusterInfo: true, command:";
    world.answer(&json!({"token": "jane"}));
    let transport = world.transport(&user.replace("command:", told));
    assert_eq!(who(&transport).await, "jane");
    let info: Value = serde_json::from_str(&world.read("info")).unwrap();
    assert_eq!((&info["apiVersion"], &info["kind"]), (&json!(V1), &json!("ExecCredential")));
    assert_eq!(info["spec"]["interactive"], false);
    assert_eq!(info["spec"]["cluster"]["server"], world.url.as_str());
    let authority = info["spec"]["cluster"]["certificate-authority-data"].as_str().unwrap();
    let authority = base64::engine::general_purpose::STANDARD.decode(authority).unwrap();
    assert_eq!(authority, world.authority.certificate().as_bytes());
    assert_eq!((world.read("said").as_str(), world.read("input").as_str()), ("a b hello\n", ""));

    let beta = "client.authentication.k8s.io/v1beta1";
    let transport = world.transport(&user.replace(V1, beta));
    assert_eq!(
        who(&transport).await,
        format!("no credentials: plugin \"sh\" is configured for {beta} and has printed {V1}")
    );
    let info: Value = serde_json::from_str(&world.read("info")).unwrap();
    assert_eq!(info["apiVersion"], beta);
    assert_eq!(info["spec"].get("cluster"), None, "nobody has asked for it");
    world.answer(&json!({"token": "jane"}));
    world.write("answer", world.read("answer").replace(V1, beta));
    assert_eq!(who(&transport).await, "jane");
    world.stop().await;
}

#[tokio::test]
async fn what_is_wrong_with_a_plugin_is_told_without_what_it_has_printed() {
    let world = World::start().await;
    let failure = async |script: &str| {
        let transport = world.transport(&world.plugin(script));
        let error = ask_who(&transport).await.unwrap_err();
        assert!(matches!(error, TransportError::Auth(_)) && !error.was_sent());
        error.to_string().strip_prefix("no credentials: plugin \"sh\" ").unwrap().to_owned()
    };
    assert_eq!(failure("echo hunter2; exit 3").await, "has failed with exit code 3");
    assert!(failure("kill -9 $$").await.starts_with("was ended: signal: 9"));
    assert_eq!(failure("echo hunter2").await, "has printed no ExecCredential");
    assert_eq!(failure("yes hunter2").await, "has printed more than 1048576 bytes");

    let missing =
        world.plugin("").replace("command: sh", "command: no-such-plugin, installHint: \"get\\x1b it\"");
    assert_eq!(
        who(&world.transport(&missing)).await,
        "no credentials: plugin \"no-such-plugin\" is not found: getU+001B it"
    );
    let mut config = world.config(&world.plugin("echo"));
    config.plugin_policy = PluginPolicy::DenyAll;
    let transport = Transport::from_config(&config).unwrap();
    assert!(who(&transport).await.ends_with("may not be run: no plugin may"));
    config.plugin_policy = PluginPolicy::Allowlist(Vec::new());
    let error = Transport::from_config(&config).unwrap_err();
    assert!(matches!(error, BuildError::Credentials(_)), "{error}");
    world.stop().await;
}

#[tokio::test]
async fn a_plugin_that_nobody_waits_for_is_killed() {
    let world = World::start().await;
    let transport = world.transport(&world.plugin("echo $$ > starting; mv starting pid; exec sleep 100"));
    let asking = tokio::spawn(async move { who(&transport).await });
    until(|| world.path("pid").exists()).await;
    let process = PathBuf::from("/proc").join(world.read("pid").trim());
    let has_ended = || {
        // Where there is no /proc, a signal that does nothing tells.
        let mut kill = std::process::Command::new("kill");
        let found = kill.args(["-0", world.read("pid").trim()]).stderr(std::process::Stdio::null()).status();
        !process.exists() && !found.unwrap().success()
    };
    assert!(!has_ended());
    asking.abort();
    until(has_ended).await;
    world.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_plugin_that_hangs_is_given_up() {
    let world = World::start().await;
    let transport = world.transport(&world.plugin("exec sleep 100"));
    let (begun, really) = (tokio::time::Instant::now(), std::time::Instant::now());
    assert!(who(&transport).await.ends_with("has not ended within 60 s"));
    assert_eq!(begun.elapsed().as_secs(), PLUGIN_TIMEOUT.as_secs());
    assert!(really.elapsed() < PLUGIN_TIMEOUT, "the clock of this test is not the world's");
    world.stop().await;
}

#[tokio::test]
async fn a_request_with_credentials_of_its_own_needs_no_plugin() {
    let world = World::speaking(Speaks::Plain).await;
    let mut config = world.config(&world.answering_plugin());
    config.plain_credentials = true;
    let transport = Transport::from_config(&config).unwrap();
    for (token, status) in [("jane", StatusCode::OK), ("nobody", StatusCode::UNAUTHORIZED)] {
        let request = Request::get("/api").header("authorization", format!("Bearer {token}"));
        let answer = transport.send(request.body(Body::empty()).unwrap()).await.unwrap();
        assert_eq!(answer.status(), status);
    }
    assert_eq!(world.runs(), 0);
    world.stop().await;
}
