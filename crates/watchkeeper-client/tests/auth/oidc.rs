//! ID tokens, and a provider that refreshes them.

use std::collections::HashMap;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use watchkeeper_client::Transport;
use watchkeeper_client::config::Authorization;
use watchkeeper_wire::yaml;

use crate::{World, until, username};

/// An ID token with this `exp`, in seconds since 1970.
pub(crate) fn jwt(expires: i64) -> String {
    let claims = json!({"iss": "x", "sub": "olga", "exp": expires}).to_string();
    format!("e30.{}.c2ln", URL_SAFE_NO_PAD.encode(claims))
}

/// A time in the far future, and one in the past.
pub(crate) const NEVER: i64 = 40_000_000_000;
const PAST: i64 = 1_000_000_000;

/// A provider with scripted responses.
struct Provider {
    url: String,
    state: Arc<State>,
    /// Dropping it stops the provider.
    _serving: JoinSet<()>,
}

/// Path, `Authorization` and form of a request.
type Recorded = (String, String, HashMap<String, String>);

#[derive(Default)]
struct State {
    requests: Mutex<Vec<Recorded>>,
    /// Status code and body of the token endpoint's responses.
    response: Mutex<(u16, Value)>,
    /// Whether client authentication by header is rejected.
    wants_forms: Mutex<bool>,
    /// Permits for responses of the token endpoint; unlimited if `None`.
    permits: Mutex<Option<Arc<Semaphore>>>,
    url: Mutex<String>,
}

impl State {
    async fn respond(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        let (head, body) = request.into_parts();
        let form = String::from_utf8(body.collect().await.unwrap().to_bytes().to_vec()).unwrap();
        let pairs = form.split('&').filter_map(|pair| pair.split_once('='));
        let form: HashMap<String, String> = pairs.map(|(a, b)| (a.to_owned(), b.to_owned())).collect();
        let authorization =
            head.headers.get("authorization").map_or("", |it| it.to_str().unwrap()).to_owned();
        self.requests.lock().push((head.uri.path().to_owned(), authorization.clone(), form));
        let (code, body) = match head.uri.path() {
            "/realm/.well-known/openid-configuration" => {
                (200, json!({"issuer": "x", "token_endpoint": format!("{}/token?x=1", self.url.lock())}))
            }
            "/token" if *self.wants_forms.lock() && !authorization.is_empty() => {
                (401, json!({"error": "invalid_client"}))
            }
            "/token" => {
                let permits = self.permits.lock().clone();
                if let Some(permits) = permits {
                    permits.acquire().await.unwrap().forget();
                }
                self.response.lock().clone()
            }
            _ => (404, Value::Null),
        };
        let body = Full::from(body.to_string());
        Response::builder().status(code).header("content-type", "application/json").body(body).unwrap()
    }
}

impl Provider {
    /// Starts a provider with a certificate of the API server's authority.
    async fn start(world: &World) -> Self {
        let identity = world.authority.sign_server(&[]).unwrap();
        let mut tls = (*world.authority.serve(&identity).unwrap()).clone();
        tls.alpn_protocols = vec![b"http/1.1".to_vec()];
        let acceptor = TlsAcceptor::from(Arc::new(tls));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("https://{}", listener.local_addr().unwrap());
        let state = Arc::new(State::default());
        state.url.lock().clone_from(&url);
        let mut serving = JoinSet::new();
        let shared = state.clone();
        serving.spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let (acceptor, state) = (acceptor.clone(), shared.clone());
                connections.spawn(async move {
                    let Ok(stream) = acceptor.accept(stream).await else { return };
                    let service = service_fn(move |request| {
                        let state = state.clone();
                        async move { Ok::<_, hyper::Error>(state.respond(request).await) }
                    });
                    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
                });
            }
        });
        Self { url, state, _serving: serving }
    }

    fn set_response(&self, code: u16, body: Value) {
        *self.state.response.lock() = (code, body);
    }

    fn paths(&self) -> Vec<String> {
        self.state.requests.lock().iter().map(|(path, ..)| path.clone()).collect()
    }

    /// A kubeconfig user of this provider, with additional settings.
    fn user(&self, world: &World, settings: &str) -> String {
        let authority = STANDARD.encode(world.authority.certificate());
        format!(
            "auth-provider: {{name: oidc, config: {{idp-issuer-url: '{}/realm/', client-id: 'me:1', \
             idp-certificate-authority-data: {authority}, {settings}}}}}",
            self.url
        )
    }
}

