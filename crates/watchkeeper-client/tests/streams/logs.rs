//! Logs.

use watchkeeper_client::streams::LogOptions;

use crate::world::World;

#[tokio::test]
async fn a_log_is_read_to_its_end() {
    let world = World::start().await;
    let namespace = world.cluster.namespace();
    world.kubelet.write_log(namespace, "web", "main", "one\ntwo\nthree\n");
    let read = async |options: LogOptions| {
        let mut lines = world.pod.log(&options).await.unwrap().lines();
        let mut read = Vec::new();
        while let Some(line) = lines.next_line().await.unwrap() {
            read.push(String::from_utf8(line.to_vec()).unwrap());
        }
        read
    };
    assert_eq!(read(LogOptions::default()).await, ["one", "two", "three"]);
    assert_eq!(read(LogOptions { tail_lines: Some(1), ..Default::default() }).await, ["three"]);
    assert_eq!(read(LogOptions { limit_bytes: Some(5), ..Default::default() }).await, ["one", "t"]);
    let named = LogOptions { container: Some("main".into()), previous: true, ..Default::default() };
    assert_eq!(read(named).await.len(), 3);
    world.stop().await;
}

#[tokio::test]
async fn a_followed_log_continues_until_the_container_ends() {
    let world = World::start().await;
    let namespace = world.cluster.namespace();
    world.kubelet.write_log(namespace, "web", "main", "one\n");
    let mut lines = world.pod.log(&LogOptions { follow: true, ..Default::default() }).await.unwrap().lines();
    assert_eq!(lines.next_line().await.unwrap().unwrap(), "one");
    world.kubelet.write_log(namespace, "web", "main", "two");
    world.kubelet.write_log(namespace, "web", "main", " and\nthree\n");
    assert_eq!(lines.next_line().await.unwrap().unwrap(), "two and");
    assert_eq!(lines.next_line().await.unwrap().unwrap(), "three");
    world.kubelet.end_log(namespace, "web", "main");
    assert_eq!(lines.next_line().await.unwrap(), None);
    world.stop().await;
}

#[tokio::test]
async fn dropping_a_followed_log_closes_the_stream() {
    let world = World::start().await;
    let mut log = world.pod.log(&LogOptions { follow: true, ..Default::default() }).await.unwrap();
    world.kubelet.write_log(world.cluster.namespace(), "web", "main", "one\n");
    assert_eq!(log.chunk().await.unwrap().unwrap(), "one\n");
    drop(log);
    world.stop().await; // would wait for an open stream
}

#[tokio::test]
async fn invalid_log_options_are_rejected() {
    let world = World::start().await;
    let error_for = async |options: LogOptions| world.pod.log(&options).await.unwrap_err();
    let error = error_for(LogOptions { container: Some("side".into()), ..Default::default() }).await;
    assert_eq!(error.to_string(), "container side is not valid for pod web");
    let error = error_for(LogOptions { limit_bytes: Some(0), ..Default::default() }).await;
    assert_eq!(error.status().unwrap().code, 422);
    let missing = world.client.pod(world.cluster.namespace(), "api");
    assert!(missing.log(&LogOptions::default()).await.unwrap_err().is_not_found());
    world.stop().await;
}
