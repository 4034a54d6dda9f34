//! Rotating credentials against the embedded server, with real plugins and files.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod exec;
mod files;
mod oidc;

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http::{Request, StatusCode};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use watchkeeper_apiserver::api::Api;
use watchkeeper_apiserver::http::{
    Authenticator, Authority, HandlerChain, Listener, MASTERS, Security, User,
};
use watchkeeper_apiserver::registry;
use watchkeeper_apiserver::store::{HistoryLimits, MemoryStore};
use watchkeeper_client::config::Proxy;
use watchkeeper_client::kubeconfig::{Overrides, Sources};
use watchkeeper_client::transport::{Body, TransportError};
use watchkeeper_client::{Config, Transport};

/// The protocol that the server accepts.
#[derive(Clone, Copy, PartialEq)]
enum Protocol {
    Http2,
    Http1,
    Plain,
}

/// A server that accepts the tokens `jane` and `root`, an ID token of `olga`, and client certificates of its
/// own authority.
struct World {
    url: String,
    authority: Authority,
    directory: TempDir,
    stop: CancellationToken,
    serving: JoinHandle<()>,
}

impl World {
    async fn start() -> Self {
        Self::serving(Protocol::Http2).await
    }

    async fn serving(protocol: Protocol) -> Self {
        let authority = Authority::generate().unwrap();
        let mut tls = (*authority.serve(&authority.sign_server(&[]).unwrap()).unwrap()).clone();
        if protocol == Protocol::Http1 {
            tls.alpn_protocols = vec![b"http/1.1".to_vec()];
        }
        let security = match protocol {
            Protocol::Plain => Security::Plain,
            _ => Security::Tls(Arc::new(tls)),
        };
        let listener = Listener::bind(([127, 0, 0, 1], 0).into(), security).await.unwrap();
        let url = listener.url();
        let known = Authenticator::default()
            .token("jane", User::new("jane", ["dev"]))
            .token("root", User::new("root", [MASTERS]))
            .token(&oidc::jwt(oidc::NEVER), User::new("olga", ["dev"]));
        let store = Arc::new(MemoryStore::new(HistoryLimits::default()));
        let api = Api::new(Arc::new(registry::builtin().clone()), store, listener.address().to_string());
        let stop = CancellationToken::new();
        let serving = tokio::spawn(listener.run(HandlerChain::new(api, known), stop.clone()));
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

    /// The config of a kubeconfig with this user, a YAML flow mapping without its braces.
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
}

/// Returns the username that the server reports, its status code, or our error.
async fn username(transport: &Transport) -> String {
    match request_username(transport).await {
        Ok(name) => name,
        Err(error) => error.to_string(),
    }
}

async fn request_username(transport: &Transport) -> Result<String, TransportError> {
    Ok(match review(transport).await? {
        Ok(user) => user["username"].as_str().unwrap().to_owned(),
        Err(code) => code.as_str().to_owned(),
    })
}

/// Returns the user info of a SelfSubjectReview, or the server's status code.
async fn review(transport: &Transport) -> Result<Result<Value, StatusCode>, TransportError> {
    let object = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
    let request = Request::post("/apis/authentication.k8s.io/v1/selfsubjectreviews")
        .header("content-type", "application/json")
        .body(Body::from(object.to_string()))
        .unwrap();
    let response = transport.send(request).await?;
    if response.status() != StatusCode::CREATED {
        return Ok(Err(response.status()));
    }
    let review: Value = serde_json::from_slice(&response.into_body().bytes().await.unwrap()).unwrap();
    Ok(Ok(review["status"]["userInfo"].clone()))
}

/// Waits until the condition holds; panics after 30 seconds.
async fn until(condition: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !condition() {
        assert!(Instant::now() < deadline, "timed out waiting for the condition");
        tokio::task::yield_now().await;
    }
}
