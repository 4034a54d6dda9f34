//! Common parts of all types: `Debug`, setters, metadata.

use watchkeeper_kinds::api::apps::v1::Deployment;
use watchkeeper_kinds::api::core::v1::{Container, Node, Pod, PodSpec, Secret};
use watchkeeper_kinds::api::meta::v1::OwnerReference;
use watchkeeper_kinds::{ByteString, Object, PartialObjectMetadata, Resource, Scope};

#[test]
fn debug_shows_only_fields_that_are_set() {
    assert_eq!(format!("{:?}", Pod::default()), "Pod");
    let pod = Pod::new("a", "shop").with_spec(PodSpec::default().with_node_name("n").with_priority(0));
    assert_eq!(
        format!("{pod:?}"),
        r#"Pod { metadata: ObjectMeta { name: "a", namespace: "shop" }, spec: PodSpec { nodeName: "n", priority: Some(0) } }"#
    );
    let secret = Secret::default().with_data([("password", ByteString::from("hunter2"))]);
    assert_eq!(format!("{secret:?}"), r#"Secret { data: {"password": 7 bytes} }"#);
}

#[test]
fn setters_accept_what_converts() {
    let web = Container::default().with_name("web").with_command(["nginx", "-g"]);
    let pod = Pod::new("a", "shop").with_spec(PodSpec::default().with_containers([web]).with_priority(3));
    let mut expected = Pod::default();
    expected.metadata.name = "a".into();
    expected.metadata.namespace = "shop".into();
    expected.spec.priority = Some(3);
    expected.spec.containers.push(Container { name: "web".into(), ..Default::default() });
    expected.spec.containers[0].command = vec!["nginx".into(), "-g".into()];
    assert_eq!(pod, expected);
}

#[test]
fn objects_are_named_by_their_metadata() {
    let mut node = Node::new("n");
    assert_eq!((node.name(), node.namespace()), ("n", ""));
    node.metadata_mut().uid = "1".into();
    assert_eq!(node.metadata().uid, "1");
    let partial = PartialObjectMetadata::<Node> { metadata: node.metadata.clone(), ..Default::default() };
    assert_eq!(partial.name(), "n");
    assert_eq!(PartialObjectMetadata::<Node>::plural(), "nodes");
    const { assert!(<Pod as Resource>::Scope::NAMESPACED && !<Node as Resource>::Scope::NAMESPACED) };
}

#[test]
fn a_controller_reference_identifies_the_object() {
    let mut web = Deployment::new("web", "shop");
    web.metadata.uid = "1".into();
    let expected = OwnerReference {
        api_version: "apps/v1".into(),
        kind: "Deployment".into(),
        name: "web".into(),
        uid: "1".into(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    };
    assert_eq!(web.controller_reference(), expected);
    assert_eq!(Pod::default().controller_reference().api_version, "v1");
}
