//! A thousand successive leaders on a paused clock: changes made while nobody leads, or while a leader stops,
//! are reconciled by the next one.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "../leader/world.rs"]
#[allow(dead_code, reason = "only parts of the simulated lease are needed here")]
mod lease;
mod random;
mod things;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::time::{sleep, timeout};
use watchkeeper_cache::Informer;
use watchkeeper_controller::leader::{Elector, Leadership};
use watchkeeper_controller::{Action, Controller, Error, Request};
use watchkeeper_wire::Kind;

use lease::World;
use random::Random;
use things::Things;

const SEED: u64 = 1000;
const PROCESSES: u64 = 3;
const LEADERS: usize = 1000;

#[tokio::test(start_paused = true)]
async fn a_thousand_leaders_lose_no_key_and_never_reconcile_one_concurrently() {
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
    assert!(settled.is_ok(), "after {} leaders: {:?}", leaders.load(Ordering::Relaxed), things.differences());
    assert_eq!(things.overlaps(), Vec::<String>::new());

    for process in &processes {
        process.abort();
    }
    for process in processes {
        assert!(process.await.unwrap_err().is_cancelled());
    }
    println!(
        "{} leaders; {} writes of former leaders rejected",
        leaders.load(Ordering::Relaxed),
        things.refused()
    );
}

/// Successive processes on one machine, each ending by a shutdown or a crash.
async fn lives(number: u64, things: Things, world: World, leaders: Arc<AtomicUsize>) {
    let random = Random::new(SEED + 1 + number);
    let connection = world.connection(SEED + 100 + number, 5);
    for life in 0.. {
        let process = format!("{number}-{life}");
        let informer = Informer::new(Kind::new("example.com", "v1", "Thing"), things.source(&random));
        informer.start();
        let elector = Elector::new(connection.clone(), &process).unwrap();
        let (is_killed, ends_after) = (random.below(3) == 0, Duration::from_secs(5 + random.below(60)));
        let lead = |leadership: Leadership| {
            let (things, informer, random) = (&things, &informer, &random);
            leaders.fetch_add(1, Ordering::Relaxed);
            async move {
                let controller = Controller::new("things", informer).concurrency(3);
                let reconcile =
                    reconcile(things.clone(), informer.clone(), random.clone(), leadership.token());
                controller.run(reconcile, Arc::new(()), leadership.lost()).await;
            }
        };
        if is_killed {
            drop(timeout(ends_after, elector.run(lead, std::future::pending())).await);
        } else {
            elector.run(lead, sleep(ends_after)).await;
        }
        informer.stop().await;
    }
}

/// A slow reconcile function that sometimes fails, before or after it has done its work.
fn reconcile(
    things: Things,
    informer: Informer,
    random: Random,
    token: u32,
) -> impl Fn(Request, Arc<()>) -> futures_util::future::BoxFuture<'static, Result<Action, Error>> + Send + Sync
{
    move |request, _| {
        let (things, informer, random) = (things.clone(), informer.clone(), random.clone());
        Box::pin(async move {
            let draw = |below| random.below(below);
            let _busy = things.begin(request.key(), token);
            let Some(object) = informer.store().snapshot().get(request.key()).cloned() else {
                return Ok(Action::await_change());
            };
            sleep(Duration::from_millis(draw(500))).await;
            if draw(10) == 0 {
                return Err("failed before the write".into());
            }
            things.write(request.key(), object.metadata.generation(), token)?;
            sleep(Duration::from_millis(draw(500))).await;
            match draw(10) {
                0 => Err("failed after the write".into()),
                _ => Ok(Action::await_change()),
            }
        })
    }
}
