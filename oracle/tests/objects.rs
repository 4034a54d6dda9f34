//! The stream of random objects: its completeness and determinism.

use std::collections::BTreeMap;

use watchkeeper_oracle::random_objects;

type Outcome = Result<(), Box<dyn std::error::Error>>;

#[test]
fn every_kind_occurs_as_often_as_requested_and_the_stream_is_deterministic() -> Outcome {
    let objects = random_objects(20)?.collect::<Result<Vec<_>, _>>()?;
    let mut counts = BTreeMap::new();
    for object in &objects {
        *counts.entry((&object.group, &object.version, &object.kind)).or_insert(0) += 1;
        assert!(object.pb.starts_with(b"k8s\0"), "{object:?}");
        assert!(object.json_of_pb.starts_with(b"{") && object.json_of_pb.ends_with(b"}"), "{object:?}");
    }
    assert!(counts.len() > 193, "{} kinds", counts.len());
    assert!(counts.values().all(|count| *count == 20), "{counts:?}");
    // Go accepts nearly all random objects; the tests of the codecs use the others too.
    let rejected = objects.iter().filter(|object| object.of_json.is_none()).count();
    assert!(rejected < objects.len() / 100, "Go rejects {rejected} of {}", objects.len());

    assert!(random_objects(20)?.collect::<Result<Vec<_>, _>>()? == objects);
    Ok(())
}

#[test]
fn a_stream_can_be_dropped_before_its_end() -> Outcome {
    let mut objects = random_objects(1000)?;
    assert!(objects.next().is_some());
    Ok(())
}
