//! Managers with leader election.

use std::sync::Arc;
use std::time::Duration;

use watchkeeper_controller::{Action, Manager, ManagerError, Request};

use crate::board::Board;
use crate::{Story, after, controller, factory};

#[tokio::test(start_paused = true)]
async fn the_second_manager_is_ready_while_it_waits_and_starts_after_the_first() {
    let story = Story::new();
    let board = Board::new(&story);
    let run = |name: &'static str, seconds: u64| {
        let factory = factory(Duration::ZERO);
        let mut manager = Manager::new(&factory).elector(board.elector(name));
        manager.add(controller("shops", &factory), story.recording(name), Arc::new(()));
        async move {
            let outcome = manager.run_until(after(seconds)).await;
            (outcome.is_ok(), factory.unready().len())
        }
    };
    let first = run("first", 10);
    let second = async {
        after(1).await; // it waits for the first
        run("second", 60).await
    };
    assert_eq!(tokio::join!(first, second), ((true, 0), (true, 0)));
    let entries = story.entries();
    assert_eq!(entries[..2], ["first@0", "released@10"]);
    assert!(entries[2].starts_with("second@1"), "{entries:?}");
    assert_eq!(entries.len(), 4, "{entries:?}");
}

#[tokio::test(start_paused = true)]
async fn the_lease_is_held_until_the_last_call_has_finished() {
    let story = Story::new();
    let board = Board::new(&story);
    let (mine, others) = (factory(Duration::ZERO), factory(Duration::ZERO));
    let mut first = Manager::new(&mine).elector(board.elector("first"));
    let log = story.clone();
    first.add(
        controller("shops", &mine),
        move |_: Request, _| {
            let log = log.clone();
            async move {
                after(28).await; // longer than the lease duration
                log.record("finished");
                Ok(Action::await_change())
            }
        },
        Arc::new(()),
    );
    let mut second = Manager::new(&others).elector(board.elector("second"));
    second.add(controller("shops", &others), story.recording("second"), Arc::new(()));
    let second = async {
        after(1).await;
        second.run_until(after(60)).await
    };
    let (first, second) = tokio::join!(first.run_until(after(2)), second);
    assert!(first.is_ok() && second.is_ok(), "{first:?} {second:?}");
    let entries = story.entries();
    assert_eq!(entries[..2], ["finished@28", "released@28"]);
    assert!(entries[2].starts_with("second@"), "{entries:?}");
}

#[tokio::test(start_paused = true)]
async fn a_manager_that_loses_the_lease_stops() {
    let (story, factory) = (Story::new(), factory(Duration::ZERO));
    let board = Board::new(&story);
    let mut manager = Manager::new(&factory).elector(board.elector("me"));
    manager.add(controller("shops", &factory), story.recording("called"), Arc::new(()));
    let stolen = async {
        after(5).await;
        board.seize("thief");
        std::future::pending::<()>().await;
    };
    let outcome = manager.run_until(stolen).await;
    assert!(matches!(outcome, Err(ManagerError::LeadershipLost)), "{outcome:?}");
    assert_eq!(story.entries(), ["called@0"], "another's lease is not released");
}
