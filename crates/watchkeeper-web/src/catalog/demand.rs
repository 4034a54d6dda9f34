//! On-demand informers: started by the first reader, stopped when idle (`catalog.C1`, `catalog.C2`).

use std::sync::Arc;
use std::time::Duration;

use watchkeeper_cache::Informer;
use watchkeeper_client::discovery::Mapping;
use watchkeeper_core::GroupVersionResource;

use super::watched::{Entry, Watched};
use super::{CatalogError, Inner, MAX_ON_DEMAND, collection};

impl Inner {
    /// Returns the running informer of a resource.
    pub(super) fn running(&self, mapping: &Mapping) -> Option<Watched> {
        let of = &mapping.resource;
        let entries = self.entries.read();
        let found = entries.iter().find(|entry| entry.is_of(&of.group, &of.version, &of.resource));
        found.filter(|entry| !entry.informer.has_exited()).map(Entry::take)
    }

    /// Returns the running informer of a resource, or starts one (`catalog.C1`, `catalog.C2`).
    pub(super) async fn start_informer(&self, mapping: &Arc<Mapping>) -> Result<Watched, CatalogError> {
        if self.withholds(mapping) {
            return Err(CatalogError::Withheld { resource: mapping.resource.resource.clone() });
        }
        let changing = self.changing.lock().await;
        if let Some(running) = self.running(mapping) {
            return Ok(running);
        }
        let is_permanent = self.remove_all_ended(mapping);
        if !is_permanent && self.on_demand() >= MAX_ON_DEMAND && !self.stop_longest_idle(Duration::ZERO).await
        {
            return Err(CatalogError::Full);
        }
        let collection = collection(mapping);
        let informer = self.factory.informer(&collection);
        informer.start();
        let entry = Entry::new(mapping.clone(), collection, informer, is_permanent);
        let watched = entry.take();
        self.entries.write().push(entry);
        drop(changing);
        Ok(watched)
    }

    pub(super) fn withholds(&self, mapping: &Mapping) -> bool {
        !self.secrets && crate::secret::is_secret(mapping)
    }

    /// Returns the running informers with their resources.
    pub(super) fn watching(&self) -> Vec<(GroupVersionResource, Informer)> {
        let entries = self.entries.read();
        let living = entries.iter().filter(|entry| !entry.informer.has_exited());
        living.map(|entry| (entry.mapping.resource.clone(), entry.informer.clone())).collect()
    }

    fn on_demand(&self) -> usize {
        self.entries.read().iter().filter(|entry| !entry.is_permanent).count()
    }

    /// Removes informers that have ended, for example since their definition was deleted. Returns whether the one of
    /// this resource was permanent.
    fn remove_all_ended(&self, mapping: &Mapping) -> bool {
        let of = &mapping.resource;
        let mut is_permanent = false;
        let mut entries = self.entries.write();
        entries.retain(|entry| {
            if !entry.informer.has_exited() {
                return true;
            }
            let is_it = entry.is_of(&of.group, &of.version, &of.resource);
            is_permanent |= is_it && entry.is_permanent;
            entry.is_permanent && !is_it
        });
        is_permanent
    }

    /// Stops one informer that has been idle for at least this long. Returns whether there was one.
    pub(super) async fn stop_one_idle(&self, at_least: Duration) -> bool {
        let _changing = self.changing.lock().await;
        self.stop_longest_idle(at_least).await
    }

    /// Does as [`stop_one_idle`](Self::stop_one_idle), for a caller that holds `changing`.
    async fn stop_longest_idle(&self, at_least: Duration) -> bool {
        let ended = {
            let mut entries = self.entries.write(); // no reader can take it meanwhile (`catalog.C3`)
            let idle = entries.iter().enumerate().filter_map(|(at, entry)| Some((entry.idle()?, at)));
            let longest = idle.filter(|(idle, _)| *idle >= at_least).max();
            longest.map(|(_, at)| entries.remove(at))
        };
        match ended {
            Some(entry) => {
                tracing::debug!(collection = %entry.collection, "stopping idle informer");
                self.factory.stop_informer(&entry.collection).await;
                true
            }
            None => false,
        }
    }
}
