//! Types of built-in kinds: what decodes, encodes and decodes again to an equal value, in both encodings.

#![no_main]

use libfuzzer_sys::fuzz_target;
use watchkeeper_kinds::api::admissionregistration::v1::ValidatingAdmissionPolicy;
use watchkeeper_kinds::api::apiextensions::v1::CustomResourceDefinition;
use watchkeeper_kinds::api::core::v1::Pod;
use watchkeeper_wire::typed::{Message, from_json, from_protobuf, to_json, to_protobuf};

fn both<T: Message + Clone + PartialEq>(data: &[u8]) {
    if let Ok(object) = from_json::<T>(data) {
        let again = from_json::<T>(&to_json(&object)).expect("our own JSON can be read");
        assert!(again == object, "through JSON: {object:?}, then {again:?}");
        protobuf_again(&object);
    }
    if let Ok(object) = from_protobuf::<T>(data) {
        protobuf_again(&object);
    }
}

fn protobuf_again<T: Message + Clone + PartialEq>(object: &T) {
    let protobuf = to_protobuf(object);
    let again = from_protobuf::<T>(&protobuf).expect("our own protobuf can be read");
    assert_eq!(to_protobuf(&again), protobuf);
    // An object with a NaN does not equal itself.
    assert!(again == *object || object.clone() != *object, "through protobuf: {object:?}, then {again:?}");
}

fuzz_target!(|data: &[u8]| {
    both::<Pod>(data);
    both::<CustomResourceDefinition>(data);
    both::<ValidatingAdmissionPolicy>(data);
});
