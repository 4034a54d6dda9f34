//! What the stream of random objects promises.

use std::collections::BTreeMap;

use watchkeeper_oracle::random_objects;

type Outcome = Result<(), Box<dyn std::error::Error>>;

#[test]
fn every_kind_comes_as_often_as_asked_and_the_same_each_time() -> Outcome {
    let objects = random_objects(20)?.collect::<Result<Vec<_>, _>>()?;
    let mut counts = BTreeMap::new();
    for object in &objects {
        *counts.entry((&object.group, &object.version, &object.kind)).or_insert(0) += 1;
        assert!(object.pb.starts_with(b"k8s\0"), "{object:?}");
        assert!(object.json_of_pb.starts_with(b"{") && object.json_of_pb.ends_with(b"}"), "{object:?}");
    }
    assert!(counts.len() > 193, "{} kinds", counts.len());
    assert!(counts.values().all(|count| *count == 20), "{counts:?}");
    // Go accepts nearly everything that it is given, and the rest is a test as well.
    let refused = objects.iter().filter(|object| object.of_json.is_none()).count();
    assert!(refused < objects.len() / 100, "{refused} of {} refused", objects.len());

    assert!(random_objects(20)?.collect::<Result<Vec<_>, _>>()? == objects);
    Ok(())
}

#[test]
fn a_stream_may_be_dropped_half_way() -> Outcome {
    let mut objects = random_objects(1000)?;
    assert!(objects.next().is_some());
    Ok(())
}
