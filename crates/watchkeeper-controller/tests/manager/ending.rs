//! Shutdown of a manager.

use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use watchkeeper_controller::{Action, Manager, ManagerError, Request};

use crate::board::Board;
use crate::{Story, after, collection, controller, factory};

#[tokio::test(start_paused = true)]
async fn shutdown_order_is_calls_lease_tasks_informers_port() {
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let before = tasks();
    let (story, factory) = (Story::new(), factory(Duration::ZERO));
    let mut manager = Manager::new(&factory)
        .serve("127.0.0.1:0".parse().unwrap())
        .unwrap()
        .elector(Board::new(&story).elector("me"));
    let address = manager.address().unwrap();
    for name in ["shops", "banks"] {
        let story = story.clone();
        manager.add(
            controller(name, &factory),
            move |_: Request, _| {
                let story = story.clone();
                async move {
                    story.record("called");
                    after(6).await;
                    story.record("finished");
                    Ok(Action::await_change())
                }
            },
            Arc::new(()),
        );
    }
    let log = story.clone();
    manager.spawn("recorder", move |stop| async move {
        stop.cancelled().await;
        after(1).await;
        log.record("task");
        Ok(())
    });
    let (log, shops) = (story.clone(), factory.informer(&collection("shops")));
    let watching = tokio::spawn(async move {
        shops.exited().await;
        TcpStream::connect(address).unwrap(); // the port is still open
        log.record("informers");
    });
    manager.run_until(after(4)).await.unwrap();
    assert!(TcpStream::connect(address).is_err(), "the port is closed");
    watching.await.unwrap();
    let expected =
        ["called@0", "called@0", "finished@6", "finished@6", "released@6", "task@7", "informers@7"];
    assert_eq!(story.entries(), expected);
    assert_eq!(tasks(), before, "no task is left");
}

#[tokio::test(start_paused = true)]
async fn parts_that_exceed_the_grace_period_are_dropped_and_reported() {
    let (story, factory) = (Story::new(), factory(Duration::ZERO));
    let mut manager = Manager::new(&factory).grace(Duration::from_secs(5));
    manager.add(controller("shops", &factory), |_: Request, _| std::future::pending(), Arc::new(()));
    manager.spawn("stubborn", |_| std::future::pending());
    manager.spawn("quick", |stop| async move {
        stop.cancelled().await;
        Ok(())
    });
    let outcome = manager.run_until(after(1)).await;
    assert_eq!(
        outcome.unwrap_err().to_string(),
        "not stopped within the grace period: controllers, stubborn"
    );
    story.record("over");
    assert_eq!(story.entries(), ["over@8"], "later parts have at least two seconds");
}

#[tokio::test(start_paused = true)]
async fn a_manager_can_be_dropped_and_started_again() {
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let before = tasks();
    for _ in 0..3 {
        let factory = factory(Duration::ZERO);
        let mut manager = Manager::new(&factory);
        manager.add(controller("shops", &factory), |_: Request, _| std::future::pending(), Arc::new(()));
        manager.spawn("stubborn", |_| std::future::pending());
        assert!(tokio::time::timeout(Duration::from_secs(3), manager.run_until(after(60))).await.is_err());
        drop(factory);
        while tasks() > before {
            tokio::task::yield_now().await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn it_can_be_stopped_before_the_first_list_and_reports_unsynced_informers() {
    let story = Story::new();
    let late = factory(Duration::from_secs(100));
    let mut manager = Manager::new(&late);
    manager.add(controller("shops", &late), story.recording("called"), Arc::new(()));
    manager.run_until(after(3)).await.unwrap();
    assert!(story.entries().is_empty());

    let late = factory(Duration::from_secs(100));
    let mut manager = Manager::new(&late).ready_within(Duration::from_secs(5));
    manager.add(controller("shops", &late), story.recording("called"), Arc::new(()));
    match manager.run_until(std::future::pending()).await {
        Err(ManagerError::NotReady { late, after }) => {
            assert_eq!(
                (late, after.as_secs()),
                (vec!["shops.v1.example.com: waiting for the server's response".to_owned()], 5)
            );
        }
        other => panic!("{other:?}"),
    }
}
