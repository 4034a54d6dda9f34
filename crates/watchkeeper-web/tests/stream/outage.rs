//! Reports of streams and `/readyz` while the API server is unreachable, silent, or rejects one resource.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use watchkeeper_client::kubeconfig::{Overrides, Sources};
use watchkeeper_client::{Client, Config};
use watchkeeper_core::Status;
use watchkeeper_testkit::{Direction, Fault, FaultProxy, NetworkFault, Requests, Verb};
use watchkeeper_web::Options;
use watchkeeper_web::stream::Limits;

use crate::reader::{Event, Reader, View};
use crate::world::{World, maps};

/// The promised time until an outage is shown.
const REPORTED_WITHIN: Duration = Duration::from_secs(5);

/// Creates a world whose service reaches the API server through a fault proxy.
async fn behind_a_proxy() -> (World, FaultProxy) {
    let (cluster, client) = World::cluster().await;
    let proxy = FaultProxy::start(cluster.server().address()).await.unwrap();
    let file = Sources::File(cluster.kubeconfig_through(&proxy).await.unwrap());
    let served = Client::new(&Config::load(&file, &Overrides::default()).unwrap()).unwrap();
    (World::over(cluster, client, served, Limits::default(), Options::default()).await, proxy)
}

/// Waits for the next status; applies other events to the view.
async fn status(reader: &mut Reader, view: &mut View) -> Value {
    loop {
        let event: Event = reader.event().await.expect("the stream goes on");
        match event.event.as_str() {
            "status" => return event.data,
            _ => {
                view.see(&event);
                reader.last += 1;
            }
        }
    }
}

/// Reads until everything is up to date.
async fn until_current(reader: &mut Reader, view: &mut View) {
    while status(reader, view).await != json!({"server": null, "stale": []}) {}
}

async fn ready(world: &World) -> (u16, String) {
    let mut connection = TcpStream::connect(world.address).await.unwrap();
    let request = "GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    connection.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

/// Opens a stream of config maps, up to date.
async fn streaming(world: &World) -> (Reader, View) {
    world.create("apple", "fruit").await;
    let mut reader = world.open(&[maps(world, "a", "app")]).await;
    let mut view = View::default();
    reader.until("synced", &mut view).await;
    assert_eq!(view.keys("a"), [world.key("apple")]);
    (reader, view)
}

fn outage(status: &Value) -> (Duration, &str) {
    let server = &status["server"];
    (Duration::from_millis(server["forMs"].as_u64().unwrap()), server["reason"].as_str().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn outages_are_reported_and_missed_changes_follow() {
    let (world, proxy) = behind_a_proxy().await;
    let (mut reader, mut view) = streaming(&world).await;
    world.service.catalog().factory().wait_until_ready(REPORTED_WITHIN).await.unwrap();
    assert_eq!(ready(&world).await, (200, "ok".to_owned()));

    proxy.refuse().await.unwrap();
    proxy.inject(NetworkFault::reset());
    let report = status(&mut reader, &mut view).await;
    assert!(outage(&report).0 < REPORTED_WITHIN, "{report}");
    assert_eq!(outage(&report).1, "connection refused");
    let (code, text) = ready(&world).await;
    assert_eq!(code, 500);
    assert!(text.contains("[-]api-server failed: API server unreachable for "), "{text}");
    assert!(text.contains("s: connection refused\n"), "{text}");

    // A new stream receives the same status immediately.
    let mut late = Reader::open(world.address, "", None).await;
    assert_eq!(outage(&status(&mut late, &mut View::default()).await).1, "connection refused");

    world.create("bread", "fruit").await;
    world.delete("apple").await;
    proxy.accept().await.unwrap();
    until_current(&mut reader, &mut view).await;
    reader.until_seen(&mut view, |view| view.keys("a") == [world.key("bread")]).await;
    assert_eq!(ready(&world).await, (200, "ok".to_owned()));
    proxy.stop().await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn silent_servers_are_reported_and_their_connections_replaced() {
    let (world, proxy) = behind_a_proxy().await;
    let (mut reader, mut view) = streaming(&world).await;
    world.service.catalog().factory().wait_until_ready(REPORTED_WITHIN).await.unwrap();

    // Like a stopped process: connections are accepted, but nothing is answered.
    proxy.inject_on_connect(NetworkFault::stall(Direction::Both));
    proxy.inject(NetworkFault::stall(Direction::Both));
    let report = status(&mut reader, &mut view).await;
    assert!(outage(&report).0 < REPORTED_WITHIN, "{report}");
    assert_eq!(outage(&report).1, "no response within 3s");
    assert!(ready(&world).await.1.contains("no response within 3s"));

    world.create("bread", "fruit").await;
    proxy.heal();
    until_current(&mut reader, &mut view).await;
    reader.until_seen(&mut view, |view| view.keys("a") == [world.key("apple"), world.key("bread")]).await;
    assert_eq!(ready(&world).await, (200, "ok".to_owned()));

    // The open connections go silent without an error; new ones replace them.
    proxy.inject(NetworkFault::stall(Direction::Both));
    world.create("cherry", "fruit").await;
    let seen = ["apple", "bread", "cherry"].map(|name| world.key(name));
    while view.keys("a") != seen {
        let event = reader.event().await.unwrap();
        if event.event != "status" {
            view.see(&event);
        }
    }
    proxy.stop().await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resource_that_cannot_be_watched_is_stale_alone() {
    let world = World::start().await;
    let (mut reader, mut view) = streaming(&world).await;
    world
        .subscribe(&reader.stream, &[maps(&world, "a", "app"), json!({"id": "p", "resource": "pods"})])
        .await;
    reader.until("synced", &mut view).await;

    let faults = world.cluster.faults();
    for verb in [Verb::Watch, Verb::List] {
        let forbidden = Status::forbidden(None, "", "no more");
        faults.add(Fault::on(verb).resource("configmaps").fail(forbidden));
    }
    assert_eq!(faults.cut_watches(&Requests::of(Verb::Watch).resource("configmaps")), 1);
    let report = status(&mut reader, &mut view).await;
    assert_eq!((&report["server"], &report["stale"][0]["sub"]), (&Value::Null, &json!("a")), "{report}");
    assert_eq!(report["stale"].as_array().unwrap().len(), 1, "{report}");
    assert!(report["stale"][0]["reason"].as_str().unwrap().contains("no more"), "{report}");
    assert_eq!(ready(&world).await.0, 200, "config maps are cached on demand");

    faults.clear();
    until_current(&mut reader, &mut view).await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn requested_heartbeats_are_sent() {
    let world = World::start().await;
    let mut reader = Reader::open(world.address, "?heartbeat=1", None).await;
    let ping = reader.event().await.unwrap();
    assert_eq!((ping.event.as_str(), ping.data), ("ping", json!({})));
    for wrong in ["0", "61", "2s", ""] {
        let Err((status, body)) = Reader::try_open(world.address, &format!("?heartbeat={wrong}"), None).await
        else {
            panic!("{wrong:?} is accepted");
        };
        assert_eq!(status, 400);
        assert!(
            body.contains(&format!("invalid heartbeat \\\"{wrong}\\\": must be 1 to 60 seconds")),
            "{body}"
        );
    }
    world.stop().await;
}
