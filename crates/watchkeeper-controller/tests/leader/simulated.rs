//! Random schedules, each from a seed.

use std::time::Duration;

use tokio::time::sleep;
use watchkeeper_controller::leader::Elector;

use crate::world::{Lead, World};

const PROCESSES: u64 = 4;
const SCHEDULES: u64 = 300;

#[test]
fn terms_never_overlap_and_tokens_only_grow() {
    let mut changes = 0;
    for seed in 0..SCHEDULES {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let leads = runtime.block_on(schedule(seed));
        changes += leads.len();
        for (earlier, later) in leads.iter().zip(leads.iter().skip(1)) {
            let ended = earlier.to.unwrap_or_else(|| panic!("seed {seed}: {earlier:?} and {later:?}"));
            assert!(ended <= later.from, "leader.L1, seed {seed}: {earlier:?} and {later:?}");
            assert_ne!(earlier.process, later.process, "seed {seed}: no process leads twice");
            assert!(earlier.token < later.token, "leader.L3, seed {seed}: {earlier:?} and {later:?}");
        }
    }
    assert!(changes > 1000, "only {changes} terms");
}

/// Runs processes that start and stop for ten minutes, with a fault rate given by the seed.
async fn schedule(seed: u64) -> Vec<Lead> {
    let world = World::default();
    let trouble = seed % 60;
    let processes: Vec<_> = (0..PROCESSES)
        .map(|number| {
            let world = world.clone();
            tokio::spawn(async move {
                let connection = world.connection(seed * 31 + number, trouble);
                for life in 0.. {
                    let process = format!("{number}-{life}");
                    let elector = Elector::new(connection.clone(), &process).unwrap();
                    let elector = if number % 2 == 0 { elector } else { elector.keep_at_end() };
                    let stops_after = Duration::from_secs(20 + (seed * 7 + number * 13 + life * 29) % 90);
                    let (world, cooperates) = (world.clone(), !(seed + life).is_multiple_of(3));
                    let lead = |leadership: watchkeeper_controller::leader::Leadership| async move {
                        let _leading = world.lead(&process, leadership.token());
                        if cooperates { leadership.lost().await } else { std::future::pending().await }
                    };
                    elector.run(lead, sleep(stops_after)).await;
                }
            })
        })
        .collect();
    sleep(Duration::from_secs(600)).await;
    for process in &processes {
        process.abort();
    }
    for process in processes {
        let _ = process.await;
    }
    world.leads()
}
