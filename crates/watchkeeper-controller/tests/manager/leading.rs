//! Who leads and who waits.

use std::time::Duration;

use watchkeeper_controller::{Action, Manager, ManagerError, Request};

use crate::board::Board;
use crate::{Story, after, controller, factory};

#[tokio::test(start_paused = true)]
async fn the_next_begins_when_the_first_has_ended_and_is_ready_before() {
    let story = Story::new();
    let board = Board::new(&story);
    let run = |name: &'static str, seconds: u64| {
        let factory = factory(Duration::ZERO);
        let mut manager = Manager::new(&factory).elector(board.elector(name));
        manager.add(controller("shops", &factory), story.telling(name));
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
    let told = story.told();
    assert_eq!(told[..2], ["first@0", "released@10"]);
    assert!(told[2].starts_with("second@1"), "{told:?}");
    assert_eq!(told.len(), 4, "{told:?}");
}

#[tokio::test(start_paused = true)]
async fn the_lease_is_kept_until_the_last_call_is_finished() {
    let story = Story::new();
    let board = Board::new(&story);
    let (mine, others) = (factory(Duration::ZERO), factory(Duration::ZERO));
    let mut first = Manager::new(&mine).elector(board.elector("first"));
    let told = story.clone();
    first.add(controller("shops", &mine), move |_: Request| {
        let told = told.clone();
        async move {
            after(28).await; // longer than a lease lasts
            told.tell("finished");
            Ok(Action::Done)
        }
    });
    let mut second = Manager::new(&others).elector(board.elector("second"));
    second.add(controller("shops", &others), story.telling("second"));
    let second = async {
        after(1).await;
        second.run_until(after(60)).await
    };
    let (first, second) = tokio::join!(first.run_until(after(2)), second);
    assert!(first.is_ok() && second.is_ok(), "{first:?} {second:?}");
    let told = story.told();
    assert_eq!(told[..2], ["finished@28", "released@28"]);
    assert!(told[2].starts_with("second@"), "{told:?}");
}

#[tokio::test(start_paused = true)]
async fn who_does_not_lead_any_more_ends() {
    let (story, factory) = (Story::new(), factory(Duration::ZERO));
    let board = Board::new(&story);
    let mut manager = Manager::new(&factory).elector(board.elector("me"));
    manager.add(controller("shops", &factory), story.telling("called"));
    let stolen = async {
        after(5).await;
        board.seize("thief");
        std::future::pending::<()>().await;
    };
    let outcome = manager.run_until(stolen).await;
    assert!(matches!(outcome, Err(ManagerError::LeadershipLost)), "{outcome:?}");
    assert_eq!(story.told(), ["called@0"], "what is not ours is not released");
}
