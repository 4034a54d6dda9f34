//! The health and metrics pages.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use watchkeeper_controller::{Action, Manager, Request};
use watchkeeper_core::HealthCheck;
use watchkeeper_metrics::Registry;

use crate::board::Board;
use crate::{Story, controller, factory};

const NEVER: Duration = Duration::from_secs(100_000);

/// Sends a request, and returns the status code and the body.
async fn ask(method: &str, address: SocketAddr, path: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!("{method} {path} HTTP/1.1\r\nhost: me\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

async fn get(address: SocketAddr, path: &str) -> (u16, String) {
    ask("GET", address, path).await
}

#[tokio::test]
async fn it_is_live_at_once_and_ready_once_all_informers_are_synced() {
    let factory = factory(NEVER);
    let mut manager = Manager::new(&factory).serve("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = manager.address().unwrap();
    manager.add(controller("shops", &factory), Story::new().recording("called"), Arc::new(()));
    let asking = async {
        assert_eq!(get(address, "/livez").await, (200, "ok".to_owned()));
        assert_eq!(get(address, "/healthz?verbose").await.1, "[+]ping ok\nhealthz check passed\n");
        let report = "[+]ping ok\n[-]informer-sync failed: reason withheld\nreadyz check failed\n";
        assert_eq!(get(address, "/readyz").await, (500, report.to_owned()));
        let reason = "internal server error: informers not ready: shops.v1.example.com: waiting for the server's response\n";
        assert_eq!(get(address, "/readyz/informer-sync").await, (500, reason.to_owned()));
        assert_eq!(get(address, "/readyz?exclude=informer-sync").await.0, 200);
        assert_eq!(get(address, "/metrics").await, (404, "404 page not found\n".to_owned()));
        assert_eq!(get(address, "/").await.0, 404);
        assert_eq!(ask("POST", address, "/livez").await.0, 405);
    };
    manager.run_until(asking).await.unwrap();
}

#[tokio::test]
async fn it_is_ready_while_another_leads_and_serves_metrics_while_it_leads() {
    let (registry, well) = (Registry::new(), Arc::new(AtomicBool::new(true)));
    let asked = well.clone();
    let disk =
        HealthCheck::new(
            "disk",
            move || {
                if asked.load(Ordering::Relaxed) { Ok(()) } else { Err("full".to_owned()) }
            },
        );
    let synced = |factory: &watchkeeper_cache::InformerFactory| {
        let informer = factory.informer(&crate::collection("shops"));
        async move { informer.wait_until_ready().await }
    };
    let board = Board::new(&Story::new());
    board.seize("another");
    let waiting = factory(Duration::ZERO);
    let mut manager = Manager::new(&waiting)
        .serve("127.0.0.1:0".parse().unwrap())
        .unwrap()
        .check(disk)
        .elector(board.elector("me"));
    let address = manager.address().unwrap();
    manager.add(
        controller("shops", &waiting),
        |_: Request, _| async { panic!("not the leader") },
        Arc::new(()),
    );
    let asking = async {
        synced(&waiting).await;
        let report =
            "[+]ping ok\n[+]informer-sync ok\n[+]disk ok\n[+]leaderElection ok\nreadyz check passed\n";
        assert_eq!(get(address, "/readyz?verbose").await, (200, report.to_owned()));
        well.store(false, Ordering::Relaxed);
        assert_eq!(get(address, "/livez").await.0, 500);
        assert_eq!(get(address, "/livez/disk").await.1, "internal server error: full\n");
    };
    manager.run_until(asking).await.unwrap();

    let leading = factory(Duration::ZERO);
    let mut manager =
        Manager::new(&leading).metrics(&registry).serve("127.0.0.1:0".parse().unwrap()).unwrap();
    let (address, called) = (manager.address().unwrap(), Arc::new(Notify::new()));
    let calls = called.clone();
    manager.add(
        controller("shops", &leading).concurrency(2),
        move |_: Request, _| {
            let calls = calls.clone();
            async move {
                calls.notify_one();
                std::future::pending::<()>().await;
                Ok(Action::await_change())
            }
        },
        Arc::new(()),
    );
    let asking = async {
        called.notified().await;
        let (code, page) = get(address, "/metrics").await;
        assert_eq!(code, 200);
        assert!(page.contains("controller_active_workers{controller=\"shops\"} 1\n"), "{page}");
        assert!(page.contains("workqueue_depth{name=\"shops\"} 0\n"), "{page}");
        assert_eq!(ask("HEAD", address, "/metrics").await, (200, String::new()));
    };
    let outcome = manager.grace(Duration::ZERO).run_until(asking).await;
    assert!(outcome.is_err(), "a running call had no grace period");
}
