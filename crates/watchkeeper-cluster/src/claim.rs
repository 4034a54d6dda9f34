//! Claim: adopts and releases the objects of an owner, by its selector and their owner references.
//!
//! Invariants:
//! - `claim.K1`: an object with another controller is never modified.
//! - `claim.K2`: nothing is adopted for an owner that is being deleted, according to the server, not the
//!   cache.

use std::sync::Arc;

use serde_json::json;
use watchkeeper_client::dynamic::{DynamicApi, DynamicObject, WriteOptions};
use watchkeeper_client::rest::{PatchKind, RequestError};
use watchkeeper_controller::Error;
use watchkeeper_core::LabelSelector;

use crate::resource::Resource;
use crate::view::Meta;

/// An owner, and access to the objects it claims.
pub(crate) struct Claim<'a> {
    pub(crate) owner: &'a Meta,
    pub(crate) resource: Resource,
    pub(crate) selector: &'a LabelSelector,
    /// API of the owner's resource, in its namespace.
    pub(crate) owners: &'a DynamicApi,
    /// API of the claimed resource, in the same namespace.
    pub(crate) api: &'a DynamicApi,
}

/// The decision about an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Mine,
    NotMine,
    Adopt,
    Release,
}

/// Why nothing can be adopted.
#[derive(Debug, thiserror::Error)]
enum NoOwner {
    #[error("owner was replaced: its UID is now {0}")]
    Replaced(String),
    #[error("owner is being deleted")]
    Terminating,
}

impl Claim<'_> {
    /// Returns the objects that belong to the owner, after releasing those it no longer selects and adopting
    /// those it selects that have no controller.
    pub(crate) async fn take<T>(
        &self,
        all: Vec<Arc<T>>,
        meta: impl Fn(&T) -> &Meta,
    ) -> Result<Vec<Arc<T>>, Error> {
        let (mut mine, mut failed, mut may_adopt) = (Vec::new(), None, false);
        for one in all {
            let of = meta(&one);
            let is_mine = match self.verdict(of) {
                Verdict::Mine => Ok(true),
                Verdict::NotMine => Ok(false),
                Verdict::Release => self.release(of).await.map(|()| false),
                Verdict::Adopt => {
                    if !may_adopt {
                        self.check_owner().await?;
                        may_adopt = true;
                    }
                    self.adopt(of).await
                }
            };
            match is_mine {
                Ok(true) => mine.push(one),
                Ok(false) => {}
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        failed.map_or(Ok(mine), |error| Err(error.into()))
    }

    fn verdict(&self, of: &Meta) -> Verdict {
        let is_selected = self.selector.matches(|key| of.labels.get(key).map(String::as_str));
        match of.controller() {
            Some(controller) if controller.uid != self.owner.uid => Verdict::NotMine,
            Some(_) if is_selected => Verdict::Mine,
            Some(_) if self.owner.is_terminating() => Verdict::NotMine,
            Some(_) => Verdict::Release,
            None if !is_selected || self.owner.is_terminating() || of.is_terminating() => Verdict::NotMine,
            None => Verdict::Adopt,
        }
    }

    async fn check_owner(&self) -> Result<(), Error> {
        let now = self.owners.get(&self.owner.name).await?;
        let uid = now.text(&["metadata", "uid"]);
        if uid != self.owner.uid {
            return Err(NoOwner::Replaced(uid.to_owned()).into());
        }
        match now.get(&["metadata", "deletionTimestamp"]) {
            None => Ok(()),
            Some(_) => Err(NoOwner::Terminating.into()),
        }
    }

    async fn adopt(&self, of: &Meta) -> Result<bool, RequestError> {
        let owner = self.owner.as_controller(self.resource);
        let patch = json!({"metadata": {"uid": of.uid, "ownerReferences": [owner]}});
        match self.patch(of, &patch).await {
            Ok(_) => Ok(true),
            Err(error) if error.is_not_found() => Ok(false),
            Err(error) => Err(error),
        }
    }

    async fn release(&self, of: &Meta) -> Result<(), RequestError> {
        let owner = json!({"$patch": "delete", "uid": self.owner.uid});
        let patch = json!({"metadata": {"uid": of.uid, "ownerReferences": [owner]}});
        match self.patch(of, &patch).await {
            Ok(_) => Ok(()),
            // It is gone, has no such owner, or was replaced: released in each case.
            Err(error)
                if error.status().is_some_and(|status| status.is_not_found() || status.is_invalid()) =>
            {
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    async fn patch(&self, of: &Meta, patch: &serde_json::Value) -> Result<DynamicObject, RequestError> {
        self.api.patch(&of.name, PatchKind::Strategic, patch, &WriteOptions::default()).await
    }
}
