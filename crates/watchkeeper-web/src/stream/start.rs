//! Starts subscriptions.

use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use http::StatusCode;
use tokio::time::sleep;
use watchkeeper_cache::Informer;
use watchkeeper_cache::reflector::ExitReason;
use watchkeeper_client::discovery::Mapping;
use watchkeeper_wire::Kind;

use super::object_encoder::ObjectEncoder;
use super::request::{Format, SubscriptionRequest};
use super::rows::Tables;
use super::subscription::{Encoder, Live};
use super::table::Table;
use crate::access::{Access, AccessError, Identity, ResourceAttributes};
use crate::catalog::Catalog;
use crate::envelope::Failure;
use crate::freshness;
use crate::undecodable::Undecodable;

/// Pause before an informer that was stopped is requested again.
const PAUSE: Duration = Duration::from_secs(1);

/// A starter of subscriptions from the catalog.
#[derive(Debug)]
pub(super) struct Starter {
    catalog: Catalog,
    access: Access,
    tables: Tables,
    undecodable: Undecodable,
}

impl Starter {
    pub(super) fn new(catalog: Catalog, access: Access, undecodable: Undecodable) -> Arc<Self> {
        Arc::new(Self { catalog, access, tables: Tables::default(), undecodable })
    }

    pub(super) fn access(&self) -> &Access {
        &self.access
    }

    pub(super) fn freshness(&self) -> freshness::Receiver {
        self.catalog.follow_freshness()
    }

    /// Authorizes a subscription.
    pub(super) async fn authorize(
        &self,
        identity: &Identity,
        mapping: &Mapping,
        request: &SubscriptionRequest,
    ) -> Result<(), AccessError> {
        let (namespace, name) = (request.namespace_of(mapping), request.name.as_str());
        let (group, resource) = (&mapping.resource.group, &mapping.resource.resource);
        self.access
            .authorize(identity, ResourceAttributes { verb: "watch", group, resource, namespace, name })
            .await
    }

    /// Starts a subscription, and the informer if necessary. If dropped, the informer still starts.
    pub(super) async fn start(
        &self,
        identity: &Identity,
        request: &SubscriptionRequest,
        waker: Waker,
    ) -> Result<Live, Failure> {
        let group = request.group();
        let mapping = self.catalog.find(group, &request.version, &request.resource).await?;
        self.authorize(identity, &mapping, request).await?;
        let resource = &mapping.resource;
        let kind = Kind::new(&mapping.kind.group, &mapping.kind.version, &mapping.kind.kind);
        let filter = request.filter(&mapping)?;
        let watched = self.catalog.watch(&mapping).await?;
        let encoder = match request.format {
            Format::Row => {
                let table = Table::of(resource, kind, self.catalog.client(), self.undecodable.clone()).await;
                Encoder::Rows(self.tables.rows(resource, table, watched.informer.store()))
            }
            Format::Object => Encoder::Objects(Arc::new(ObjectEncoder::new(kind, self.undecodable.clone()))),
        };
        Ok(Live::new(watched, filter, encoder, waker))
    }

    /// Starts a subscription again after its informer has ended, unless the resource no longer exists.
    pub(super) async fn restart(
        &self,
        ended: &Informer,
        identity: &Identity,
        request: &SubscriptionRequest,
        waker: Waker,
    ) -> Result<Live, Failure> {
        match ended.exited().await {
            ExitReason::Gone(status) => Err(Failure::new(StatusCode::NOT_FOUND, status.to_string())),
            ExitReason::Stopped => {
                sleep(PAUSE).await;
                self.start(identity, request, waker).await
            }
            why => Err(Failure::new(StatusCode::INTERNAL_SERVER_ERROR, why.to_string())),
        }
    }
}
