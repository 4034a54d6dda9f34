//! Memory of objects.

use serde_json::json;
use watchkeeper_kinds::api::core::v1::Pod;
use watchkeeper_wire::typed::{from_json, from_protobuf, to_protobuf};

const IMAGE: &str = "registry.example.com/shop/storefront:1.2";

fn pod(name: &str) -> Pod {
    let containers =
        json!([{"name": "web", "image": IMAGE}, {"name": "side", "image": IMAGE}, {"name": "third"}]);
    let labels = json!({"a": "1", "b": "2", "c": "3"});
    let pod = json!({"metadata": {"name": name, "labels": labels}, "spec": {"containers": containers}});
    from_json(pod.to_string().as_bytes()).unwrap()
}

#[test]
fn clones_and_equal_strings_share_their_memory() {
    let (first, second) = (pod("a"), pod("b"));
    let image = |pod: &Pod, container: usize| pod.spec.containers[container].image.as_ptr();
    assert_eq!(image(&first, 0), image(&first.clone(), 0));
    assert_eq!(image(&first, 0), image(&first, 1), "in one object");
    assert_eq!(image(&first, 0), image(&second, 0), "in two objects");
    let decoded: Pod = from_protobuf(&to_protobuf(&first)).unwrap();
    assert_eq!(image(&first, 0), image(&decoded, 0), "from both encodings");
}

#[test]
fn a_changed_clone_leaves_the_original_as_it_was() {
    let first = pod("a");
    let mut second = first.clone();
    second.spec.containers[0].image.push_str("-rc");
    second.metadata.labels.insert("a", "9");
    assert_eq!((first.spec.containers[0].image.as_str(), first.metadata.labels["a"].as_str()), (IMAGE, "1"));
    assert_eq!(second.spec.containers[0].image, format!("{IMAGE}-rc"));
}

/// `typed.M4`
#[test]
fn decoded_lists_have_no_spare_capacity() {
    let first = pod("a");
    let decoded: Pod = from_protobuf(&to_protobuf(&first)).unwrap();
    for pod in [first, decoded] {
        assert_eq!((pod.spec.containers.len(), pod.spec.containers.capacity()), (3, 3));
    }
}
