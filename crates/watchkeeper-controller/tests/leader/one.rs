//! One process, step by step.

use std::time::Duration;

use tokio::time::{Instant, sleep};
use watchkeeper_controller::leader::{Elector, InvalidElector, Leadership, Record};

use crate::world::World;

fn record(holder: &str, lasts: u64, transitions: u32) -> Record {
    Record {
        holder: holder.to_owned(),
        lasts: Duration::from_secs(lasts),
        acquired: None,
        renewed: None,
        transitions,
    }
}

/// Runs an elector until it leads, and returns after how many seconds and with which token.
async fn leads_after(world: &World) -> (u64, u32) {
    let begun = Instant::now();
    let (sender, receiver) = tokio::sync::oneshot::channel();
    let elector = Elector::new(world.connection(1, 0), "me").unwrap().keep_at_end();
    let lead = |leadership: Leadership| async move {
        sender.send((begun.elapsed().as_secs(), leadership.token())).unwrap();
    };
    assert!(elector.run(lead, std::future::pending()).await);
    receiver.await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_free_lease_is_acquired_at_once() {
    let world = World::default();
    assert_eq!(leads_after(&world).await, (0, 0));
    assert_eq!(world.lease().unwrap().record.holder, "me");
    world.set(record("", 1, 4));
    assert_eq!(leads_after(&world).await, (0, 5));
    world.set(record("me", 1, 4));
    assert_eq!(leads_after(&world).await, (0, 4), "it is still ours");
}

#[tokio::test(start_paused = true)]
async fn a_held_lease_is_taken_after_its_own_duration_without_a_change() {
    let world = World::default();
    world.set(record("other", 40, 4));
    let (seconds, token) = leads_after(&world).await;
    assert!((40..46).contains(&seconds), "after {seconds} s: by the holder's own lease duration");
    assert_eq!(token, 5);

    // A leader that renews every ten seconds keeps the lease although its clock is stopped.
    world.set(record("other", 15, 4));
    let renewing = tokio::spawn({
        let world = world.clone();
        async move {
            for _ in 0..6 {
                sleep(Duration::from_secs(10)).await;
                world.set(record("other", 15, 4));
            }
        }
    });
    let (seconds, _) = leads_after(&world).await;
    assert!((75..81).contains(&seconds), "after {seconds} s");
    renewing.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_leader_renews_without_reading_and_releases_at_the_end() {
    let world = World::default();
    let connection = world.connection(1, 0);
    let elector = Elector::new(connection.clone(), "me").unwrap();
    let lead = |leadership: Leadership| async move {
        assert!(leadership.is_valid());
        leadership.lost().await;
        assert!(!leadership.is_valid());
    };
    elector.run(lead, sleep(Duration::from_secs(60))).await;
    let requests = connection.requests.lock().clone();
    assert_eq!(requests[..2], ["read", "create"]);
    let renewals = requests[2..].iter().take_while(|request| **request == "replace").count();
    assert!((20..30).contains(&renewals), "every two seconds: {renewals}");
    assert_eq!(requests[2 + renewals..], ["read", "replace"], "the release");
    let held = world.lease().unwrap().record;
    assert_eq!((held.holder.as_str(), held.lasts.as_secs(), held.transitions), ("", 1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_cannot_renew_stops_before_another_may_lead() {
    let world = World::default();
    let connection = world.connection(1, 0);
    let elector = Elector::new(connection.clone(), "me").unwrap();
    let begun = Instant::now();
    let cut = tokio::spawn({
        let world = world.clone();
        async move {
            sleep(Duration::from_secs(21)).await;
            world.set(record("thief", 15, 9));
        }
    });
    let stubborn = |leadership: Leadership| async move {
        leadership.lost().await;
        assert!(begun.elapsed() < Duration::from_secs(24));
        std::future::pending::<()>().await;
    };
    assert!(elector.run(stubborn, std::future::pending()).await);
    cut.await.unwrap();
    let seconds = begun.elapsed().as_secs();
    assert!((33..37).contains(&seconds), "dropped after {seconds} s, fifteen after the last renewal");
    assert_eq!(world.lease().unwrap().record.holder, "thief", "another's lease is not released");
}

#[test]
fn invalid_electors_are_rejected() {
    let connection = || World::default().connection(1, 0);
    assert_eq!(Elector::new(connection(), "").unwrap_err(), InvalidElector::NoIdentity);
    let seconds = Duration::from_secs;
    for (lease, renew, retry) in [(10, 10, 2), (15, 2, 2), (15, 10, 0)] {
        let refused =
            Elector::new(connection(), "me").unwrap().times(seconds(lease), seconds(renew), seconds(retry));
        assert!(matches!(refused, Err(InvalidElector::Times { .. })));
    }
    assert!(Elector::new(connection(), "me").unwrap().times(seconds(6), seconds(4), seconds(1)).is_ok());
}
