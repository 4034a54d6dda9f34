//! Informers: what the operator keeps of the objects that it reads.

use watchkeeper_cache::InformerFactory;
use watchkeeper_cache::informer::FactoryBuilder;
use watchkeeper_kinds::Client;
use watchkeeper_wire::{Intake, Paths};

/// The resources that the operator applies. Its caches keep their `managedFields`, by which it knows whether they still
/// are as they were applied.
const APPLIED: [&str; 2] = ["deployments", "configmaps"];

/// Returns a builder of the informers that [`Websites`](crate::Websites) needs.
pub fn informers(client: &Client) -> FactoryBuilder {
    InformerFactory::builder(client.sources().intake(|collection| {
        match APPLIED.contains(&collection.resource()) {
            true => Intake { cut: Paths::none(), ..Intake::default() },
            false => Intake::default(),
        }
    }))
}
