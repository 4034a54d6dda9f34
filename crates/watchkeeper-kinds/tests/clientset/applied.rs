//! Typed apply, and extraction of the applied fields.

use watchkeeper_client::resource::ApplyOptions;
use watchkeeper_kinds::apply::ApplyConfiguration as _;
use watchkeeper_kinds::apply::apps::v1::{DeploymentApply, DeploymentStatusApply};
use watchkeeper_kinds::apply::autoscaling::v1::{ScaleApply, ScaleSpecApply};

use crate::access::{Access, Target, object};
use crate::verbs::deployment;

pub(crate) async fn play(access: Access, target: &Target) {
    let deployments = access.typed(target.client.apps_v1().deployments(&target.namespace));
    let by = |manager: &str| ApplyOptions { field_manager: manager.into(), force: false, dry_run: false };
    let name = format!("{access:?}").to_lowercase();
    let mut applied: DeploymentApply = object(deployment(&name, "x"));
    applied.metadata.as_mut().unwrap().namespace = Some(target.namespace.clone());

    let made = deployments.apply(&applied, &by("owner")).await.unwrap();
    assert_eq!(made.spec.replicas, Some(1)); // the server's
    assert_eq!(DeploymentApply::extract(&made, "owner", "").unwrap(), applied);
    assert_eq!(
        DeploymentApply::extract(&made, "nobody", "").unwrap(),
        DeploymentApply::new(&name, &target.namespace)
    );

    let observed = DeploymentApply {
        status: Some(DeploymentStatusApply { replicas: Some(2), ..Default::default() }),
        ..DeploymentApply::new(&name, &target.namespace)
    };
    let updated = deployments.apply_status(&observed, &by("controller")).await.unwrap();
    assert_eq!(updated.status.replicas, 2);
    assert_eq!(DeploymentApply::extract(&updated, "controller", "status").unwrap(), observed);
    assert_eq!(DeploymentApply::extract(&updated, "owner", "").unwrap(), applied);

    let scale = ScaleApply {
        spec: Some(ScaleSpecApply { replicas: Some(3) }),
        ..ScaleApply::new(&name, &target.namespace)
    };
    let refused = deployments.apply_scale(&scale, &by("scaler")).await.unwrap_err();
    assert!(refused.is_conflict() && refused.to_string().contains("before-first-apply"), "{refused}");
    let forced = ApplyOptions { force: true, ..by("scaler") };
    let scaled = deployments.apply_scale(&scale, &forced).await.unwrap();
    assert_eq!(scaled.spec.replicas, 3);
    let scaled = deployments.get(&name).await.unwrap();
    assert_eq!(scaled.spec.replicas, Some(3));

    let mut more = DeploymentApply::extract(&scaled, "owner", "").unwrap();
    more.spec.as_mut().unwrap().replicas = Some(9);
    assert!(deployments.apply(&more, &by("owner")).await.unwrap_err().is_conflict());
    let forced = ApplyOptions { force: true, ..by("owner") };
    let more = deployments.apply(&more, &forced).await.unwrap();
    assert_eq!(more.spec.replicas, Some(9));
}
