//! A process that receives signals.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::process::Command;

use watchkeeper_cache::InformerFactory;
use watchkeeper_controller::{Manager, ManagerError};
use watchkeeper_core::{Collection, ListWatch};
use watchkeeper_testkit::script::Script;

/// Sends a signal to this process.
fn signal(name: &str) {
    let status = Command::new("kill").arg(name).arg(std::process::id().to_string()).status().unwrap();
    assert!(status.success());
}

fn manager() -> Manager {
    Manager::new(&InformerFactory::new(|_: &Collection| Box::new(Script::new()) as Box<dyn ListWatch>))
}

// One test, since signals reach the whole process.
#[tokio::test]
async fn the_first_signal_shuts_down_in_order_and_the_second_at_once() {
    for name in ["-TERM", "-INT"] {
        let mut manager = manager();
        let (ended, receiver) = tokio::sync::oneshot::channel();
        manager.spawn("task", move |stop| async move {
            signal(name);
            stop.cancelled().await;
            ended.send(()).unwrap();
            Ok(())
        });
        manager.run().await.unwrap();
        receiver.await.unwrap();
    }

    let mut manager = manager();
    manager.spawn("stubborn", |stop| async move {
        signal("-TERM");
        stop.cancelled().await;
        signal("-INT");
        std::future::pending().await
    });
    let outcome = manager.run().await;
    assert!(matches!(outcome, Err(ManagerError::Interrupted)), "{outcome:?}");
}
