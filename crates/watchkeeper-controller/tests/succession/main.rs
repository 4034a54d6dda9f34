//! A thousand leaders, one after the other, on a paused clock: what changes while nobody leads, or while a leader
//! ends, is brought about by the next.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "../leader/world.rs"]
#[allow(dead_code, reason = "of the lease and its troubles, not all is needed here")]
mod lease;
mod random;
mod things;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::time::{sleep, timeout};
use watchkeeper_cache::Informer;
use watchkeeper_controller::leader::{Elector, Leadership};
use watchkeeper_controller::{Action, Controller, Failure, Request};
use watchkeeper_wire::Kind;

use lease::World;
use random::Random;
use things::Things;

const SEED: u64 = 1000;
const PROCESSES: u64 = 3;
const LEADERS: usize = 1000;

#[tokio::test(start_paused = true)]
async fn a_thousand_leaders_lose_no_key_and_never_look_at_one_twice_at_once() {
    let (things, world) = (Things::default(), World::default());
    let leaders = Arc::new(AtomicUsize::new(0));
    let processes: Vec<_> = (0..PROCESSES)
        .map(|number| tokio::spawn(lives(number, things.clone(), world.clone(), leaders.clone())))
        .collect();

    let random = Random::new(SEED);
    while leaders.load(Ordering::Relaxed) < LEADERS {
        things.change(&random);
        sleep(Duration::from_millis(random.below(3000))).await;
    }
    let settled = timeout(Duration::from_secs(3600), things.settled()).await;
    assert!(settled.is_ok(), "after {} leaders: {:?}", leaders.load(Ordering::Relaxed), things.wrong());
    assert_eq!(things.overlaps(), Vec::<String>::new());

    for process in &processes {
        process.abort();
    }
    for process in processes {
        assert!(process.await.unwrap_err().is_cancelled());
    }
    println!(
        "{} leaders; {} writes of former ones were refused",
        leaders.load(Ordering::Relaxed),
        things.refused()
    );
}

/// One process after the other in one place, each of which ends as it likes: in order, or by a power failure.
async fn lives(number: u64, things: Things, world: World, leaders: Arc<AtomicUsize>) {
    let random = Random::new(SEED + 1 + number);
    let way = world.way(SEED + 100 + number, 5);
    for life in 0.. {
        let who = format!("{number}-{life}");
        let informer = Informer::new(Kind::new("example.com", "v1", "Thing"), things.source(&random));
        informer.start();
        let elector = Elector::new(way.clone(), &who).unwrap();
        let (is_killed, ends_after) = (random.below(3) == 0, Duration::from_secs(5 + random.below(60)));
        let lead = |leadership: Leadership| {
            let (things, informer, random) = (&things, &informer, &random);
            leaders.fetch_add(1, Ordering::Relaxed);
            async move {
                let controller = Controller::new("things", informer).concurrency(3);
                let reconcile =
                    reconcile(things.clone(), informer.clone(), random.clone(), leadership.token());
                controller.run(reconcile, leadership.lost()).await;
            }
        };
        match is_killed {
            true => drop(timeout(ends_after, elector.run(lead, std::future::pending())).await),
            false => drop(elector.run(lead, sleep(ends_after)).await),
        }
        informer.stop().await;
    }
}

/// Takes its time, and fails now and then, after it has done its work or before.
fn reconcile(
    things: Things,
    informer: Informer,
    random: Random,
    token: u32,
) -> impl Fn(Request) -> futures_util::future::BoxFuture<'static, Result<Action, Failure>> + Send + Sync {
    move |request| {
        let (things, informer, random) = (things.clone(), informer.clone(), random.clone());
        Box::pin(async move {
            let draw = |below| random.below(below);
            let _busy = things.begin(request.key(), token);
            let Some(object) = informer.store().snapshot().get(request.key()).cloned() else {
                return Ok(Action::Done);
            };
            sleep(Duration::from_millis(draw(500))).await;
            if draw(10) == 0 {
                return Err(Failure::retry("nothing was done"));
            }
            things.bring_about(request.key(), object.head.generation(), token)?;
            sleep(Duration::from_millis(draw(500))).await;
            match draw(10) {
                0 => Err(Failure::retry("it was done")),
                _ => Ok(Action::Done),
            }
        })
    }
}
