//! Values that are not Kubernetes objects, decoded as a type.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use serde::Deserialize;
use watchkeeper_core::ObjectMetaBuilder;
use watchkeeper_etcd::{Json, RangeResponse, ValueDecoder as _};
use watchkeeper_wire::{Kind, decode};

#[derive(Debug, PartialEq, Deserialize)]
struct Shape {
    kind: String,
    sides: u32,
}

#[test]
fn a_value_keeps_its_own_kind_field_if_the_informers_kind_has_no_version() {
    let message = b"\x12\x21\x0a\x02/a\x2a\x1b{\"kind\":\"square\",\"sides\":4}";
    let range = RangeResponse::try_from(bytes::Bytes::from_static(message)).unwrap();
    let encoded = Json.decode(&range.kvs[0], &mut ObjectMetaBuilder::default()).unwrap();

    let shape: Shape = decode(&encoded, &Kind::new("", "", "Shape")).unwrap();
    assert_eq!(shape, Shape { kind: "square".to_owned(), sides: 4 });
    let of_an_api = decode::<Shape>(&encoded, &Kind::new("example.com", "v1", "Shape"));
    assert!(of_an_api.is_err(), "an API object has no kind in its stored body: {of_an_api:?}");
}
