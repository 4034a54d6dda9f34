//! Root CA: publishes the server's CA bundle as a ConfigMap in every namespace.

use serde_json::json;

use crate::context::ControllerContext;
use crate::in_every_namespace::InEveryNamespace;
use crate::resource::CONFIG_MAPS;

/// Name of the ConfigMap, as in Kubernetes.
const NAME: &str = "kube-root-ca.crt";

/// Does nothing for a server without TLS.
pub(crate) fn start(context: &mut ControllerContext, pem: Option<&str>) {
    let Some(pem) = pem else { return };
    let description = "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints \
                       such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across \
                       distributions of Kubernetes clusters.";
    let bundle = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": NAME, "annotations": {"kubernetes.io/description": description}},
        "data": {"ca.crt": pem},
    });
    InEveryNamespace { resource: CONFIG_MAPS, name: NAME, content: Some("data"), object: bundle }
        .start("root-ca-certificate-publisher", context);
}
