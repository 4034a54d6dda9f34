//! Informers: what the caches keep of the objects.

use watchkeeper_cache::InformerFactory;
use watchkeeper_cache::informer::FactoryBuilder;
use watchkeeper_kinds::Client;
use watchkeeper_wire::{Paths, ReadOptions};

/// The resources that the operator applies. Their caches keep `managedFields`, which show whether an object still has the
/// applied fields.
const APPLIED: [&str; 2] = ["deployments", "configmaps"];

/// Returns a builder of the informers that [`Context`](crate::Context) needs.
pub fn informers(client: &Client) -> FactoryBuilder {
    InformerFactory::builder(client.sources().read_options(|collection| {
        if APPLIED.contains(&collection.resource()) {
            ReadOptions { cut: Paths::none(), ..ReadOptions::default() }
        } else {
            ReadOptions::default()
        }
    }))
}
