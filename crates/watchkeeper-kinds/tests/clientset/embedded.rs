//! The scenarios on the embedded server, and what is asked of it alone.

use futures_util::StreamExt as _;
use serde_json::json;
use watchkeeper_client::resource::{ListOptions, WriteOptions};
use watchkeeper_client::rest::PatchKind;
use watchkeeper_core::{ListPart, ListRequest, ListWatch as _, ObjectKey};
use watchkeeper_kinds::k8s_openapi::api::certificates::v1::CertificateSigningRequest;

use crate::verbs::{deployment, write};
use crate::way::{Transcript, Way, object};
use crate::world::World;
use crate::{applied, every_method, subresources, verbs};

/// Plays a scenario in every way, each in a world of its own, to the same end; what was answered.
async fn the_same_in_every_way(play: impl AsyncFn(Way, &World) -> Transcript) -> Transcript {
    let mut first: Option<Transcript> = None;
    for way in Way::ALL {
        let world = World::start().await;
        let transcript = play(way, &world).await;
        world.stop().await;
        match &first {
            Some(first) => first.assert_same(&transcript, &format!("protobuf, {way:?}")),
            None => first = Some(transcript),
        }
    }
    first.unwrap()
}

#[tokio::test]
async fn every_verb_answers_the_same_however_it_is_asked() {
    let transcript = the_same_in_every_way(async |way, world| verbs::play(way, &world.place).await).await;
    verbs::check(&transcript);
}

#[tokio::test]
async fn every_subresource_answers_the_same_however_it_is_asked() {
    let transcript =
        the_same_in_every_way(async |way, world| subresources::play(way, &world.place).await).await;
    subresources::check(&transcript);
}

#[tokio::test]
async fn every_method_answers_the_same_however_it_is_asked() {
    let written = WriteOptions::default();
    let transcript =
        the_same_in_every_way(async |way, world| every_method::play(way, &world.place, &written).await).await;
    every_method::check_embedded(&transcript);
}

#[tokio::test]
async fn what_is_applied_is_extracted_again() {
    let world = World::start().await;
    for way in [Way::Protobuf, Way::Json] {
        Box::pin(applied::play(way, &world.place)).await;
    }
    world.stop().await;
}

#[tokio::test]
async fn an_empty_namespace_stands_for_all() {
    let world = World::start().await;
    let other = world.cluster.fresh_namespace().await.unwrap();
    let client = &world.place.client;
    for namespace in [&world.place.namespace, &other] {
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
    let deployments = world.place.client.apps_v1().deployments(&world.place.namespace);
    deployments.create(&object(deployment("a", "x")), &write()).await.unwrap();
    let mut parts = deployments.source().list(ListRequest::default());
    let mut keys = Vec::new();
    while let Some(part) = parts.next().await {
        if let ListPart::Item(found) = part.unwrap() {
            keys.push(found.head.key().clone());
        }
    }
    assert_eq!(keys, [ObjectKey::namespaced(&world.place.namespace, "a")]);
    world.stop().await;
}

/// The embedded server has no certificate signing requests: what it is asked is what counts.
#[tokio::test]
async fn an_approval_is_asked_for_below_its_request() {
    let world = World::start().await;
    let requests = world.place.client.certificates_v1().certificate_signing_requests();
    let mut request = CertificateSigningRequest::default();
    request.metadata.name = Some("a".to_owned());
    let path = "/apis/certificates.k8s.io/v1/certificatesigningrequests/a/approval";
    let patch = json!({"status": {"conditions": []}});
    for error in [
        requests.get_approval("a").await.unwrap_err(),
        requests.update_approval(&request, &write()).await.unwrap_err(),
        requests.patch_approval("a", PatchKind::Merge, &patch, &write()).await.unwrap_err(),
    ] {
        assert!(error.is_not_found());
        let watchkeeper_client::rest::RequestError::Refused { request, .. } = &error else {
            panic!("{error}")
        };
        assert!(request.ends_with(path), "{request}");
    }
    world.stop().await;
}
