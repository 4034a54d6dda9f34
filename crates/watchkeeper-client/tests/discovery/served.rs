//! A server with scripted responses that records its requests.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_util::task::AbortOnDropHandle;
use watchkeeper_client::auth::StaticCredentials;
use watchkeeper_client::config::Proxy;
use watchkeeper_client::rest::Content;
use watchkeeper_client::{Config, DiscoveryClient, RestClient, Transport};

pub(crate) const V2: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
pub(crate) const V2BETA1: &str = "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList";

#[derive(Clone)]
struct Page {
    code: u16,
    content_type: &'static str,
    body: String,
    etag: Option<String>,
}

#[derive(Default)]
struct State {
    pages: Mutex<BTreeMap<String, Page>>,
    requests: Mutex<Vec<String>>,
    running: AtomicUsize,
    most_running: AtomicUsize,
}

pub(crate) struct Served {
    pub(crate) config: Config,
    state: Arc<State>,
    _task: AbortOnDropHandle<()>,
}

impl Served {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut config = Config::new(format!("http://{}", listener.local_addr().unwrap()).parse().unwrap());
        config.proxy = Proxy::Direct;
        let state = Arc::new(State::default());
        let served = state.clone();
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let state = served.clone();
                tokio::spawn(async move {
                    let service = hyper::service::service_fn(|request| {
                        let state = state.clone();
                        async move { Ok::<_, Infallible>(respond(&state, &request).await) }
                    });
                    let connection = hyper::server::conn::http1::Builder::new();
                    let _ = connection.serve_connection(TokioIo::new(stream), service).await;
                });
            }
        });
        Self { config, state, _task: AbortOnDropHandle::new(task) }
    }

    /// Sets the page of a path.
    pub(crate) fn page(&self, path: &str, content_type: &'static str, body: &Value) {
        let page = Page { code: 200, content_type, body: body.to_string(), etag: None };
        self.state.pages.lock().insert(path.to_owned(), page);
    }

    /// Sets the ETag of a path's page.
    pub(crate) fn tag(&self, path: &str, etag: &str) {
        self.state.pages.lock().get_mut(path).unwrap().etag = Some(etag.to_owned());
    }

    /// Makes a path respond with this status code.
    pub(crate) fn fail(&self, path: &str, code: u16) {
        let page = Page { code, content_type: "text/plain", body: "no".to_owned(), etag: None };
        self.state.pages.lock().insert(path.to_owned(), page);
    }

    /// Serves legacy discovery: the core group, and these groups in `v1`, each with a resource of the same name.
    pub(crate) fn serve_legacy(&self, groups: &[&str]) {
        self.page("/api", "application/json", &json!({"kind": "APIVersions", "versions": ["v1"]}));
        self.page("/api/v1", "application/json", &resource_list("v1", "pods", "Pod"));
        let entry = |name: &&str| {
            let version = json!({"groupVersion": format!("{name}/v1"), "version": "v1"});
            json!({"name": name, "versions": [version], "preferredVersion": version})
        };
        let list: Vec<Value> = groups.iter().map(entry).collect();
        let list = json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": list});
        self.page("/apis", "application/json", &list);
        for name in groups {
            let plural = format!("{name}s");
            let list = resource_list(&format!("{name}/v1"), &plural, &name.to_uppercase());
            self.page(&format!("/apis/{name}/v1"), "application/json", &list);
        }
    }

    /// Serves aggregated discovery with this content type: pods, and these groups.
    pub(crate) fn serve_aggregated(&self, content_type: &'static str, groups: &[Value]) {
        let pods =
            json!({"version": "v1", "freshness": "Current", "resources": [resource("", "pods", "Pod")]});
        let core = json!({"metadata": {"name": ""}, "versions": [pods]});
        self.page("/api", content_type, &json!({"kind": "APIGroupDiscoveryList", "items": [core]}));
        self.page("/apis", content_type, &json!({"kind": "APIGroupDiscoveryList", "items": groups}));
    }

    /// Returns the requested paths in order and clears them; `304 ` precedes those not modified.
    pub(crate) fn requests(&self) -> Vec<String> {
        std::mem::take(&mut self.state.requests.lock())
    }

    pub(crate) fn most_running(&self) -> usize {
        self.state.most_running.load(Ordering::SeqCst)
    }

    pub(crate) fn client(&self) -> DiscoveryClient {
        let transport = Transport::new(&self.config, Arc::new(StaticCredentials::none())).unwrap();
        DiscoveryClient::new(RestClient::new(transport, "/", Content::json()))
    }
}

/// A resource in an aggregated document of version `v1`.
pub(crate) fn resource(group: &str, plural: &str, kind: &str) -> Value {
    json!({"resource": plural, "responseKind": {"group": group, "version": "v1", "kind": kind},
        "scope": "Namespaced", "singularResource": kind.to_lowercase(), "verbs": ["get", "list"]})
}

/// A group in an aggregated document.
pub(crate) fn group(name: &str, versions: &[Value]) -> Value {
    json!({"metadata": {"name": name}, "versions": versions})
}

fn resource_list(of: &str, plural: &str, kind: &str) -> Value {
    json!({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": of, "resources": [
        {"name": plural, "singularName": kind.to_lowercase(), "namespaced": true, "kind": kind,
         "verbs": ["get", "list"], "storageVersionHash": "aGFzaA=="}]})
}

async fn respond(state: &State, request: &Request<Incoming>) -> Response<Full<Bytes>> {
    let running = state.running.fetch_add(1, Ordering::SeqCst) + 1;
    state.most_running.fetch_max(running, Ordering::SeqCst);
    tokio::task::yield_now().await; // so that concurrent requests overlap
    let path = request.uri().path().to_owned();
    let page = state.pages.lock().get(&path).cloned();
    let page = page.unwrap_or(Page {
        code: 404,
        content_type: "text/plain",
        body: "404 page not found".to_owned(),
        etag: None,
    });
    let tag = request.headers().get("if-none-match").map(|tag| tag.to_str().unwrap().to_owned());
    let not_modified = page.code == 200 && page.etag.is_some() && page.etag == tag;
    state.requests.lock().push(format!("{}{path}", if not_modified { "304 " } else { "" }));
    let builder = Response::builder().header("content-type", page.content_type).header("vary", "Accept");
    let builder = match &page.etag {
        Some(etag) => builder.header("etag", etag),
        None => builder,
    };
    state.running.fetch_sub(1, Ordering::SeqCst);
    if not_modified {
        return builder.status(304).body(Full::default()).unwrap();
    }
    builder.status(page.code).body(Full::from(page.body)).unwrap()
}
