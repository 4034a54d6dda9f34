//! Install: defines websites on the server.

use std::time::Duration;

use kube_core::CustomResourceExt as _;
use watchkeeper_cache::reader::GetError;
use watchkeeper_cache::wait::until;
use watchkeeper_core::BoxError;
use watchkeeper_kinds::api::apiextensions::v1::CustomResourceDefinition;
use watchkeeper_kinds::api::core::v1::Namespace;
use watchkeeper_kinds::apply::core::v1::NamespaceApply;
use watchkeeper_kinds::{Api, Client, TypedFactory};

use crate::Website;
use crate::ensure::ours;
use crate::registry::REGISTRY;

/// Time limit for the server to serve the new resource.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Applies the definition of websites and the namespace of the registry. Returns once websites are served.
///
/// # Errors
/// Returns an error if the server rejects them, or takes longer than 30 seconds.
pub async fn install(client: &Client) -> Result<(), BoxError> {
    Api::<Namespace>::cluster(client).apply(&NamespaceApply::new(REGISTRY), &ours()).await?;
    Api::<CustomResourceDefinition>::cluster(client).apply_object(&Website::crd(), &ours()).await?;

    let name = Website::crd_name();
    let factory = TypedFactory::new(client);
    let definitions =
        factory.of::<CustomResourceDefinition>().fields(&format!("metadata.name={name}").parse()?);
    let (informer, reader) = (definitions.informer(), definitions.lister());
    let is_served = until(&informer, Some(TIMEOUT), |_| {
        let definition = reader.get(name)?;
        Ok::<_, GetError>(definition.is_some_and(|it| is_established(&it)).then_some(()))
    })
    .await;
    factory.stop().await;
    Ok(is_served?)
}

fn is_established(definition: &CustomResourceDefinition) -> bool {
    definition.status.conditions.iter().any(|it| it.type_ == "Established" && it.status == "True")
}
