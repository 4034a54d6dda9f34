//! Lists and watches of a real API server, split, framed and decoded by our codecs.

use bytes::Bytes;
use http::{Method, Request, StatusCode};
use serde_json::Value;
use watchkeeper_core::{
    Encoded, Encoding, ListMeta, ObjectKey, ObjectMetaBuilder, ResourceVersion, WatchEventType,
};
use watchkeeper_oracle::Cluster;
use watchkeeper_wire::protobuf::Cut;
use watchkeeper_wire::transcode::{self, Types};
use watchkeeper_wire::{
    Annotations, Kind, Limits, ListSplitter, Malformed, ReadOptions, WatchFrames, decode, json, protobuf,
    read_object_meta,
};

type Outcome = Result<(), Box<dyn std::error::Error>>;

const JSON: &str = "application/json";
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
/// The size of chunks in bytes: small enough to split names, lengths and escapes.
const CHUNK: usize = 7;

async fn get(cluster: &Cluster, path: &str, accept: &str) -> Result<Bytes, Box<dyn std::error::Error>> {
    let response = cluster.request(Method::GET, path, accept).await?;
    assert_eq!(response.status(), StatusCode::OK, "{path}: {response:?}");
    let content_type = response.headers()["content-type"].to_str()?;
    assert!(content_type.starts_with(accept), "expected {accept}, got {content_type}");
    Ok(response.into_body())
}

/// Splits a list that arrives in small chunks.
fn split(encoding: Encoding, body: &[u8]) -> Result<(Vec<Vec<u8>>, ListMeta), Malformed> {
    let mut splitter = ListSplitter::new(encoding, Limits::DEFAULT);
    let mut items = Vec::new();
    for chunk in body.chunks(CHUNK) {
        splitter.push(Bytes::copy_from_slice(chunk));
        while let Some(item) = splitter.next()? {
            items.push(item.to_vec());
        }
    }
    Ok((items, splitter.finish()?))
}

#[tokio::test]
async fn both_encodings_and_client_go_agree_on_the_namespaces_of_a_real_server() -> Outcome {
    let cluster = Cluster::start().await?;
    let kind = Kind::new("", "v1", "Namespace");
    let mut builder = ObjectMetaBuilder::default();

    let (of_json, json_end) = split(Encoding::Json, &get(&cluster, "/api/v1/namespaces", JSON).await?)?;
    let (of_pb, pb_end) = split(Encoding::Protobuf, &get(&cluster, "/api/v1/namespaces", PROTOBUF).await?)?;
    assert_eq!((json_end.kind.as_str(), pb_end.kind.as_str()), ("NamespaceList", "NamespaceList"));
    assert!(
        json_end.resource_version.as_u64() > Some(0)
            && pb_end.resource_version.as_u64() >= json_end.resource_version.as_u64()
    );
    assert!(of_json.len() >= 4, "a new cluster has at least four namespaces: {}", of_json.len());
    assert_eq!(of_json.len(), of_pb.len());

    let mut lines = Vec::new();
    for (json, pb) in of_json.iter().zip(&of_pb) {
        let from_json = json::read_object(json, &ReadOptions::default(), &mut builder)?;
        let from_pb = protobuf::read_object(pb, Annotations::Skip, &Cut::managed_fields(), &mut builder)?;
        assert_eq!(from_json.metadata, from_pb.metadata);
        assert_eq!(decode::<Value>(&from_json.encoded, &kind)?, decode::<Value>(&from_pb.encoded, &kind)?);
        lines.push(format!("{}/{}", from_pb.metadata.key().name(), from_pb.metadata.resource_version()));
        // The complete objects are equal in both encodings.
        let complete: Value = serde_json::from_slice(json)?;
        let mut out = Vec::new();
        transcode::to_json(&Encoded::protobuf(pb.as_slice()), &kind, Types::Omitted, &mut out)?;
        assert_eq!(serde_json::from_slice::<Value>(&out)?, complete);
        assert_eq!(transcode::to_protobuf(&Encoded::json(json.as_slice()), &kind)?, *pb);
    }

    lines.sort();
    let go = cluster.program("namespaces").output().await?;
    assert!(go.status.success(), "{go:?}");
    assert_eq!(String::from_utf8(go.stdout)?.lines().collect::<Vec<_>>(), lines);
    Ok(())
}

