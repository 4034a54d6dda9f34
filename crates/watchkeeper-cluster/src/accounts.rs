//! Service accounts: keeps a `default` service account in every namespace, for pods that set none.

use serde_json::json;

use crate::context::ControllerContext;
use crate::in_every_namespace::InEveryNamespace;
use crate::resource::SERVICE_ACCOUNTS;

/// The account of pods that set none.
const DEFAULT: &str = "default";

pub(crate) fn start(context: &mut ControllerContext) {
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": DEFAULT}});
    InEveryNamespace { resource: SERVICE_ACCOUNTS, name: DEFAULT, content: None, object: account }
        .start("serviceaccount", context);
}