impl World {
    /// A setting of the auth provider in the kubeconfig.
    fn setting(&self, name: &str) -> String {
        let config = Value::from(yaml::read(&self.read("config")).unwrap().document);
        let settings = config.pointer("/users/0/user/auth-provider/config").unwrap();
        settings[name].as_str().unwrap_or_default().to_owned()
    }
}

#[tokio::test]
async fn a_valid_token_is_used_without_asking_the_provider() {
    let world = World::start().await;
    let provider = Provider::start(&world).await;
    let user = provider.user(&world, &format!("id-token: {}, refresh-token: r", jwt(NEVER)));
    assert_eq!(username(&world.transport(&user)).await, "olga");
    assert!(provider.paths().is_empty());
    world.stop().await;
}

#[tokio::test]
async fn an_expired_token_is_refreshed_once_and_saved() {
    let world = World::start().await;
    let provider = Provider::start(&world).await;
    provider.set_response(200, json!({"access_token": "a", "id_token": jwt(NEVER), "refresh_token": "r2"}));
    let settings = format!("id-token: {}, refresh-token: 'r 1', client-secret: 's&1'", jwt(PAST));
    let user = provider.user(&world, &settings);
    let transports = [world.transport(&user), world.transport(&user)];
    let before = Value::from(yaml::read(&world.read("config")).unwrap().document);
    let names = (0..10).map(|number| username(&transports[number % 2]));
    assert_eq!(futures_util::future::join_all(names).await, ["olga"; 10]);
    assert_eq!(provider.paths(), ["/realm/.well-known/openid-configuration", "/token"]);
    let (_, authorization, form) = provider.state.requests.lock()[1].clone();
    assert_eq!(authorization, format!("Basic {}", STANDARD.encode("me%3A1:s%261")));
    let expected = [("grant_type", "refresh_token"), ("refresh_token", "r%201")];
    assert_eq!(form, expected.map(|(name, value)| (name.to_owned(), value.to_owned())).into());

    let mut expected = before;
    let kept = expected.pointer_mut("/users/0/user/auth-provider/config").unwrap();
    (kept["id-token"], kept["refresh-token"]) = (jwt(NEVER).into(), "r2".into());
    assert_eq!(Value::from(yaml::read(&world.read("config")).unwrap().document), expected);
    let mode = world.path("config").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(!world.path("config.lock").exists());
    world.stop().await;
}

#[tokio::test]
async fn a_provider_may_require_client_credentials_in_the_form() {
    let world = World::start().await;
    for (secret, requests) in [("client-secret: s", 3), ("", 2)] {
        let provider = Provider::start(&world).await;
        *provider.state.wants_forms.lock() = true;
        provider.set_response(200, json!({"id_token": jwt(NEVER)}));
        let user = provider.user(&world, &format!("refresh-token: r, {secret}"));
        assert_eq!(username(&world.transport(&user)).await, "olga");
        assert_eq!(provider.paths().len(), requests);
        let (_, authorization, form) = provider.state.requests.lock().last().unwrap().clone();
        assert_eq!((authorization.as_str(), form["client_id"].as_str()), ("", "me%3A1"));
        assert_eq!(form.contains_key("client_secret"), !secret.is_empty());
        assert_eq!(world.setting("refresh-token"), "r", "the old one remains valid");
    }
    world.stop().await;
}

#[tokio::test]
async fn tokens_refreshed_by_another_process_are_used() {
    let world = World::start().await;
    let provider = Provider::start(&world).await;
    let settings = |id_token, refresh_token: &str| {
        format!("id-token: {}, refresh-token: {refresh_token}", jwt(id_token))
    };
    let transport = world.transport(&provider.user(&world, &settings(PAST, "r1")));
    world.config(&provider.user(&world, &settings(NEVER, "r2")));
    assert_eq!(username(&transport).await, "olga");
    assert!(provider.paths().is_empty());

    let world2 = World::start().await;
    let transport = world2.transport(&provider.user(&world, &settings(PAST, "r1")));
    world2.config(&provider.user(&world, &settings(PAST + 1, "r2")));
    provider.set_response(200, json!({"id_token": jwt(NEVER)}));
    assert_eq!(username(&transport).await, "olga");
    assert_eq!(provider.state.requests.lock().last().unwrap().2["refresh_token"], "r2");
    world.stop().await;
    world2.stop().await;
}

