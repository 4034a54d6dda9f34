//! Weather: what goes wrong between the operator and the server.

use std::time::Duration;

use watchkeeper_testkit::{Fault, Requests, TestCluster, Verb};

use crate::random::Random;

/// What the processes of the operator call themselves.
const OPERATORS: &str = "operator-";

/// Something goes wrong.
pub(crate) async fn strike(cluster: &TestCluster, random: &mut Random) {
    let faults = cluster.faults();
    let resource = ["websites", "websites/status", "deployments", "configmaps", "leases"];
    let resource = resource[usize::try_from(random.below(5)).unwrap()];
    let verb = [Verb::Patch, Verb::Update, Verb::Delete, Verb::Create, Verb::Get];
    let verb = verb[usize::try_from(random.below(5)).unwrap()];
    let some = Fault::on(verb).resource(resource).user_agent(OPERATORS);
    let watches = Requests::of(Verb::Watch).user_agent(OPERATORS);
    let times = 1 + random.below(5);
    match random.below(12) {
        0 => drop(faults.add(some.answer(500).times(times))),
        1 => drop(faults.add(some.answer(503).times(times))),
        2 => drop(faults.add(some.answer(409).times(times))),
        // Done, and nobody hears of it.
        3 => drop(faults.add(some.cut().times(times))),
        4 => drop(faults.add(some.cut_connection().times(1))),
        // Not longer than a lease lasts after its holder has given up: whoever writes later than that is no leader.
        5 => drop(faults.add(some.delay(Duration::from_millis(random.below(200))).times(times))),
        6 => drop(faults.add(watches.cut().after_events(random.below(10)).times(times))),
        7 => drop(faults.add(Fault::on(Verb::List).user_agent(OPERATORS).answer(500).times(1))),
        8 => drop(faults.cut_watches(&watches)),
        9 => drop(faults.expire_watches(&watches)),
        10 => drop(faults.end_watches(&watches)),
        _ => cluster.compact().await.unwrap(),
    }
}

/// For so long watches bring nothing, and do not say so.
pub(crate) async fn stall(cluster: &TestCluster, time: Duration) {
    let watches = Requests::of(Verb::Watch).user_agent(OPERATORS);
    cluster.faults().stall_watches(&watches);
    tokio::time::sleep(time).await;
    cluster.faults().cut_watches(&watches);
}

/// A process cannot reach its lease any more. What is returned takes that back.
pub(crate) fn cut_off(cluster: &TestCluster, process: &str) -> impl FnOnce() + use<> {
    let lease = Requests::any().resource("leases").user_agent(process);
    let rule = cluster.faults().add(lease.answer(503));
    move || rule.remove()
}
