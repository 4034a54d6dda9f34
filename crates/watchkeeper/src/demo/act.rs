//! Changes that the demo makes to its applications.

use std::fmt;

use serde_json::{Value, json};
use watchkeeper_client::Client;
use watchkeeper_client::dynamic::WriteOptions;
use watchkeeper_client::rest::{PatchKind, RequestError};
use watchkeeper_core::GroupVersion;

use super::MANAGER;
use super::stage::{App, CATALOG, CHECKOUT, PLAYER, STOREFRONT, THUMBNAILS, TRANSCODER};

/// A change of one application.
pub(super) struct Act {
    app: &'static App,
    what: What,
}

enum What {
    Scale(u32),
    /// Sets another image.
    Roll(&'static str),
    /// Makes the containers exit shortly after their start.
    Crash,
    /// Restores the original image and removes the crash.
    Mend,
}

/// Repeated in order; every application ends in its initial state (`demo.D2`).
pub(super) const ACTS: [Act; 12] = [
    Act { app: &STOREFRONT, what: What::Roll("registry.example/shop/storefront:2.5.0") },
    Act { app: &CATALOG, what: What::Scale(6) },
    Act { app: &CHECKOUT, what: What::Crash },
    Act { app: &TRANSCODER, what: What::Scale(5) },
    Act { app: &THUMBNAILS, what: What::Roll("registry.invalid/media/thumbnails:1.0.4") },
    Act { app: &CHECKOUT, what: What::Mend },
    Act { app: &CATALOG, what: What::Scale(3) },
    Act { app: &PLAYER, what: What::Roll("registry.example/media/player:5.1.0") },
    Act { app: &THUMBNAILS, what: What::Mend },
    Act { app: &TRANSCODER, what: What::Scale(2) },
    Act { app: &STOREFRONT, what: What::Mend },
    Act { app: &PLAYER, what: What::Mend },
];

impl Act {
    /// Applies the change.
    pub(super) async fn play(&self, client: &Client) -> Result<(), RequestError> {
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
        match self.what {
            What::Scale(replicas) => json!({"spec": {"replicas": replicas}}),
            What::Roll(image) => template(image, Value::Null),
            What::Crash => template(self.app.image, json!("3s")),
            What::Mend => template(self.app.image, Value::Null),
        }
    }
}

impl fmt::Display for Act {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let App { namespace, name, .. } = self.app;
        match self.what {
            What::Scale(replicas) => write!(f, "{namespace}/{name} scaled to {replicas}"),
            What::Roll(image) => write!(f, "{namespace}/{name} rolled out to {image}"),
            What::Crash => write!(f, "{namespace}/{name} set to crash"),
            What::Mend => write!(f, "{namespace}/{name} restored"),
        }
    }
}
