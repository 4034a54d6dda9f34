//! Admission: plugins that complete or refuse a write after it was authorized and before it is stored.
//!
//! Input: [`write`](mod@crate::write), with every create, update, patch, delete and connect.
//! Output: the object as the plugins leave it, or the status of the plugin that refused it.
//!
//! The chain calls [`mutate`](AdmissionPlugin::mutate) of each plugin in order, then the object is completed and validated
//! by the rules of its kind, then the chain calls [`validate`](AdmissionPlugin::validate) of each plugin in order.
//! [`AdmissionChain::builtin`] lists the plugins that every server has; they have kube-apiserver's names and order.
//! Custom plugins come after them: see [`Builder::admission`](crate::server::Builder::admission).
//!
//! Invariants:
//! - `admission.A1`: what `validate` sees is what is stored, except for the addresses of services, which are allocated last.
//! - `admission.A2`: after an error no further plugin is called, and nothing is written.
//!
//! ```
//! use watchkeeper_apiserver::admission::{AdmissionFuture, AdmissionPlugin, AdmissionRequest, Operation};
//! use watchkeeper_core::Status;
//!
//! /// Refuses to delete objects labelled `keep`.
//! struct Keep;
//!
//! impl AdmissionPlugin for Keep {
//!     fn name(&self) -> &str {
//!         "Keep"
//!     }
//!
//!     fn handles(&self, request: &AdmissionRequest<'_>) -> bool {
//!         request.operation == Operation::Delete
//!     }
//!
//!     fn validate<'a>(&'a self, request: &'a AdmissionRequest<'_>) -> AdmissionFuture<'a> {
//!         Box::pin(async move {
//!             let old = request.old_object.map(|old| old.fields());
//!             match old.and_then(|old| old.get("metadata")?.get("labels")?.get("keep")) {
//!                 None => Ok(()),
//!                 Some(_) => Err(request.forbid("the object is labelled `keep`")),
//!             }
//!         })
//!     }
//! }
//! # let _: &dyn AdmissionPlugin = &Keep;
//! # let _: Option<Status> = None;
//! ```

mod default_ingress_class;
mod default_storage_class;
mod default_toleration_seconds;
mod in_use_protection;
mod limit_ranger;
mod namespace_lifecycle;
mod node_taint;
mod priority;
mod stored;

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use watchkeeper_core::Status;

use crate::http::User;
use crate::registry::Resource;
use crate::store::Store;
use crate::write::Draft;

pub(crate) use stored::all as stored_objects;

/// The future of an admission plugin.
pub type AdmissionFuture<'a> = Pin<Box<dyn Future<Output = Result<(), Status>> + Send + 'a>>;

/// The operation of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operation {
    /// POST, and a PUT or an apply that creates.
    Create,
    /// PUT and PATCH.
    Update,
    /// DELETE, of one object or of each object of a collection.
    Delete,
    /// `exec`, `attach` and `portforward`.
    Connect,
}

/// A request, as admission plugins see it.
#[derive(Debug)]
pub struct AdmissionRequest<'a> {
    /// The operation.
    pub operation: Operation,
    /// The row of the registry.
    pub resource: &'a Resource,
    /// `status`, `scale`, `binding`, ...
    pub subresource: Option<&'a str>,
    /// The namespace of the path.
    pub namespace: Option<&'a str>,
    /// The name of the path; `None` for most creates.
    pub name: Option<&'a str>,
    /// The user who sent the request.
    pub user: &'a User,
    /// Whether nothing will be stored.
    pub dry_run: bool,
    /// The object to be stored, or the body of a subresource; `None` on delete and connect. A write to `scale` has the
    /// scaled object here.
    pub object: Option<&'a mut Draft>,
    /// The stored object, on update and in `validate` on delete.
    pub old_object: Option<&'a Draft>,
}

