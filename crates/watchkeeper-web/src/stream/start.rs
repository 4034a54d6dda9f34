//! Starts subscriptions.

use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use http::StatusCode;
use tokio::time::sleep;
use watchkeeper_cache::Informer;
use watchkeeper_cache::reflector::Why;
use watchkeeper_client::discovery::Mapping;
use watchkeeper_wire::Kind;

use super::feed::{Feed, Shape};
use super::rows::Tables;
use super::subscription::{Form, Subscription};
use super::table::Table;
use super::whole::Whole;
use crate::access::{Access, Refused, Who, Wish};
use crate::catalog::Catalog;
use crate::envelope::Failure;
use crate::freshness;

/// Pause before an informer that was stopped is requested again.
const PAUSE: Duration = Duration::from_secs(1);

/// Starts subscriptions from the catalog.
#[derive(Debug)]
pub(super) struct Starter {
    catalog: Catalog,
    access: Access,
    tables: Tables,
}

impl Starter {
    pub(super) fn new(catalog: Catalog, access: Access) -> Arc<Self> {
        Arc::new(Self { catalog, access, tables: Tables::default() })
    }

    pub(super) fn access(&self) -> &Access {
        &self.access
    }

    pub(super) fn freshness(&self) -> freshness::Receiver {
        self.catalog.follow_freshness()
    }

    /// Authorizes a subscription.
    pub(super) async fn check(
        &self,
        who: &Who,
        mapping: &Mapping,
        wanted: &Subscription,
    ) -> Result<(), Refused> {
        let (namespace, name) = (wanted.namespace_of(mapping), wanted.name.as_str());
        let (group, resource) = (&mapping.resource.group, &mapping.resource.resource);
        self.access.check(who, Wish { verb: "watch", group, resource, namespace, name }).await
    }

    /// Starts a subscription, and the informer if necessary. If dropped, the informer still starts.
    pub(super) async fn start(
        &self,
        who: &Who,
        wanted: &Subscription,
        waker: Waker,
    ) -> Result<Feed, Failure> {
        let group = wanted.group();
        let mapping = self.catalog.find(group, &wanted.version, &wanted.resource).await?;
        self.check(who, &mapping, wanted).await?;
        let resource = &mapping.resource;
        let kind = Kind::new(&mapping.kind.group, &mapping.kind.version, &mapping.kind.kind);
        let filter = wanted.filter(&mapping)?;
        let watched = self.catalog.watch(&mapping).await?;
        let shape = match wanted.form {
            Form::Row => {
                let table = Table::of(resource, kind, self.catalog.client()).await;
                Shape::Rows(self.tables.rows(resource, table, watched.informer.store()))
            }
            Form::Object => Shape::Objects(Arc::new(Whole::new(kind))),
        };
        Ok(Feed::new(watched, filter, shape, waker))
    }

    /// Starts a subscription again after its informer has ended, unless the resource no longer exists.
    pub(super) async fn restart(
        &self,
        ended: &Informer,
        who: &Who,
        wanted: &Subscription,
        waker: Waker,
    ) -> Result<Feed, Failure> {
        match ended.ended().await {
            Why::Gone(status) => Err(Failure::new(StatusCode::NOT_FOUND, status.to_string())),
            Why::Stopped => {
                sleep(PAUSE).await;
                self.start(who, wanted, waker).await
            }
            why => Err(Failure::new(StatusCode::INTERNAL_SERVER_ERROR, why.to_string())),
        }
    }
}
