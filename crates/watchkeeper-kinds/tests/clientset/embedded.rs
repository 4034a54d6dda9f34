//! The scenarios on the embedded server.

use futures_util::StreamExt as _;
use serde_json::json;
use watchkeeper_client::resource::{ListOptions, WriteOptions};
use watchkeeper_client::rest::PatchKind;
use watchkeeper_core::{ListPart, ListRequest, ListWatch as _, ObjectKey};
use watchkeeper_kinds::api::certificates::v1::CertificateSigningRequest;

use crate::access::{Access, Transcript, object};
use crate::verbs::{deployment, write};
use crate::world::World;
use crate::{applied, every_method, subresources, verbs};

/// Runs a scenario with every access method on separate servers, and compares the transcripts.
async fn compare_access_methods(play: impl AsyncFn(Access, &World) -> Transcript) -> Transcript {
    let mut first: Option<Transcript> = None;
    for access in Access::ALL {
        let world = World::start().await;
        let transcript = play(access, &world).await;
        world.stop().await;
        match &first {
            Some(first) => first.assert_same(&transcript, &format!("protobuf, {access:?}")),
            None => first = Some(transcript),
        }
    }
    first.unwrap()
}

#[tokio::test]
async fn every_verb_responds_equally_for_all_access_methods() {
    let transcript =
        compare_access_methods(async |access, world| verbs::play(access, &world.target).await).await;
    verbs::check(&transcript);
}

#[tokio::test]
async fn every_subresource_responds_equally_for_all_access_methods() {
    let transcript =
        compare_access_methods(async |access, world| subresources::play(access, &world.target).await).await;
    subresources::check(&transcript);
}

#[tokio::test]
async fn every_method_responds_equally_for_all_access_methods() {
    let written = WriteOptions::default();
    let transcript = compare_access_methods(async |access, world| {
        every_method::play(access, &world.target, &written).await
    })
    .await;
    every_method::check_embedded(&transcript);
}

#[tokio::test]
async fn applied_fields_are_extracted() {
    let world = World::start().await;
    for access in [Access::Protobuf, Access::Json] {
        Box::pin(applied::play(access, &world.target)).await;
    }
    world.stop().await;
}

#[tokio::test]
async fn an_empty_namespace_means_all_namespaces() {
    let world = World::start().await;
    let other = world.cluster.fresh_namespace().await.unwrap();
    let client = &world.target.client;
    for namespace in [&world.target.namespace, &other] {
        let deployments = client.apps_v1().deployments(namespace);
        deployments.create(&object(deployment("a", "x")), &write()).await.unwrap();
    }
    let all = client.apps_v1().deployments("").list(&ListOptions::default()).await.unwrap();
    assert_eq!(all.items.len(), 2);
    assert!(client.apps_v1().deployments("").get("a").await.is_err());
    world.stop().await;
}

#[tokio::test]
async fn the_source_of_a_kind_lists_its_collection() {
    let world = World::start().await;
    let deployments = world.target.client.apps_v1().deployments(&world.target.namespace);
    deployments.create(&object(deployment("a", "x")), &write()).await.unwrap();
    let mut parts = deployments.source().list(ListRequest::default());
    let mut keys = Vec::new();
    while let Some(part) = parts.next().await {
        if let ListPart::Item(found) = part.unwrap() {
            keys.push(found.metadata.key().clone());
        }
    }
    assert_eq!(keys, [ObjectKey::namespaced(&world.target.namespace, "a")]);
    world.stop().await;
}

/// The embedded server has no certificate signing requests, so only the request is checked.
#[tokio::test]
async fn approval_uses_the_subresource_path() {
    let world = World::start().await;
    let requests = world.target.client.certificates_v1().certificate_signing_requests();
    let request = CertificateSigningRequest::new("a");
    let path = "/apis/certificates.k8s.io/v1/certificatesigningrequests/a/approval";
    let patch = json!({"status": {"conditions": []}});
    for error in [
        requests.get_approval("a").await.unwrap_err(),
        requests.update_approval(&request, &write()).await.unwrap_err(),
        requests.patch_approval("a", PatchKind::Merge, &patch, &write()).await.unwrap_err(),
    ] {
        assert!(error.is_not_found());
        let watchkeeper_client::rest::RequestError::Api { request, .. } = &error else { panic!("{error}") };
        assert!(request.ends_with(path), "{request}");
    }
    world.stop().await;
}