#[tokio::test]
async fn refreshed_tokens_are_saved_even_if_every_waiter_is_dropped() {
    let world = World::start().await;
    let provider = Provider::start(&world).await;
    let permits = Arc::new(Semaphore::new(0));
    *provider.state.permits.lock() = Some(permits.clone());
    provider.set_response(200, json!({"id_token": jwt(NEVER), "refresh_token": "r2"}));
    let transport = world.transport(&provider.user(&world, "refresh-token: r1"));
    let asking = tokio::spawn({
        let transport = transport.clone();
        async move { username(&transport).await }
    });
    until(|| provider.paths().len() == 2).await;
    asking.abort();
    assert!(asking.await.unwrap_err().is_cancelled());
    // The next request waits for the running refresh instead of sending the refresh token again.
    let (name, ()) = tokio::join!(username(&transport), async { permits.add_permits(1) });
    assert_eq!((name.as_str(), world.setting("refresh-token").as_str()), ("olga", "r2"));
    assert_eq!(provider.paths().len(), 2);
    world.stop().await;
}

#[tokio::test]
async fn refresh_errors_contain_no_secrets() {
    let world = World::start().await;
    let provider = Provider::start(&world).await;
    let failure = async |settings: &str| {
        let transport = world.transport(&provider.user(&world, settings));
        let error = username(&transport).await;
        error.strip_prefix("failed to get credentials: auth-provider oidc: ").unwrap_or(&error).to_owned()
    };
    assert_eq!(
        failure(&format!("id-token: {}", jwt(PAST))).await,
        "id-token has expired and there is no refresh-token: log in again"
    );
    provider.set_response(400, json!({"error": "invalid_grant", "error_description": "hunter2"}));
    assert_eq!(
        failure("refresh-token: hunter2").await,
        "provider rejected the refresh-token: 400 Bad Request: invalid_grant"
    );
    provider.set_response(200, json!({"access_token": "hunter2"}));
    assert!(failure("refresh-token: r").await.starts_with("token response has no id_token"));
    provider.set_response(200, json!({"id_token": "hunter2"}));
    assert_eq!(failure("refresh-token: r").await, "id-token is not a valid JWT");

    provider.set_response(200, json!({"id_token": jwt(NEVER)}));
    let requests = provider.paths().len();
    world.write("config.lock", "");
    let error = failure("refresh-token: r").await;
    assert!(error.starts_with("failed to save tokens: ") && error.contains("config.lock"), "{error}");
    assert_eq!(provider.paths().len(), requests, "no refresh starts if the tokens could not be saved");
    std::fs::remove_file(world.path("config.lock")).unwrap();
    assert_eq!(failure("refresh-token: r").await, "olga");
    world.stop().await;
}

#[tokio::test]
async fn invalid_settings_are_reported() {
    let world = World::start().await;
    let error = |user: &str| Transport::from_config(&world.config(user)).unwrap_err().to_string();
    let oidc = |settings: &str| format!("auth-provider: {{name: oidc, config: {{{settings}}}}}");
    let prefix = "failed to get credentials: auth-provider oidc: ";
    assert_eq!(error(&oidc("client-id: c")), format!("{prefix}idp-issuer-url is required"));
    assert_eq!(error(&oidc("idp-issuer-url: 'https://x'")), format!("{prefix}client-id is required"));
    let plain = oidc("client-id: c, idp-issuer-url: 'http://127.0.0.1:1', refresh-token: r");
    let transport = world.transport(&plain);
    assert!(
        username(&transport).await.ends_with("must begin with https://"),
        "config.F1 holds for providers too"
    );
    let Authorization::Oidc(oidc) = world.config(&plain).authorization else { panic!() };
    assert!(!format!("{oidc:?}").contains("127.0.0.1"), "all settings are secrets");
    world.stop().await;
}
