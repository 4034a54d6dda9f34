//! Exec plugins: real programs that issue tokens and certificates.

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

use crate::{Protocol, World, request_username, until, username};

const V1: &str = "client.authentication.k8s.io/v1";
const PAST: &str = "2020-01-01T00:00:00Z";
const FUTURE: &str = "2999-01-01T00:00:00Z";

impl World {
    /// A plugin that runs this script. The shell reads the file, since a file just written cannot always be executed.
    fn plugin(&self, script: &str) -> String {
        let directory = self.directory.path().display();
        self.write("plugin", format!("cd '{directory}'\n{script}\n"));
        format!(
            "exec: {{command: sh, args: ['{directory}/plugin', a b], apiVersion: {V1}, interactiveMode: Never}}"
        )
    }

    /// A plugin that prints the file `output` and records each run.
    fn printing_plugin(&self) -> String {
        self.plugin("echo >> runs; cat output")
    }

    fn set_output(&self, status: &Value) {
        let output = json!({"apiVersion": V1, "kind": "ExecCredential", "status": status});
        self.write("output", output.to_string());
    }

    fn runs(&self) -> usize {
        self.read("runs").len()
    }

    /// The status that a plugin prints with a client certificate for `name`.
    fn certificate(&self, name: &str, expires: &str) -> Value {
        let identity = self.authority.sign_client(name, &[]).unwrap();
        json!({"clientCertificateData": identity.certificate, "clientKeyData": identity.key,
            "expirationTimestamp": expires})
    }
}

#[tokio::test]
async fn one_run_serves_all_requests_and_all_transports() {
    let world = World::start().await;
    world.set_output(&json!({"token": "jane", "expirationTimestamp": FUTURE}));
    let user = world.printing_plugin();
    let (one, other) = (world.transport(&user), world.transport(&user));
    let names = (0..20).map(|number| username(if number % 2 == 0 { &one } else { &other }));
    for name in futures_util::future::join_all(names).await {
        assert_eq!(name, "jane");
    }
    assert_eq!(world.runs(), 1);
    let different = world.transport(&user.replace("a b", "c"));
    assert_eq!(username(&different).await, "jane");
    assert_eq!(world.runs(), 2, "a different config has its own plugin");
    world.stop().await;
}

#[tokio::test]
async fn expired_credentials_cause_another_run() {
    let world = World::start().await;
    world.set_output(&json!({"token": "jane", "expirationTimestamp": PAST}));
    let transport = world.transport(&world.printing_plugin());
    assert_eq!(username(&transport).await, "jane");
    let before = world.runs();
    world.set_output(&json!({"token": "root", "expirationTimestamp": FUTURE}));
    assert_eq!(username(&transport).await, "root");
    assert_eq!(username(&transport).await, "root");
    assert_eq!(world.runs(), before + 1);
    world.stop().await;
}

#[tokio::test]
async fn a_rejected_token_causes_another_run() {
    let world = World::start().await;
    world.set_output(&json!({"token": "revoked"}));
    let transport = world.transport(&world.printing_plugin());
    let names = (0..10).map(|_| username(&transport));
    assert_eq!(futures_util::future::join_all(names).await, ["401"; 10]);
    assert_eq!(world.runs(), 1, "the rejected request itself is not retried");
    world.set_output(&json!({"token": "jane"}));
    let names = (0..10).map(|_| username(&transport));
    assert_eq!(futures_util::future::join_all(names).await, ["jane"; 10]);
    assert_eq!(world.runs(), 2);
    world.stop().await;
}

#[tokio::test]
async fn a_new_certificate_opens_new_connections() {
    for protocol in [Protocol::Http2, Protocol::Http1] {
        let world = World::serving(protocol).await;
        world.set_output(&world.certificate("ann", FUTURE));
        let transport = world.transport(&world.printing_plugin());
        assert_eq!(username(&transport).await, "ann");
        assert_eq!(username(&transport).await, "ann");
        assert_eq!(world.runs(), 1);
        world.stop().await;

        let world = World::serving(protocol).await;
        world.set_output(&world.certificate("ann", PAST));
        let transport = world.transport(&world.printing_plugin());
        for name in ["ann", "bob", "eve"] {
            world.set_output(&world.certificate(name, PAST));
            assert_eq!(username(&transport).await, name, "used by the next request");
        }
        // The server prefers a certificate to a token, so an old connection would still authenticate as eve.
        world.set_output(&json!({"token": "jane", "expirationTimestamp": FUTURE}));
        assert_eq!(username(&transport).await, "jane");
        world.stop().await;
    }
}

