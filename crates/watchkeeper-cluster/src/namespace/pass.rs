//! One pass over a terminating namespace: deletes its content, updates its conditions, and finalizes it when
//! empty.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures_util::stream::{self, StreamExt as _};
use serde_json::json;
use watchkeeper_client::discovery::{Discovered, Discovery as _};
use watchkeeper_client::dynamic::{DynamicApi, DynamicObject, WriteOptions};
use watchkeeper_client::rest::RequestError;
use watchkeeper_client::{Client, DiscoveryClient};
use watchkeeper_controller::Error;
use watchkeeper_core::{ErrorChain, Timestamp};

use super::conditions::{Conditions, Totals};
use super::content::{Content, Left};

/// Finalizer of namespaces with content.
const FINALIZER: &str = "kubernetes";
/// Number of resources emptied in parallel.
const MAX_PARALLEL: usize = 8;

/// Access to all namespaces.
pub(super) struct Namespaces {
    pub(super) api: DynamicApi,
    pub(super) client: Client,
    pub(super) discovery: DiscoveryClient,
}

/// The outcome of a pass.
pub(super) enum Outcome {
    /// Nothing is left to do.
    Over,
    /// Content remains for about this many seconds.
    Waiting { estimate: i64 },
}

/// The findings of a pass.
#[derive(Default)]
struct Found {
    estimate: i64,
    totals: Totals,
    conditions: Conditions,
    errors: Vec<String>,
}

impl Namespaces {
    /// Makes one pass.
    pub(super) async fn empty(&self, name: &str) -> Result<Outcome, Error> {
        let Some(mut namespace) = self.api.get_opt(name).await? else { return Ok(Outcome::Over) };
        let Ok(deleted) = namespace.text(&["metadata", "deletionTimestamp"]).parse::<Timestamp>() else {
            return Ok(Outcome::Over); // not being deleted
        };
        if namespace.text(&["status", "phase"]) != "Terminating" {
            namespace.set(&["status", "phase"], "Terminating".into());
            namespace = self.api.update_status(&namespace, &WriteOptions::default()).await?;
        }
        if finalizers(&namespace).is_empty() {
            return Ok(Outcome::Over); // already finalized; other finalizers remain
        }
        let mut found = Found::default();
        let discovered = self.discover(&mut found).await;
        let resources = discovered.as_deref().map(Discovered::preferred_resources).unwrap_or_default();
        let resources =
            resources.iter().filter(|(_, resource)| resource.namespaced && resource.can("delete"));
        let contents = resources.map(|(of, resource)| Content::new(&self.client, of, resource, name));
        found.delete(contents.collect(), Timestamp::now().seconds.saturating_sub(deleted.seconds)).await;
        let namespace = self.write_conditions(namespace, &found).await;
        if !found.errors.is_empty() {
            return Err(found.errors.join(", ").into());
        }
        if found.estimate > 0 {
            return Ok(Outcome::Waiting { estimate: found.estimate });
        }
        self.finalize(namespace).await?;
        Ok(Outcome::Over)
    }

    /// Discovers the resources. A partial failure does not stop the pass (`namespace.N2`).
    async fn discover(&self, found: &mut Found) -> Option<Arc<Discovered>> {
        match self.discovery.discover().await {
            Ok(discovered) => {
                if let Some(partial) = discovered.partial() {
                    let count = partial.failures.len();
                    let why = format!("Discovery failed for some groups, {count} failing: {partial}");
                    found.conditions.discovery_failed(&why);
                    found.errors.push(partial.to_string());
                }
                Some(discovered)
            }
            Err(error) => {
                let why = ErrorChain(&error).to_string();
                found.conditions.discovery_failed(&why);
                found.errors.push(why);
                None
            }
        }
    }

    /// Writes the conditions. A failure to do so does not stop the pass.
    async fn write_conditions(&self, mut namespace: DynamicObject, found: &Found) -> DynamicObject {
        let conditions = namespace.get(&["status", "conditions"]).cloned().unwrap_or_default();
        let Some(conditions) = found.conditions.update(conditions, &found.totals, Timestamp::now()) else {
            return namespace;
        };
        namespace.set(&["status", "conditions"], conditions);
        match self.api.update_status(&namespace, &WriteOptions::default()).await {
            Ok(written) => written,
            Err(error) => {
                tracing::debug!(namespace = namespace.name(), error = %ErrorChain(&error), "failed to write conditions");
                namespace
            }
        }
    }

    /// Removes our finalizer.
    async fn finalize(&self, mut namespace: DynamicObject) -> Result<(), Error> {
        let uid = namespace.text(&["metadata", "uid"]).to_owned();
        loop {
            let others: BTreeSet<&str> =
                finalizers(&namespace).into_iter().filter(|name| *name != FINALIZER).collect();
            let others = json!(others);
            namespace.set(&["spec", "finalizers"], others);
            let written: Result<DynamicObject, RequestError> =
                self.api.update_subresource("finalize", &namespace, &WriteOptions::default()).await;
            match written {
                Ok(_) => return Ok(()),
                Err(error) if error.is_not_found() => return Ok(()),
                Err(error) if error.is_conflict() => {}
                Err(error) => return Err(error.into()),
            }
            match self.api.get_opt(namespace.name()).await? {
                None => return Ok(()),
                Some(found) if found.text(&["metadata", "uid"]) != uid => return Ok(()),
                Some(found) => namespace = found,
            }
        }
    }
}

impl Found {
    /// Deletes all content, pods first (`namespace.N1`). `since` is how many seconds ago the namespace was
    /// deleted.
    async fn delete(&mut self, contents: Vec<Content>, since: i64) {
        let (pods, others): (Vec<_>, Vec<_>) = contents.into_iter().partition(Content::is_of_pods);
        for pods in &pods {
            let (left, error) = pods.delete(since).await;
            self.add(pods, &left, error.as_deref(), "failed to delete pods for namespace");
            if left.count > 0 {
                self.totals = Totals::default(); // as in kube-controller-manager, remaining pods are not counted
                return;
            }
        }
        let deletions = stream::iter(others).map(|content| async move {
            let outcome = content.delete(since).await;
            (content, outcome)
        });
        let mut deletions = deletions.buffer_unordered(MAX_PARALLEL);
        while let Some((content, (left, error))) = deletions.next().await {
            self.add(&content, &left, error.as_deref(), "");
        }
    }

    fn add(&mut self, content: &Content, left: &Left, error: Option<&str>, why: &str) {
        if let Some(error) = error {
            self.conditions.deletion_failed(error);
            self.errors.push(match why {
                "" => error.to_owned(),
                why => format!("{why}: {}, err: {error}", content.namespace()),
            });
        }
        self.estimate = self.estimate.max(left.estimate);
        self.totals.add(content.resource(), left);
    }
}

fn finalizers(namespace: &DynamicObject) -> Vec<&str> {
    let all = namespace.get(&["spec", "finalizers"]).and_then(serde_json::Value::as_array);
    all.into_iter().flatten().filter_map(serde_json::Value::as_str).collect()
}