#[tokio::test]
async fn pages_of_a_real_list_have_continue_tokens_and_remaining_counts() -> Outcome {
    let cluster = Cluster::start().await?;
    for (accept, encoding) in [(JSON, Encoding::Json), (PROTOBUF, Encoding::Protobuf)] {
        let (mut keys, mut token, mut pages) = (Vec::new(), String::new(), 0);
        loop {
            let path = format!("/api/v1/namespaces?limit=1&continue={token}");
            let body = get(&cluster, &path, accept).await?;
            let (items, end) = split(encoding, &body)?;
            pages += 1;
            for item in items {
                let mut builder = ObjectMetaBuilder::default();
                let metadata = read_object_meta(encoding, &item, Annotations::Skip, &mut builder)?;
                keys.push(metadata.key().clone());
            }
            let Some(next) = end.continue_token else {
                assert_eq!(end.remaining_item_count, None);
                break;
            };
            assert!(
                end.remaining_item_count > Some(0),
                "remaining item count {:?}",
                end.remaining_item_count
            );
            token = next;
        }
        assert!(pages >= 4 && keys.is_sorted() && keys.contains(&ObjectKey::cluster("default")), "{keys:?}");
    }
    Ok(())
}

#[tokio::test]
async fn a_real_watch_list_is_framed_in_both_encodings_up_to_its_end_marker() -> Outcome {
    let cluster = Cluster::start().await?;
    let created = Request::post("/api/v1/namespaces/default/configmaps")
        .header("content-type", JSON)
        .body(Bytes::from(r#"{"metadata":{"name":"settings"},"data":{"a":"1"}}"#))?;
    assert_eq!(cluster.send(created).await?.status(), StatusCode::CREATED);

    // The server ends the watch after a second.
    let path = "/api/v1/configmaps?watch=1&allowWatchBookmarks=true&sendInitialEvents=true\
                &resourceVersionMatch=NotOlderThan&timeoutSeconds=1";
    let mut seen: Vec<Vec<(WatchEventType, String, ResourceVersion)>> = Vec::new();
    let accepts =
        [(JSON, Encoding::Json), ("application/vnd.kubernetes.protobuf;stream=watch", Encoding::Protobuf)];
    for (accept, encoding) in accepts {
        let body = get(&cluster, path, accept).await?;
        let mut events = Vec::new();
        let mut builder = ObjectMetaBuilder::default();
        let mut frames = WatchFrames::new(encoding, Limits::DEFAULT);
        for chunk in body.chunks(CHUNK) {
            frames.push(Bytes::copy_from_slice(chunk));
            while let Some(frame) = frames.next()? {
                let metadata = read_object_meta(encoding, frame.object, Annotations::Keep, &mut builder)?;
                let is_end = metadata.annotation("k8s.io/initial-events-end") == Some("true");
                let name = if is_end { "the end".to_owned() } else { metadata.key().to_string() };
                events.push((frame.kind, name, metadata.resource_version().clone()));
            }
        }
        frames.finish()?;
        let initial =
            events.iter().position(|(kind, name, _)| *kind == WatchEventType::Bookmark && name == "the end");
        let initial = initial.ok_or_else(|| format!("no end marker in {events:?}"))?;
        events.truncate(initial); // later events depend on when the watch started
        assert!(events.iter().all(|(kind, _, _)| *kind == WatchEventType::Added), "{events:?}");
        assert!(events.iter().any(|(_, name, _)| name == "default/settings"), "{events:?}");
        seen.push(events);
    }
    assert_eq!(seen[0], seen[1]);
    Ok(())
}
