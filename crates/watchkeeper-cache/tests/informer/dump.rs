//! The debug dump of an informer.

use std::time::Duration;

use watchkeeper_cache::Informer;
use watchkeeper_cache::handler::SubscriptionOptions;
use watchkeeper_core::{Encoded, Object, ObjectMetaBuilder};
use watchkeeper_testkit::script::{List, Script, Watch, object};
use watchkeeper_wire::{Kind, transcode};

#[tokio::test(start_paused = true)]
async fn a_dump_shows_objects_sizes_indexes_and_handlers() {
    let script = Script::new()
        .without_initial_events()
        .then(List::at(9).items([object("x/a", 7), object("x/b", 8)]))
        .then(Watch::new().stalls());
    let maps = Informer::builder(Kind::new("", "v1", "ConfigMap"), script.clone())
        .configure(|reflector| reflector.name("maps"))
        .build();
    maps.add_index("first", |object: &Object| vec![object.metadata.key().name()[..1].to_owned()]).unwrap();
    assert!(
        maps.dump().to_string().starts_with("maps: not started: not ready, version (none)\n0 objects, 0 ")
    );
    let slow = maps.subscribe(SubscriptionOptions { name: "slow".into(), ..SubscriptionOptions::default() });
    maps.start();
    script.played().await;
    tokio::time::advance(Duration::from_secs(3)).await;

    let sizes = maps.store().snapshot().sizes();
    let length = maps.store().snapshot().iter().next().unwrap().encoded.body.len();
    let expected = format!(
        "maps: watching: ready, version 9
2 objects, {} bytes: bodies {}, metadata {}, entries {}, indexes {}
index by label: 0 values, 0 entries
index by owner: 0 values, 0 entries
index first: 2 values, 2 entries
handler slow: 2 pending for 3s, 0 coalesced, 0 dropped, 0 panics
x/a version 7, {length} bytes of JSON
x/b version 8, {length} bytes of JSON
",
        sizes.total(),
        sizes.bodies,
        sizes.metadata,
        sizes.entries,
        sizes.indexes
    );
    assert_eq!(maps.dump().to_string(), expected);
    let with_bodies = maps.dump().bodies(maps.kind().clone()).to_string();
    assert!(with_bodies.contains("    metadata:\n      name: a\n"), "{with_bodies}");
    drop(slow);
    maps.stop().await;
    assert!(maps.dump().to_string().starts_with("maps: exited: ready"));
}

#[tokio::test(start_paused = true)]
async fn a_dump_redacts_secrets() {
    let kind = Kind::new("", "v1", "Secret");
    let json = br#"{"metadata":{"name":"s","labels":{"app":"web"},"annotations":{"last-applied":"{\"data\":{\"key\":\"aHVudGVyMg==\"}}"}},
        "data":{"key":"aHVudGVyMg=="},"stringData":{"other":"hunter2"},"type":"Opaque"}"#;
    let of = |name: &str, encoded: Encoded| {
        let head = ObjectMetaBuilder::default().name(name).version("1").uid(name).finish();
        Object { metadata: head, encoded }
    };
    let plain = Encoded::json(*json);
    let proto = Encoded::protobuf(transcode::to_protobuf(&plain, &kind).unwrap());
    let broken = Encoded::json(*b"{\"data\":hunter2");
    let script = Script::new()
        .without_initial_events()
        .then(List::at(1).items([of("broken", broken), of("json", plain), of("protobuf", proto)]))
        .then(Watch::new().stalls());
    let secrets = Informer::new(kind.clone(), script.clone());
    secrets.start();
    script.played().await;
    let text = secrets.dump().bodies(kind).to_string();
    assert!(!text.contains("aHVudGVyMg") && !text.contains("hunter2"), "{text}");
    for shown in ["key: <12 bytes>", "other: <7 bytes>", "type: Opaque", "app: web", "    failed to decode\n"]
    {
        assert!(text.contains(shown), "{shown} in {text}");
    }
    secrets.stop().await;
}
