//! Serialization of apply types.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod every_kind;
mod extract;
mod sample;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json, to_value};
use watchkeeper_kinds::Resource;
use watchkeeper_kinds::api::apps::v1::{Deployment, DeploymentSpec};
use watchkeeper_kinds::api::core::v1::Pod;
use watchkeeper_kinds::apply::ApplyConfiguration;
use watchkeeper_kinds::apply::apps::v1::{DeploymentApply, DeploymentSpecApply};
use watchkeeper_kinds::apply::core::v1::{
    ContainerApply, NodeApply, PodSpecApply, PodTemplateSpecApply, ServiceApply, ServiceSpecApply,
};

use every_kind::every_kind;

/// A visitor of all kinds.
trait Visit {
    fn kind<A>(&mut self)
    where
        A: ApplyConfiguration + Default + DeserializeOwned,
        A::Kind: Resource + Serialize + DeserializeOwned;
}

#[test]
fn unset_fields_are_not_serialized() {
    struct Empty(usize);
    impl Visit for Empty {
        fn kind<A>(&mut self)
        where
            A: ApplyConfiguration + Default + DeserializeOwned,
            A::Kind: Resource + Serialize + DeserializeOwned,
        {
            let (group, version, kind) = (A::Kind::group(), A::Kind::version(), A::Kind::kind());
            let version = [&*group, &*version].join("/");
            let api_version = version.trim_start_matches('/');
            assert_eq!(to_value(A::default()).unwrap(), json!({"apiVersion": api_version, "kind": kind}));
            self.0 += 1;
        }
    }
    let mut empty = Empty(0);
    every_kind(&mut empty);
    assert!(empty.0 > 50, "{} kinds", empty.0);
}

#[test]
fn every_field_of_every_kind_round_trips_as_in_its_type() {
    struct Full;
    impl Visit for Full {
        fn kind<A>(&mut self)
        where
            A: ApplyConfiguration + Default + DeserializeOwned,
            A::Kind: Resource + Serialize + DeserializeOwned,
        {
            let (group, version, kind) = (A::Kind::group(), A::Kind::version(), A::Kind::kind());
            let mut sample = sample::of(&group, &version, &kind, sample::Fields::Applied);
            let apply: A = serde_json::from_value(sample.clone()).unwrap();
            assert_eq!(to_value(&apply).unwrap(), sample);
            let object: A::Kind = serde_json::from_value(sample.clone()).unwrap();
            sample::remove_types_of_claims(&mut sample);
            assert_eq!(to_value(&object).unwrap(), sample, "of the type");
        }
    }
    every_kind(&mut Full);
}

#[test]
fn only_set_fields_are_serialized() {
    let container = ContainerApply { name: some("web"), image: some("web:2"), ..Default::default() };
    let pod = PodSpecApply { containers: Some(vec![container]), ..Default::default() };
    let template = PodTemplateSpecApply { spec: Some(pod), ..Default::default() };
    let deployment = DeploymentApply {
        spec: Some(DeploymentSpecApply { template: Some(template), ..Default::default() }),
        ..DeploymentApply::new("web", "shop")
    };
    assert_eq!(
        to_value(deployment).unwrap(),
        json!({
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "web", "namespace": "shop"},
            "spec": {"template": {"spec": {"containers": [{"name": "web", "image": "web:2"}]}}},
        })
    );
}

#[test]
fn types_of_objects_serialize_unset_fields() {
    let noise = Deployment::default().with_spec(DeploymentSpec::default().with_replicas(3));
    let template = json!({"metadata": {}, "spec": {"containers": null}});
    let noise = to_value(noise).unwrap();
    assert_eq!(noise["spec"], json!({"replicas": 3, "selector": null, "template": template, "strategy": {}}));

    let spec = DeploymentSpecApply { replicas: Some(3), ..Default::default() };
    let applied = to_value(DeploymentApply { spec: Some(spec), ..Default::default() }).unwrap();
    assert_eq!(applied["spec"], json!({"replicas": 3}));

    assert_eq!(to_value(Pod::default()).unwrap()["spec"], json!({"containers": null}));
    assert_eq!(to_value(PodSpecApply::default()).unwrap(), json!({}));
}

#[test]
fn empty_values_are_serialized() {
    let spec = ServiceSpecApply {
        cluster_ip: some(""),
        external_ips: Some(Vec::new()),
        selector: Some(Default::default()),
        ..Default::default()
    };
    let service = to_value(ServiceApply { spec: Some(spec), ..Default::default() }).unwrap();
    assert_eq!(service["spec"], json!({"clusterIP": "", "externalIPs": [], "selector": {}}));
}

#[test]
fn labels_and_annotations_are_added_one_by_one() {
    let mut node = NodeApply::new("node-1");
    node.metadata = node.metadata.map(|metadata| metadata.with_label("a", "1").with_annotation("b", "2"));
    let expected = json!({"name": "node-1", "labels": {"a": "1"}, "annotations": {"b": "2"}});
    assert_eq!(to_value(node).unwrap()["metadata"], expected);
}

#[test]
fn other_kinds_are_rejected() {
    let read = |text: Value| serde_json::from_value::<NodeApply>(text).map_err(|error| error.to_string());
    assert_eq!(read(json!({"apiVersion": "v1", "kind": "Node"})), Ok(NodeApply::default()));
    assert_eq!(read(json!({})), Ok(NodeApply::default()));
    assert_eq!(read(json!({"kind": "Pod"})), Err("found \"Pod\", expected \"Node\"".to_owned()));
    let error = "found \"v2\", expected \"v1\"".to_owned();
    assert_eq!(read(json!({"apiVersion": "v2"})), Err(error));
}

fn some(text: &str) -> Option<String> {
    Some(text.to_owned())
}