#[tokio::test]
async fn plugin_runs_and_certificate_rotations_are_counted() {
    let world = World::start().await;
    let registry = Registry::new();
    let metrics: Arc<dyn Metrics> = Arc::new(PrometheusMetrics::new(&registry).unwrap());
    let transport_for = |user: &str| {
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
    let transport = transport_for(&world.printing_plugin());
    for name in ["ann", "ann", "bob"] {
        world.set_output(&world.certificate(name, PAST));
        assert_eq!(username(&transport).await, name);
    }
    let left = value(ttl);
    assert!(left > 0.0 && left.is_finite(), "{left}");
    let (runs, rotated) = (world.runs() as f64, value(rotations));
    assert_eq!(value("rest_client_exec_plugin_call_total{code=\"0\",call_status=\"no_error\"}"), runs);
    assert!(rotated >= 1.0 && rotated < runs, "{rotated} of {runs}: the last certificate is still in use");
    world.set_output(&json!({"token": "jane"}));
    assert_eq!(username(&transport).await, "jane");
    assert_eq!((value(ttl), value(rotations)), (f64::INFINITY, rotated + 1.0), "no certificate is left");

    drop(transport); // an equal config would share the plugin and its cached credentials
    username(&transport_for(&world.plugin("exit 3"))).await;
    let failed = "rest_client_exec_plugin_call_total{code=\"3\",call_status=\"plugin_execution_error\"}";
    assert!(value(failed) >= 1.0);
    let user = format!("exec: {{command: not-there-at-all, apiVersion: {V1}, interactiveMode: Never}}");
    username(&transport_for(&user)).await;
    let missing = "rest_client_exec_plugin_call_total{code=\"1\",call_status=\"plugin_not_found_error\"}";
    assert!(value(missing) >= 1.0);
    world.stop().await;
}

#[tokio::test]
async fn a_connection_busy_during_a_certificate_change_is_not_reused() {
    let world = World::serving(Protocol::Http1).await;
    world.set_output(&world.certificate("ann", PAST));
    let transport = world.transport(&world.printing_plugin());
    assert_eq!(username(&transport).await, "ann");
    let unread = transport.send(Request::get("/version").body(Body::empty()).unwrap()).await.unwrap();
    world.set_output(&world.certificate("bob", FUTURE));
    assert_eq!(username(&transport).await, "bob");
    assert_eq!(transport.connections(), 2);
    unread.into_body().bytes().await.unwrap();
    until(|| transport.connections() == 1).await;
    assert_eq!(username(&transport).await, "bob");
    world.stop().await;
}

#[tokio::test]
async fn a_plugin_receives_exec_info_and_not_our_stdin() {
    let world = World::start().await;
    let script = r#"printf %s "$KUBERNETES_EXEC_INFO" > info; echo "$1 $GREETING" > arguments; cat > input; cat output"#;
    let user = world.plugin(script);
    let settings = "env: [{name: GREETING, value: hello}], provideClusterInfo: true, command:";
    world.set_output(&json!({"token": "jane"}));
    let transport = world.transport(&user.replace("command:", settings));
    assert_eq!(username(&transport).await, "jane");
    let info: Value = serde_json::from_str(&world.read("info")).unwrap();
    assert_eq!((&info["apiVersion"], &info["kind"]), (&json!(V1), &json!("ExecCredential")));
    assert_eq!(info["spec"]["interactive"], false);
    assert_eq!(info["spec"]["cluster"]["server"], world.url.as_str());
    let authority = info["spec"]["cluster"]["certificate-authority-data"].as_str().unwrap();
    let authority = base64::engine::general_purpose::STANDARD.decode(authority).unwrap();
    assert_eq!(authority, world.authority.certificate().as_bytes());
    assert_eq!((world.read("arguments").as_str(), world.read("input").as_str()), ("a b hello\n", ""));

    let beta = "client.authentication.k8s.io/v1beta1";
    let transport = world.transport(&user.replace(V1, beta));
    assert_eq!(
        username(&transport).await,
        format!("failed to get credentials: exec plugin \"sh\": configured for {beta}, but printed {V1}")
    );
    let info: Value = serde_json::from_str(&world.read("info")).unwrap();
    assert_eq!(info["apiVersion"], beta);
    assert_eq!(info["spec"].get("cluster"), None, "provideClusterInfo is not set");
    world.set_output(&json!({"token": "jane"}));
    world.write("output", world.read("output").replace(V1, beta));
    assert_eq!(username(&transport).await, "jane");
    world.stop().await;
}

#[tokio::test]
async fn plugin_errors_do_not_quote_the_output() {
    let world = World::start().await;
    let failure = async |script: &str| {
        let transport = world.transport(&world.plugin(script));
        let error = request_username(&transport).await.unwrap_err();
        assert!(matches!(error, TransportError::Auth(_)) && !error.was_sent());
        let error = error.to_string();
        error.strip_prefix("failed to get credentials: exec plugin \"sh\": ").unwrap().to_owned()
    };
    assert_eq!(failure("echo hunter2; exit 3").await, "failed with exit code 3");
    assert!(failure("kill -9 $$").await.starts_with("was terminated: signal: 9"));
    assert_eq!(failure("echo hunter2").await, "output is not an ExecCredential");
    assert_eq!(failure("yes hunter2").await, "output exceeds 1048576 bytes");

    let missing =
        world.plugin("").replace("command: sh", "command: no-such-plugin, installHint: \"get\\x1b it\"");
    assert_eq!(
        username(&world.transport(&missing)).await,
        "failed to get credentials: exec plugin \"no-such-plugin\": executable not found: getU+001B it"
    );
    let mut config = world.config(&world.plugin("echo"));
    config.plugin_policy = PluginPolicy::DenyAll;
    let transport = Transport::from_config(&config).unwrap();
    assert!(username(&transport).await.ends_with("denied by policy: no plugin may be run"));
    config.plugin_policy = PluginPolicy::Allowlist(Vec::new());
    let error = Transport::from_config(&config).unwrap_err();
    assert!(matches!(error, BuildError::Credentials(_)), "{error}");
    world.stop().await;
}

#[tokio::test]
async fn a_plugin_without_waiters_is_killed() {
    let world = World::start().await;
    let transport = world.transport(&world.plugin("echo $$ > starting; mv starting pid; exec sleep 100"));
    let asking = tokio::spawn(async move { username(&transport).await });
    until(|| world.path("pid").exists()).await;
    let process = PathBuf::from("/proc").join(world.read("pid").trim());
    let has_ended = || {
        // On systems without /proc, kill -0 shows whether the process exists.
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
async fn a_hanging_plugin_times_out() {
    let world = World::start().await;
    let transport = world.transport(&world.plugin("exec sleep 100"));
    let (started, really) = (tokio::time::Instant::now(), std::time::Instant::now());
    assert!(username(&transport).await.ends_with("timed out after 60s"));
    assert_eq!(started.elapsed().as_secs(), PLUGIN_TIMEOUT.as_secs());
    assert!(really.elapsed() < PLUGIN_TIMEOUT, "the test runs on a paused clock");
    world.stop().await;
}

#[tokio::test]
async fn a_request_with_its_own_credentials_runs_no_plugin() {
    let world = World::serving(Protocol::Plain).await;
    let mut config = world.config(&world.printing_plugin());
    config.plain_credentials = true;
    let transport = Transport::from_config(&config).unwrap();
    for (token, status) in [("jane", StatusCode::OK), ("nobody", StatusCode::UNAUTHORIZED)] {
        let request = Request::get("/api").header("authorization", format!("Bearer {token}"));
        let response = transport.send(request.body(Body::empty()).unwrap()).await.unwrap();
        assert_eq!(response.status(), status);
    }
    assert_eq!(world.runs(), 0);
    world.stop().await;
}
