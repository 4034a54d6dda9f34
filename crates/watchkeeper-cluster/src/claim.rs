//! Claim: what belongs to an object, by what it selects and by what is written on each.
//!
//! - K1: what has another controller is never touched.
//! - K2: nothing is adopted for an owner that is going, as the server knows it and not as the cache does.

use std::sync::Arc;

use serde_json::json;
use watchkeeper_cache::Store;
use watchkeeper_client::dynamic::{DynamicApi, DynamicObject, WriteOptions};
use watchkeeper_client::rest::{PatchKind, RequestError};
use watchkeeper_controller::{Failure, Request};
use watchkeeper_core::LabelSelector;

use crate::resource::Resource;
use crate::view::Meta;

/// Who claims.
pub(crate) struct Claim<'a> {
    pub(crate) owner: &'a Meta,
    pub(crate) resource: Resource,
    pub(crate) selector: &'a LabelSelector,
    /// The owner's, in its namespace.
    pub(crate) owners: &'a DynamicApi,
    /// That of what is claimed, in the same namespace.
    pub(crate) api: &'a DynamicApi,
    /// Where it will be seen.
    pub(crate) store: &'a Store,
}

/// What is to be done about an object.
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
    #[error("the owner is another one by now: its uid is {0}")]
    Another(String),
    #[error("the owner has just been deleted")]
    Going,
}

impl Claim<'_> {
    /// Those that belong to the owner, once what selects it no more is released and what has no controller is
    /// adopted.
    pub(crate) async fn take<T>(
        &self,
        request: &Request,
        all: Vec<Arc<T>>,
        meta: impl Fn(&T) -> &Meta,
    ) -> Result<Vec<Arc<T>>, Failure> {
        let (mut mine, mut failed, mut may_adopt) = (Vec::new(), None, false);
        for one in all {
            let of = meta(&one);
            let is_mine = match self.verdict(of) {
                Verdict::Mine => Ok(true),
                Verdict::NotMine => Ok(false),
                Verdict::Release => self.release(request, of).await.map(|()| false),
                Verdict::Adopt => {
                    if !may_adopt {
                        self.look_at_owner().await?;
                        may_adopt = true;
                    }
                    self.adopt(request, of).await
                }
            };
            match is_mine {
                Ok(true) => mine.push(one),
                Ok(false) => {}
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        match failed {
            None => Ok(mine),
            Some(error) => Err(error.into()),
        }
    }

    fn verdict(&self, of: &Meta) -> Verdict {
        let is_selected = self.selector.matches(|key| of.labels.get(key).map(String::as_str));
        match of.controller() {
            Some(controller) if controller.uid != self.owner.uid => Verdict::NotMine,
            Some(_) if is_selected => Verdict::Mine,
            Some(_) if self.owner.is_going() => Verdict::NotMine,
            Some(_) => Verdict::Release,
            None if !is_selected || self.owner.is_going() || of.is_going() => Verdict::NotMine,
            None => Verdict::Adopt,
        }
    }

    async fn look_at_owner(&self) -> Result<(), Failure> {
        let now = self.owners.get(&self.owner.name).await?;
        let uid = now.text(&["metadata", "uid"]);
        if uid != self.owner.uid {
            return Err(NoOwner::Another(uid.to_owned()).into());
        }
        match now.get(&["metadata", "deletionTimestamp"]) {
            None => Ok(()),
            Some(_) => Err(NoOwner::Going.into()),
        }
    }

    async fn adopt(&self, request: &Request, of: &Meta) -> Result<bool, RequestError> {
        let owner = self.owner.as_controller(self.resource);
        let patch = json!({"metadata": {"uid": of.uid, "ownerReferences": [owner]}});
        match self.patch(of, &patch).await {
            Ok(object) => {
                request.wrote(self.store, object.resource_version());
                Ok(true)
            }
            Err(error) if error.is_not_found() => Ok(false),
            Err(error) => Err(error),
        }
    }

    async fn release(&self, request: &Request, of: &Meta) -> Result<(), RequestError> {
        let owner = json!({"$patch": "delete", "uid": self.owner.uid});
        let patch = json!({"metadata": {"uid": of.uid, "ownerReferences": [owner]}});
        match self.patch(of, &patch).await {
            Ok(object) => {
                request.wrote(self.store, object.resource_version());
                Ok(())
            }
            // It is gone, or has no owner, or is another one: released in each case.
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
