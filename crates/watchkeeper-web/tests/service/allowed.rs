//! Every read is authorized.

use watchkeeper_client::Secret;
use watchkeeper_testkit::{Fault, Verb};
use watchkeeper_web::access::Identity;

use crate::together::shop;

#[tokio::test(flavor = "multi_thread")]
async fn every_read_is_authorized_first() {
    let (world, _) = shop().await;
    let here = world.namespace();
    let user = world.service.access().authenticate(&Secret::from(world.cluster.token())).await.unwrap();
    let identity = Identity::User(user);
    let paths = [
        "/pod/list".to_owned(),
        format!("/pods/core/v1?namespace={here}"),
        "/configmaps/core/v1".to_owned(),
        "/v1/events".to_owned(),
        format!("/v1/workloads/{here}/web"),
        format!("/v1/tree/apps/v1/deployments/{here}/web"),
        format!("/v1/objects/core/v1/pods/{here}/web-1-a"),
        format!("/v1/objects/core/v1/pods/{here}/web-1-a?managedFields=true"),
    ];
    let reviews = Fault::on(Verb::Create).resource("subjectaccessreviews").answer(500);
    let closed = world.cluster.faults().add(reviews);
    for path in &paths {
        let message = world.ask_as(&identity, path).await.failure(503);
        assert!(message.starts_with("access review failed"), "{path}: {message}");
    }
    assert!(closed.hits() > 0);
    closed.remove();
    for path in &paths {
        let answer = world.ask_as(&identity, path).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text);
    }
    world.stop().await;
}
