//! Life: the state machine of a pod on its node (`kubelet.K1`).

use std::net::Ipv4Addr;
use std::time::Duration;

use tokio::time::Instant;
use watchkeeper_core::Timestamp;

use super::condition::conditions;
use super::container::{CREATING, Container, Context, INITIALIZING, Role};
use super::event::ContainerEvent;
use super::phase::phase;
use super::script::Script;
use super::view::{Address, ContainerSpec, ContainerStatus, Pod, PodStatus};
use crate::timings::Timings;

/// A moment by both clocks: to wait for, and to write down.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moment {
    pub(super) at: Instant,
    pub(super) wall: Timestamp,
}

/// A pod on its machine.
#[derive(Debug)]
pub(super) struct Life {
    uid: String,
    started: String,
    address: Option<Ipv4Addr>,
    /// Init containers first, in the order of the spec.
    containers: Vec<Container>,
    /// When it was asked to stop.
    ending: Option<Instant>,
    /// When it will have stopped.
    stops: Option<Instant>,
    is_finished: bool,
    now: Instant,
}

impl Life {
    /// Creates a pod in the state of its last status (`kubelet.K2`).
    pub(super) fn new(pod: &Pod, address: Option<Ipv4Addr>, wall: Timestamp) -> Self {
        let reason = if pod.spec.init_containers.is_empty() { CREATING } else { INITIALIZING };
        let known = |statuses: &[ContainerStatus], spec: &ContainerSpec| {
            statuses.iter().find(|it| it.name == spec.name).cloned()
        };
        let inits = pod.spec.init_containers.iter().map(|spec| {
            let role = if spec.is_sidecar() { Role::Sidecar } else { Role::Init };
            Container::new(spec, role, known(&pod.status.init_container_statuses, spec).as_ref(), reason)
        });
        let mains = pod.spec.containers.iter().map(|spec| {
            Container::new(spec, Role::Main, known(&pod.status.container_statuses, spec).as_ref(), reason)
        });
        Self {
            uid: pod.metadata.uid.clone(),
            started: pod.status.start_time.clone().unwrap_or_else(|| wall.to_string()),
            address,
            containers: inits.chain(mains).collect(),
            ending: None,
            stops: None,
            is_finished: pod.is_finished(),
            now: Instant::now(),
        }
    }

    pub(super) fn uid(&self) -> &str {
        &self.uid
    }

    /// Returns whether all containers have stopped for good.
    pub(super) fn is_finished(&self) -> bool {
        self.is_finished
    }

    /// Returns when the next transition is due.
    pub(super) fn next(&self) -> Option<Instant> {
        match self.stops {
            Some(stops) => Some(stops),
            None => self.containers.iter().filter_map(|it| it.next(self.now)).min(),
        }
        .filter(|_| !self.is_finished)
    }

    /// Advances to a moment.
    pub(super) fn advance(&mut self, pod: &Pod, timings: &Timings, now: Moment) {
        self.now = now.at;
        if self.is_finished {
            return;
        }
        let script = Script::of(&pod.metadata.annotations);
        if pod.metadata.is_terminating() {
            return self.stop(pod, &script, timings, now);
        }
        let is_of_job = pod.metadata.controller().is_some_and(|owner| owner.kind == "Job");
        let context = Context { pod, script: &script, timings, is_of_job };
        while self.step(&context, now) {}
        let phase = phase(&self.containers, &pod.spec.restart_policy, false);
        if matches!(phase, "Succeeded" | "Failed") {
            self.finish(0, now);
        }
    }

    /// Advances the containers by one transition, and returns whether there was one.
    fn step(&mut self, context: &Context<'_>, now: Moment) -> bool {
        let specs = context.pod.spec.init_containers.iter().chain(&context.pod.spec.containers);
        let mut has_happened = false;
        for (container, spec) in self.containers.iter_mut().zip(specs) {
            container.reset_backoff(context.timings, now);
            has_happened |= container.step(spec, context, now);
            if !container.lets_others_start() {
                break; // later containers wait
            }
        }
        has_happened
    }

    /// Stops the containers, within the pod's grace period.
    fn stop(&mut self, pod: &Pod, script: &Script, timings: &Timings, now: Moment) {
        if self.ending.is_none() {
            self.containers.iter_mut().for_each(Container::ask_to_stop);
        }
        let ending = *self.ending.get_or_insert(now.at);
        let grace = pod.metadata.deletion_grace_period_seconds.unwrap_or(0);
        let grace = timings.seconds(u32::try_from(grace).unwrap_or(0));
        let is_running = self.containers.iter().any(Container::is_running);
        let takes = if is_running { script.stop_after.unwrap_or(timings.stop) } else { Duration::ZERO };
        let stops = ending + takes.min(grace);
        if stops > now.at {
            self.stops = Some(stops);
            return;
        }
        const KILLED: i32 = 137;
        self.finish(if takes > grace { KILLED } else { 0 }, now);
    }

    fn finish(&mut self, code: i32, now: Moment) {
        for container in &mut self.containers {
            container.end(code, now);
            container.cancel();
        }
        self.is_finished = true;
        self.stops = None;
    }

    /// Returns the events of its containers since the last call.
    pub(super) fn take_events(&mut self) -> Vec<ContainerEvent> {
        self.containers.iter_mut().flat_map(Container::take_events).collect()
    }

    /// Returns the pod's status.
    pub(super) fn status(&self, pod: &Pod, host: Ipv4Addr, wall: Timestamp) -> PodStatus {
        if pod.is_finished() {
            return pod.status.clone(); // its status is final
        }
        let phase = phase(&self.containers, &pod.spec.restart_policy, self.is_finished);
        let has_sandbox = self.containers.iter().any(Container::is_started);
        let address = self.address.filter(|_| has_sandbox || pod.spec.host_network);
        let (inits, mains): (Vec<&Container>, Vec<&Container>) =
            self.containers.iter().partition(|it| it.role != Role::Main);
        let statuses = |some: Vec<&Container>| -> Vec<ContainerStatus> {
            some.iter().map(|it| it.status(self.now)).collect()
        };
        let one = |address: Ipv4Addr| Address { ip: address.to_string() };
        PodStatus {
            observed_generation: Some(pod.metadata.generation).filter(|generation| *generation > 0),
            phase: phase.to_owned(),
            conditions: conditions(
                pod,
                &self.containers,
                phase,
                has_sandbox && !self.is_finished,
                (self.now, wall),
            ),
            host_ip: Some(host.to_string()),
            host_ips: vec![one(host)],
            pod_ip: address.map(|address| address.to_string()),
            pod_ips: address.map(one).into_iter().collect(),
            start_time: Some(self.started.clone()),
            init_container_statuses: statuses(inits),
            container_statuses: statuses(mains),
        }
    }
}
