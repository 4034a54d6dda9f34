//! The applications of the demo, in their initial state.

use serde_json::{Value, json};
use watchkeeper_client::Client;
use watchkeeper_client::dynamic::ApplyOptions;
use watchkeeper_client::rest::RequestError;
use watchkeeper_core::GroupVersion;

use super::MANAGER;

/// An application: a deployment with a service.
pub(super) struct App {
    pub(super) namespace: &'static str,
    pub(super) name: &'static str,
    pub(super) image: &'static str,
    replicas: u32,
    port: u16,
    tier: &'static str,
}

const fn app(
    namespace: &'static str,
    name: &'static str,
    image: &'static str,
    replicas: u32,
    port: u16,
    tier: &'static str,
) -> App {
    App { namespace, name, image, replicas, port, tier }
}

pub(super) const STOREFRONT: App =
    app("shop", "storefront", "registry.example/shop/storefront:2.4.0", 3, 8080, "frontend");
pub(super) const CATALOG: App =
    app("shop", "catalog", "registry.example/shop/catalog:1.9.2", 3, 8081, "backend");
pub(super) const CHECKOUT: App =
    app("shop", "checkout", "registry.example/shop/checkout:3.1.0", 2, 8082, "backend");
const CART: App = app("shop", "cart", "registry.example/shop/cart:1.2.7", 2, 8083, "backend");
pub(super) const TRANSCODER: App =
    app("media", "transcoder", "registry.example/media/transcoder:0.8.1", 2, 9000, "worker");
pub(super) const THUMBNAILS: App =
    app("media", "thumbnails", "registry.example/media/thumbnails:1.0.3", 2, 9001, "worker");
pub(super) const PLAYER: App =
    app("media", "player", "registry.example/media/player:5.0.0", 2, 9002, "frontend");
const METRICS: App = app("ops", "metrics", "registry.example/ops/metrics:2.51.0", 1, 9090, "monitoring");

const APPS: [&App; 8] =
    [&STOREFRONT, &CATALOG, &CHECKOUT, &CART, &TRANSCODER, &THUMBNAILS, &PLAYER, &METRICS];
const NAMESPACES: [&str; 3] = ["shop", "media", "ops"];

/// Applies all namespaces, services and deployments.
pub(super) async fn apply_all(client: &Client) -> Result<(), RequestError> {
    for name in NAMESPACES {
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        apply(client, ("", "v1", "namespaces"), None, &namespace).await?;
    }
    for app in APPS {
        let namespace = Some(app.namespace);
        apply(client, ("", "v1", "services"), namespace, &app.service()).await?;
        apply(client, ("apps", "v1", "deployments"), namespace, &app.deployment()).await?;
    }
    Ok(())
}

impl App {
    fn labels(&self) -> Value {
        json!({"app": self.name, "tier": self.tier, "app.kubernetes.io/part-of": self.namespace})
    }

    fn deployment(&self) -> Value {
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": self.name, "namespace": self.namespace, "labels": self.labels()},
            "spec": {
                "replicas": self.replicas,
                "selector": {"matchLabels": {"app": self.name}},
                "template": {
                    "metadata": {"labels": self.labels()},
                    "spec": {"containers": [{
                        "name": self.name, "image": self.image,
                        "ports": [{"containerPort": self.port, "protocol": "TCP"}],
                        "resources": {"requests": {"cpu": "50m", "memory": "32Mi"}},
                    }]},
                },
            },
        })
    }

    fn service(&self) -> Value {
        json!({
            "apiVersion": "v1", "kind": "Service",
            "metadata": {"name": self.name, "namespace": self.namespace, "labels": self.labels()},
            "spec": {
                "selector": {"app": self.name},
                "ports": [{"name": "http", "port": 80, "targetPort": self.port, "protocol": "TCP"}],
            },
        })
    }
}

async fn apply(
    client: &Client,
    (group, version, resource): (&str, &str, &str),
    namespace: Option<&str>,
    object: &Value,
) -> Result<(), RequestError> {
    let mut api = client.dynamic(&GroupVersion::new(group, version), resource);
    if let Some(namespace) = namespace {
        api = api.namespace(namespace);
    }
    let options = ApplyOptions { field_manager: MANAGER.to_owned(), force: true, dry_run: false };
    api.apply_object(object, &options).await.map(drop)
}
