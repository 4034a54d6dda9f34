//! Lease: the election record as a `Lease` object.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde_json::{Value, json};
use watchkeeper_client::Client;
use watchkeeper_client::resource::ResourceClient;
use watchkeeper_client::rest::{PatchKind, RequestError};
use watchkeeper_core::{ResourceVersion, Timestamp};
use watchkeeper_wire::Kind;

use super::record::{Held, LeaseError, LeaseStore, Record};
use crate::events::Reference;

/// A `Lease` of `coordination.k8s.io/v1`. Fields and labels written by others are preserved.
#[derive(Debug, Clone)]
pub struct Lease {
    leases: ResourceClient<Value>,
    namespace: String,
    name: String,
    labels: BTreeMap<String, String>,
    /// Set once the server has returned the object.
    uid: Arc<OnceLock<String>>,
}

impl Lease {
    /// Creates a handle to the lease of this name. The object is created by the first election.
    pub fn new(client: &Client, namespace: &str, name: &str) -> Self {
        let leases: ResourceClient<Value> =
            client.resource("leases", &Kind::new("coordination.k8s.io", "v1", "Lease"));
        Self {
            leases: leases.namespace(namespace),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            labels: BTreeMap::new(),
            uid: Arc::default(),
        }
    }

    /// Sets a label with every write. Other labels are preserved.
    #[must_use]
    pub fn label(mut self, key: &str, value: &str) -> Self {
        self.labels.insert(key.to_owned(), value.to_owned());
        self
    }

    fn held(&self, lease: &Value) -> Result<Held, LeaseError> {
        if let Some(uid) = lease["metadata"]["uid"].as_str() {
            let _ = self.uid.set(uid.to_owned()); // fails if it is already set
        }
        held(lease)
    }
}

impl LeaseStore for Lease {
    fn reference(&self) -> Option<Reference> {
        Some(Reference {
            api_version: "coordination.k8s.io/v1".to_owned(),
            kind: "Lease".to_owned(),
            namespace: self.namespace.clone(),
            name: self.name.clone(),
            uid: self.uid.get().cloned().unwrap_or_default(),
            ..Reference::default()
        })
    }

    async fn read(&self) -> Result<Option<Held>, LeaseError> {
        self.leases.get_opt(&self.name).await.map_err(lease_error)?.map(|lease| self.held(&lease)).transpose()
    }

    async fn create(&self, record: &Record) -> Result<Held, LeaseError> {
        let mut lease = json!({
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"namespace": self.namespace, "name": self.name},
        });
        if !self.labels.is_empty() {
            lease["metadata"]["labels"] = json!(self.labels);
        }
        lease["spec"] = spec(record);
        let created = self.leases.create(&lease, &Default::default()).await.map_err(lease_error)?;
        self.held(&created)
    }

    async fn replace(&self, version: &ResourceVersion, record: &Record) -> Result<Held, LeaseError> {
        // A merge patch preserves the other fields; the resource version makes it a compare-and-swap.
        let mut patch = json!({"metadata": {"resourceVersion": version.to_string()}, "spec": spec(record)});
        if !self.labels.is_empty() {
            patch["metadata"]["labels"] = json!(self.labels);
        }
        let options = Default::default();
        let lease =
            self.leases.patch(&self.name, PatchKind::Merge, &patch, &options).await.map_err(lease_error)?;
        self.held(&lease)
    }
}

fn spec(record: &Record) -> Value {
    let time = |time: Option<Timestamp>| time.map(|time| time.display_micro().to_string());
    json!({
        "holderIdentity": record.holder,
        "leaseDurationSeconds": record.lasts.as_secs().max(1),
        "acquireTime": time(record.acquired),
        "renewTime": time(record.renewed),
        "leaseTransitions": record.transitions,
    })
}

fn held(lease: &Value) -> Result<Held, LeaseError> {
    let spec = &lease["spec"];
    let number = |name: &str| spec[name].as_u64().unwrap_or_default();
    let time = |name: &str| spec[name].as_str().and_then(|text| text.parse().ok());
    let record = Record {
        holder: spec["holderIdentity"].as_str().unwrap_or_default().to_owned(),
        lasts: Duration::from_secs(number("leaseDurationSeconds")),
        acquired: time("acquireTime"),
        renewed: time("renewTime"),
        transitions: u32::try_from(number("leaseTransitions")).unwrap_or(u32::MAX),
    };
    match lease["metadata"]["resourceVersion"].as_str() {
        Some(version) => Ok(Held { record, version: version.into() }),
        None => Err(LeaseError::Failed("lease has no resource version".into())),
    }
}

fn lease_error(error: RequestError) -> LeaseError {
    if error.is_conflict() || error.is_already_exists() {
        LeaseError::Conflict
    } else {
        LeaseError::Failed(error.into())
    }
}
