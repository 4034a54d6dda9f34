//! Faults between the operator and the server.

use std::time::Duration;

use fastrand::Rng;
use watchkeeper_testkit::{Fault, Requests, TestCluster, Verb};

/// User agent prefix of the operator processes.
const OPERATORS: &str = "operator-";

/// Injects a random fault.
pub(crate) async fn inject(cluster: &TestCluster, random: &mut Rng) {
    let faults = cluster.faults();
    let resource = ["websites", "websites/status", "deployments", "configmaps", "leases"];
    let resource = resource[random.usize(..5)];
    let verb = [Verb::Patch, Verb::Update, Verb::Delete, Verb::Create, Verb::Get];
    let verb = verb[random.usize(..5)];
    let some = Fault::on(verb).resource(resource).user_agent(OPERATORS);
    let watches = Requests::of(Verb::Watch).user_agent(OPERATORS);
    let times = 1 + random.u64(..5);
    match random.u64(..12) {
        0 => drop(faults.add(some.answer(500).times(times))),
        1 => drop(faults.add(some.answer(503).times(times))),
        2 => drop(faults.add(some.answer(409).times(times))),
        // Executed, without a response.
        3 => drop(faults.add(some.cut().times(times))),
        4 => drop(faults.add(some.cut_connection().times(1))),
        // Shorter than the rest of a lease after its holder has given up, so that no write arrives from a former leader.
        5 => drop(faults.add(some.delay(Duration::from_millis(random.u64(..200))).times(times))),
        6 => drop(faults.add(watches.cut().after_events(random.u64(..10)).times(times))),
        7 => drop(faults.add(Fault::on(Verb::List).user_agent(OPERATORS).answer(500).times(1))),
        8 => drop(faults.cut_watches(&watches)),
        9 => drop(faults.expire_watches(&watches)),
        10 => drop(faults.end_watches(&watches)),
        _ => cluster.compact().await.unwrap(),
    }
}

/// Stalls all watches for a while.
pub(crate) async fn stall(cluster: &TestCluster, time: Duration) {
    let watches = Requests::of(Verb::Watch).user_agent(OPERATORS);
    cluster.faults().stall_watches(&watches);
    tokio::time::sleep(time).await;
    cluster.faults().cut_watches(&watches);
}

/// Cuts a process off from its lease, until the returned function is called.
pub(crate) fn cut_off(cluster: &TestCluster, process: &str) -> impl FnOnce() + use<> {
    let lease = Requests::any().resource("leases").user_agent(process);
    let rule = cluster.faults().add(lease.answer(503));
    move || rule.remove()
}