/// A step of the admission chain. Both methods accept everything by default.
///
/// Plugins are called concurrently for different requests, and again for each attempt of a write that meets a conflict:
/// they must not rely on being called once per request. If the future is dropped, the write does not happen.
pub trait AdmissionPlugin: Send + Sync {
    /// Returns the name of the plugin, for logs.
    fn name(&self) -> &str;

    /// Returns whether the plugin is called for a request; by default always.
    fn handles(&self, _request: &AdmissionRequest<'_>) -> bool {
        true
    }

    /// Completes the object, or refuses it.
    fn mutate<'a>(&'a self, _request: &'a mut AdmissionRequest<'_>) -> AdmissionFuture<'a> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// Accepts or refuses the object as it would be stored.
    fn validate<'a>(&'a self, _request: &'a AdmissionRequest<'_>) -> AdmissionFuture<'a> {
        Box::pin(std::future::ready(Ok(())))
    }
}

impl AdmissionRequest<'_> {
    /// Returns the name of the object, or else its `generateName`.
    pub fn display_name(&self) -> &str {
        let object = self.object.as_deref();
        let names = [self.name, object.map(|it| it.text("name")), object.map(|it| it.text("generateName"))];
        names.into_iter().flatten().find(|name| !name.is_empty()).unwrap_or_default()
    }

    /// Returns whether the request is about whole objects of a resource, not about a subresource.
    pub fn is_for(&self, group: &str, resource: &str) -> bool {
        self.subresource.is_none() && self.resource.group == group && self.resource.name == resource
    }

    /// Returns a 403 for the object, with a reason.
    pub fn forbid(&self, why: impl fmt::Display) -> Status {
        Status::forbidden(Some(&self.resource.group_resource()), self.display_name(), why)
    }

    /// Returns whether whole objects of a resource are created.
    fn creates(&self, group: &str, resource: &str) -> bool {
        self.operation == Operation::Create && self.is_for(group, resource)
    }
}

/// The plugins of a server, in order. Clones share them.
#[derive(Clone, Default)]
pub struct AdmissionChain {
    plugins: Vec<Arc<dyn AdmissionPlugin>>,
}

impl AdmissionChain {
    /// Creates the chain that every server has.
    pub fn builtin(store: &Arc<dyn Store>) -> Self {
        let plugins: Vec<Arc<dyn AdmissionPlugin>> = vec![
            Arc::new(namespace_lifecycle::NamespaceLifecycle::new(store.clone())),
            Arc::new(limit_ranger::LimitRanger::new(store.clone())),
            Arc::new(node_taint::TaintNodesByCondition),
            Arc::new(priority::Priority::new(store.clone())),
            Arc::new(default_toleration_seconds::DefaultTolerationSeconds),
            Arc::new(default_storage_class::DefaultStorageClass::new(store.clone())),
            Arc::new(in_use_protection::StorageObjectInUseProtection),
            Arc::new(default_ingress_class::DefaultIngressClass::new(store.clone())),
        ];
        Self { plugins }
    }

    /// Appends a plugin.
    pub fn push(&mut self, plugin: Arc<dyn AdmissionPlugin>) {
        self.plugins.push(plugin);
    }

    /// Calls `mutate` of each plugin that handles the request.
    ///
    /// # Errors
    /// The status of the first plugin that refuses it.
    pub async fn mutate(&self, mut request: AdmissionRequest<'_>) -> Result<(), Status> {
        for plugin in &self.plugins {
            if plugin.handles(&request) {
                plugin.mutate(&mut request).await?;
            }
        }
        Ok(())
    }

    /// Calls `validate` of each plugin that handles the request.
    ///
    /// # Errors
    /// The status of the first plugin that refuses it.
    pub async fn validate(&self, request: AdmissionRequest<'_>) -> Result<(), Status> {
        for plugin in &self.plugins {
            if plugin.handles(&request) {
                plugin.validate(&request).await?;
            }
        }
        Ok(())
    }
}

/// Prints the names of the plugins.
impl fmt::Debug for AdmissionChain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.plugins.iter().map(|plugin| plugin.name())).finish()
    }
}
