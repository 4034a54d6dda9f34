//! Credentials that change, against the embedded server: plugins are real programs, files are real files.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use http::{Request, StatusCode};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use watchkeeper_apiserver::api::Api;
use watchkeeper_apiserver::http::{Authenticator, Authority, Front, Listener, MASTERS, Security, User};
use watchkeeper_apiserver::registry;
use watchkeeper_apiserver::store::{HistoryLimits, MemoryStore};
use watchkeeper_client::auth::{PLUGIN_TIMEOUT, PluginPolicy};
use watchkeeper_client::config::Proxy;
use watchkeeper_client::kubeconfig::{Overrides, Sources};
use watchkeeper_client::transport::{Body, BuildError, TransportError};
use watchkeeper_client::{Config, Transport};

const V1: &str = "client.authentication.k8s.io/v1";

/// What a server speaks.
#[derive(Clone, Copy, PartialEq)]
enum Speaks {
    Http2,
    Http1,
    Plain,
}

/// A server that knows the tokens `jane` and `root`, by their names, and the certificates of its authority.
struct World {
    url: String,
    authority: Authority,
    directory: TempDir,
    stop: CancellationToken,
    serving: JoinHandle<()>,
}

impl World {
    async fn start() -> Self {
        Self::speaking(Speaks::Http2).await
    }

    async fn speaking(speaks: Speaks) -> Self {
        let authority = Authority::generate().unwrap();
        let mut tls = (*authority.serve(&authority.vouch_for_server(&[]).unwrap()).unwrap()).clone();
        if speaks == Speaks::Http1 {
            tls.alpn_protocols = vec![b"http/1.1".to_vec()];
        }
        let security = match speaks {
            Speaks::Plain => Security::Plain,
            _ => Security::Tls(Arc::new(tls)),
        };
        let listener = Listener::bind(([127, 0, 0, 1], 0).into(), security).await.unwrap();
        let url = listener.url();
        let known = Authenticator::default()
            .token("jane", User::new("jane", ["dev"]))
            .token("root", User::new("root", [MASTERS]));
        let store = Arc::new(MemoryStore::new(HistoryLimits::default()));
        let api = Api::new(Arc::new(registry::builtin().clone()), store, listener.address().to_string());
        let stop = CancellationToken::new();
        let serving = tokio::spawn(listener.run(Front::new(api, known), stop.clone()));
        Self { url, authority, directory: tempfile::tempdir().unwrap(), stop, serving }
    }

    async fn stop(self) {
        self.stop.cancel();
        self.serving.await.unwrap();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        fs::write(self.path(name), text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// What a kubeconfig says that has this user, as YAML in braces.
    fn config(&self, user: &str) -> Config {
        self.write("ca.crt", self.authority.certificate());
        let authority = if self.url.starts_with("https") { "certificate-authority: ca.crt" } else { "" };
        let url = &self.url;
        self.write(
            "config",
            format!(
                "apiVersion: v1
kind: Config
current-context: x
contexts: [{{name: x, context: {{cluster: c, user: u}}}}]
clusters: [{{name: c, cluster: {{server: '{url}', {authority}}}}}]
users: [{{name: u, user: {{{user}}}}}]
"
            ),
        );
        let mut config = Config::load(&Sources::File(self.path("config")), &Overrides::default()).unwrap();
        config.proxy = Proxy::Direct;
        config
    }

    fn transport(&self, user: &str) -> Transport {
        Transport::from_config(&self.config(user)).unwrap()
    }

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

/// Who the server takes us for; or its code, or our error.
async fn who(transport: &Transport) -> String {
    match ask_who(transport).await {
        Ok(name) => name,
        Err(error) => error.to_string(),
    }
}

async fn ask_who(transport: &Transport) -> Result<String, TransportError> {
    let object = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
    let request = Request::post("/apis/authentication.k8s.io/v1/selfsubjectreviews")
        .header("content-type", "application/json")
        .body(Body::from(object.to_string()))
        .unwrap();
    let answer = transport.send(request).await?;
    if answer.status() != StatusCode::CREATED {
        return Ok(answer.status().as_str().to_owned());
    }
    let review: Value = serde_json::from_slice(&answer.into_body().bytes().await.unwrap()).unwrap();
    Ok(review["status"]["userInfo"]["username"].as_str().unwrap().to_owned())
}

const PAST: &str = "2020-01-01T00:00:00Z";
const FUTURE: &str = "2999-01-01T00:00:00Z";

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
    use base64::Engine as _;
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
    let transport = world.transport(&world.plugin("echo $$ > starting; mv starting pid; exec sleep 1000"));
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
    let transport = world.transport(&world.plugin("exec sleep 1000"));
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

#[tokio::test]
async fn a_token_file_is_read_again_when_the_server_has_refused_its_token() {
    let world = World::start().await;
    world.write("token", "revoked");
    let transport = world.transport("tokenFile: token");
    assert_eq!(who(&transport).await, "401");
    assert_eq!(who(&transport).await, "401");
    world.write("token", "jane\n");
    assert_eq!(who(&transport).await, "jane");
    world.write("token", "root");
    assert_eq!(who(&transport).await, "jane", "it is good, and not old yet");
    world.stop().await;
}

#[tokio::test]
async fn a_certificate_in_files_is_read_again() {
    let world = World::start().await;
    let write = |name: &str| {
        let identity = world.authority.vouch_for_client(name, &[]).unwrap();
        world.write("c.crt", identity.certificate);
        world.write("c.key", identity.key);
    };
    write("ann");
    let transport = world.transport("client-certificate: c.crt, client-key: c.key");
    assert_eq!(who(&transport).await, "ann");
    assert_eq!(who(&transport).await, "ann"); // certificates were looked at just now
    write("bob");
    assert_eq!(who(&transport).await, "ann");
    tokio::time::pause();
    tokio::time::advance(std::time::Duration::from_secs(10)).await;
    tokio::time::resume();
    assert_eq!(who(&transport).await, "bob");
    world.stop().await;
}

#[tokio::test]
async fn one_can_act_as_somebody_else() {
    let world = World::start().await;
    let as_her = ", as: her, as-uid: '7', as-groups: [g], as-user-extra: {acme.com/scope: [a]}";
    assert_eq!(who(&world.transport(&format!("token: root{as_her}"))).await, "her");
    assert_eq!(who(&world.transport("token: root")).await, "root");
    world.stop().await;
}

/// Returns once the condition holds.
async fn until(condition: impl Fn() -> bool) {
    while !condition() {
        tokio::task::yield_now().await;
    }
}
