//! Start: how a subscription comes to be a feed.

use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use http::StatusCode;
use tokio::time::sleep;
use watchkeeper_cache::Informer;
use watchkeeper_cache::reflector::Why;
use watchkeeper_wire::Kind;

use super::feed::{Feed, Shape};
use super::rows::Tables;
use super::subscription::{Form, Subscription};
use super::table::Table;
use crate::access::{Access, Who, Wish};
use crate::catalog::Catalog;
use crate::envelope::Failure;

/// How long is waited before an informer that was stopped is asked for again.
const PAUSE: Duration = Duration::from_secs(1);

/// What subscriptions are started with.
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

    /// The feed of a subscription; the informer may have to be started for it. Dropped half-way, that goes on.
    pub(super) async fn start(
        &self,
        who: &Who,
        wanted: &Subscription,
        waker: Waker,
    ) -> Result<Feed, Failure> {
        let group = wanted.group();
        let mapping = self.catalog.find(group, &wanted.version, &wanted.resource).await?;
        let (namespace, name) = (wanted.namespace.as_str(), wanted.name.as_str());
        let resource = &mapping.resource;
        let wish =
            Wish { verb: "watch", group: &resource.group, resource: &resource.resource, namespace, name };
        self.access.check(who, wish).await?;
        let kind = Kind::new(&mapping.kind.group, &mapping.kind.version, &mapping.kind.kind);
        let filter = wanted.filter(&kind)?;
        let watched = self.catalog.watched(&resource.group, &resource.version, &resource.resource).await?;
        let shape = match wanted.form {
            Form::Row => {
                let table = Table::of(resource, kind, self.catalog.client()).await;
                Shape::Rows(self.tables.rows(resource, table, watched.informer.store()))
            }
            Form::Object => Shape::Objects(kind),
        };
        Ok(Feed::new(watched, filter, shape, waker))
    }

    /// The same after its informer has ended: another, unless there is nothing left to watch.
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
