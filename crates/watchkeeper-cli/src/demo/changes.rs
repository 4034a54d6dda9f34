//! Changes that the demo makes to its applications.

use std::fmt;

use serde_json::{Value, json};
use watchkeeper_client::Client;
use watchkeeper_client::dynamic::WriteOptions;
use watchkeeper_client::rest::{PatchKind, RequestError};
use watchkeeper_core::GroupVersion;

use super::MANAGER;
use super::apps::{App, CATALOG, CHECKOUT, PLAYER, STOREFRONT, THUMBNAILS, TRANSCODER};

/// A change of one application.
pub(super) struct Change {
    app: &'static App,
    kind: ChangeKind,
}

enum ChangeKind {
    Scale(u32),
    /// Sets another image.
    Roll(&'static str),
    /// Makes the containers exit shortly after their start.
    Crash,
    /// Restores the original image and removes the crash.
    Restore,
}

/// Repeated in order; every application ends in its initial state (`demo.D2`).
pub(super) const CHANGES: [Change; 12] = [
    Change { app: &STOREFRONT, kind: ChangeKind::Roll("registry.example/shop/storefront:2.5.0") },
    Change { app: &CATALOG, kind: ChangeKind::Scale(6) },
    Change { app: &CHECKOUT, kind: ChangeKind::Crash },
    Change { app: &TRANSCODER, kind: ChangeKind::Scale(5) },
    Change { app: &THUMBNAILS, kind: ChangeKind::Roll("registry.invalid/media/thumbnails:1.0.4") },
    Change { app: &CHECKOUT, kind: ChangeKind::Restore },
    Change { app: &CATALOG, kind: ChangeKind::Scale(3) },
    Change { app: &PLAYER, kind: ChangeKind::Roll("registry.example/media/player:5.1.0") },
    Change { app: &THUMBNAILS, kind: ChangeKind::Restore },
    Change { app: &TRANSCODER, kind: ChangeKind::Scale(2) },
    Change { app: &STOREFRONT, kind: ChangeKind::Restore },
    Change { app: &PLAYER, kind: ChangeKind::Restore },
];

impl Change {
    /// Applies the change.
    pub(super) async fn apply(&self, client: &Client) -> Result<(), RequestError> {
        let App { namespace, name, .. } = self.app;
        let api = client.dynamic(&GroupVersion::new("apps", "v1"), "deployments").namespace(namespace);
        let options = WriteOptions { field_manager: Some(MANAGER.to_owned()), ..WriteOptions::default() };
        api.patch(name, PatchKind::Strategic, &self.patch(), &options).await.map(drop)
    }

    fn patch(&self) -> Value {
        let template = |image: &str, exit: Value| {
            let annotations = json!({"watchkeeper.dev/exit-after": exit, "watchkeeper.dev/exit-code": exit.as_str().map(|_| "1")});
            let containers = json!([{"name": self.app.name, "image": image}]);
            json!({"spec": {"template": {"metadata": {"annotations": annotations}, "spec": {"containers": containers}}}})
        };
        match self.kind {
            ChangeKind::Scale(replicas) => json!({"spec": {"replicas": replicas}}),
            ChangeKind::Roll(image) => template(image, Value::Null),
            ChangeKind::Crash => template(self.app.image, json!("3s")),
            ChangeKind::Restore => template(self.app.image, Value::Null),
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let App { namespace, name, .. } = self.app;
        match self.kind {
            ChangeKind::Scale(replicas) => write!(f, "{namespace}/{name} scaled to {replicas}"),
            ChangeKind::Roll(image) => write!(f, "{namespace}/{name} rolled out to {image}"),
            ChangeKind::Crash => write!(f, "{namespace}/{name} set to crash"),
            ChangeKind::Restore => write!(f, "{namespace}/{name} restored"),
        }
    }
}
