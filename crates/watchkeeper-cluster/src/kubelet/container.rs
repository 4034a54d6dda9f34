//! Containers: start, exit and restart.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;
use watchkeeper_core::Timestamp;

use super::backoff::{self, Backoff};
use super::event::{ContainerEvent, milliseconds};
use super::life::Moment;
use super::script::{Readiness, Script};
use super::view::{ContainerSpec, ContainerStatus};
use crate::jitter;
use crate::timings::Timings;

/// The role of a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Runs to completion before the others start.
    Init,
    /// Starts before the main containers and runs beside them.
    Sidecar,
    Main,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum State {
    Waiting { reason: &'static str, message: Option<String> },
    Running { since: Timestamp, from: Instant },
    Ended(Ended),
}

/// A container's exit.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Ended {
    pub(super) code: i32,
    started: Timestamp,
    finished: Timestamp,
    id: String,
}

/// A container of a pod.
#[derive(Debug)]
pub(super) struct Container {
    pub(super) name: String,
    pub(super) role: Role,
    pub(super) state: State,
    /// Its previous exit.
    pub(super) last: Option<Ended>,
    image: String,
    restarts: u32,
    /// When its next transition is due.
    due: Option<Instant>,
    /// When it becomes ready, if ever.
    ready_from: Option<Instant>,
    crashes: Backoff,
    pulls: Backoff,
    /// When its image pull started.
    begun: Option<Instant>,
    /// Events not yet taken.
    events: Vec<ContainerEvent>,
}

/// The pod and the contexts that a container depends on.
pub(super) struct Context<'a> {
    pub(super) pod: &'a super::view::Pod,
    pub(super) script: &'a Script,
    pub(super) timings: &'a Timings,
    pub(super) is_of_job: bool,
}

pub(super) const CREATING: &str = "ContainerCreating";
pub(super) const INITIALIZING: &str = "PodInitializing";
const PULL_FAILED: &str = "ErrImagePull";
const PULL_BACKOFF: &str = "ImagePullBackOff";
const CRASH_BACKOFF: &str = "CrashLoopBackOff";

impl Container {
    /// Creates a container in the state of its last status (`kubelet.K2`).
    pub(super) fn new(
        spec: &ContainerSpec,
        role: Role,
        known: Option<&ContainerStatus>,
        reason: &'static str,
    ) -> Self {
        let state = known.and_then(|known| State::read(&known.state));
        let state = state.unwrap_or(State::Waiting { reason, message: None });
        let restarts = known.map_or(0, |known| known.restart_count);
        Self {
            name: spec.name.clone(),
            role,
            ready_from: matches!(state, State::Running { .. }).then(Instant::now),
            state,
            last: known.and_then(|known| Ended::read(&known.last_state)),
            image: spec.image.clone(),
            restarts,
            due: None,
            crashes: Backoff::after(restarts),
            pulls: Backoff::default(),
            begun: None,
            events: Vec::new(),
        }
    }

    /// Returns when its next transition is due.
    pub(super) fn next(&self, now: Instant) -> Option<Instant> {
        let is_running = matches!(self.state, State::Running { .. });
        let ready = self.ready_from.filter(|from| is_running && *from > now);
        [self.due, ready].into_iter().flatten().min()
    }

    /// Performs a transition that is due, and returns whether there was one.
    pub(super) fn step(&mut self, spec: &ContainerSpec, context: &Context<'_>, now: Moment) -> bool {
        let is_due = self.due.is_some_and(|due| due <= now.at);
        let is_another = self.image != spec.image;
        match &self.state {
            State::Waiting { .. } if is_another => {
                self.image = spec.image.clone();
                self.pulls.reset();
                self.due = Some(now.at);
            }
            State::Waiting { .. } if self.due.is_none() => {
                let timings = &context.timings.start;
                let time = context.script.start_after;
                self.begun = Some(now.at);
                self.record(false, "Pulling", format!("Pulling image \"{}\"", self.image));
                self.due =
                    Some(now.at + time.unwrap_or_else(|| jitter::between(*timings.start(), *timings.end())));
            }
            State::Waiting { reason: PULL_FAILED, .. } if is_due => {
                let seconds = self.pulls.fail();
                let message = format!(
                    "Back-off pulling image \"{}\": {PULL_FAILED}: {}",
                    self.image,
                    self.pull_error()
                );
                self.record(false, "BackOff", format!("Back-off pulling image \"{}\"", self.image));
                self.record(true, "Failed", format!("Error: {PULL_BACKOFF}"));
                self.wait(PULL_BACKOFF, message, now.at + context.timings.seconds(seconds));
            }
            State::Waiting { .. } if is_due => self.attempt(context, now),
            State::Running { .. } if is_another => {
                let message = format!("Container {} definition changed, will be restarted", self.name);
                self.record(false, "Killing", message);
                self.end(0, now);
                self.image = spec.image.clone();
                self.due = Some(now.at);
                self.last = self.ended();
                self.attempt(context, now);
            }
            State::Running { .. } if is_due => {
                let is_main = self.role == Role::Main;
                self.end(context.script.exit_code.filter(|_| is_main).unwrap_or(0), now);
                if self.is_restarted(context) {
                    self.due = Some(now.at + context.timings.seconds(1));
                }
            }
            State::Ended(_) if is_due => self.restart(context, now),
            State::Ended(_) if self.due.is_none() && self.is_restarted(context) => self.due = Some(now.at),
            _ => return false,
        }
        true
    }

    /// Returns whether it is restarted after its exit.
    fn is_restarted(&self, context: &Context<'_>) -> bool {
        let State::Ended(ended) = &self.state else { return false };
        let policy = context.pod.spec.restart_policy.as_str();
        match self.role {
            Role::Sidecar => true,
            Role::Init => ended.code != 0 && policy != "Never",
            Role::Main => match policy {
                "Never" => false,
                "OnFailure" => ended.code != 0,
                _ => true,
            },
        }
    }

    /// Restarts it, the first time at once and later with backoff.
    fn restart(&mut self, context: &Context<'_>, now: Moment) {
        self.last = self.ended();
        if self.restarts == 0 {
            return self.attempt(context, now);
        }
        let seconds = self.crashes.fail();
        let meta = &context.pod.metadata;
        let message = format!(
            "back-off {} restarting failed container={} pod={}_{}({})",
            backoff::display(seconds),
            self.name,
            meta.name,
            meta.namespace,
            meta.uid
        );
        let event = format!(
            "Back-off restarting failed container {} in pod {}_{}({})",
            self.name, meta.name, meta.namespace, meta.uid
        );
        self.record(true, "BackOff", event);
        self.wait(CRASH_BACKOFF, message, now.at + context.timings.seconds(seconds));
    }

    fn wait(&mut self, reason: &'static str, message: String, until: Instant) {
        self.state = State::Waiting { reason, message: Some(message) };
        self.due = Some(until);
    }

    /// Starts it if its image can be pulled.
    fn attempt(&mut self, context: &Context<'_>, now: Moment) {
        if context.script.is_pull_failing || is_unreachable(&self.image) {
            let message = self.pull_error();
            self.record(true, "Failed", format!("Failed to pull image \"{}\": {message}", self.image));
            self.record(true, "Failed", format!("Error: {PULL_FAILED}"));
            return self.wait(PULL_FAILED, message, now.at + context.timings.seconds(1));
        }
        self.pulls.reset();
        self.record(false, "Pulled", self.pulled(now.at));
        self.record(false, "Created", "Container created".to_owned());
        self.record(false, "Started", "Container started".to_owned());
        if self.last.is_some() {
            self.restarts += 1;
        }
        self.state = State::Running { since: now.wall, from: now.at };
        self.due = self.lasts(context).map(|time| now.at + time);
        self.ready_from = match (self.role, context.script.ready_after) {
            (Role::Main, Some(Readiness::Never)) => None,
            (Role::Main, Some(Readiness::After(time))) => Some(now.at + time),
            _ => Some(now.at),
        };
    }

    /// Returns the message of the `Pulled` event.
    fn pulled(&self, now: Instant) -> String {
        let image = &self.image;
        let Some(begun) = self.begun.filter(|_| self.last.is_none()) else {
            return format!(
                "Container image \"{image}\" already present on machine and can be accessed by the pod"
            );
        };
        let time = milliseconds(now.saturating_duration_since(begun));
        let size = u32::from_str_radix(digest(&[image]).get(..7).unwrap_or_default(), 16).unwrap_or_default();
        format!(
            "Successfully pulled image \"{image}\" in {time} ({time} including waiting). Image size: {size} bytes."
        )
    }

    fn record(&mut self, is_warning: bool, reason: &'static str, message: String) {
        self.events.push(ContainerEvent::new(self.role, &self.name, is_warning, reason, message));
    }

    /// Returns the events since the last call.
    pub(super) fn take_events(&mut self) -> Vec<ContainerEvent> {
        std::mem::take(&mut self.events)
    }

    /// Records that it was asked to stop.
    pub(super) fn ask_to_stop(&mut self) {
        if self.is_running() {
            self.record(false, "Killing", format!("Stopping container {}", self.name));
        }
    }

    /// Returns how long it runs, or `None` if it does not exit by itself.
    fn lasts(&self, context: &Context<'_>) -> Option<Duration> {
        let script = context.script;
        match self.role {
            Role::Init => Some(context.timings.job),
            Role::Sidecar => None,
            Role::Main => {
                let at_once = script.exit_code.map(|_| Duration::ZERO);
                script.exit_after.or(context.is_of_job.then_some(context.timings.job)).or(at_once)
            }
        }
    }

    /// Stops it if it is running.
    pub(super) fn end(&mut self, code: i32, now: Moment) {
        let State::Running { since, .. } = self.state else { return };
        self.state =
            State::Ended(Ended { code, started: since, finished: now.wall, id: self.id_of(self.restarts) });
        self.due = None;
    }

    /// Resets the backoff if it has run long enough.
    pub(super) fn reset_backoff(&mut self, timings: &Timings, now: Moment) {
        if let State::Running { from, .. } = self.state
            && backoff::is_forgiven(now.at.saturating_duration_since(from), timings)
        {
            self.crashes.reset();
        }
    }

    fn ended(&self) -> Option<Ended> {
        match &self.state {
            State::Ended(ended) => Some(ended.clone()),
            _ => None,
        }
    }

    /// Cancels pending transitions.
    pub(super) fn cancel(&mut self) {
        self.due = None;
    }

    pub(super) fn is_running(&self) -> bool {
        matches!(self.state, State::Running { .. })
    }

    /// Returns whether it has exited with code 0.
    pub(super) fn is_completed(&self) -> bool {
        matches!(&self.state, State::Ended(ended) if ended.code == 0)
    }

    /// Returns whether the containers after it may start.
    pub(super) fn lets_others_start(&self) -> bool {
        match self.role {
            Role::Init => self.is_completed(),
            Role::Sidecar => self.is_running() || self.last.is_some(),
            Role::Main => true,
        }
    }

    pub(super) fn is_ready(&self, now: Instant) -> bool {
        match self.role {
            Role::Init => self.is_completed(),
            _ => self.is_running() && self.ready_from.is_some_and(|from| from <= now),
        }
    }

    /// Returns whether it was ever started.
    pub(super) fn is_started(&self) -> bool {
        self.last.is_some() || !matches!(self.state, State::Waiting { reason: CREATING | INITIALIZING, .. })
    }

    pub(super) fn status(&self, now: Instant) -> ContainerStatus {
        let is_made = !matches!(self.state, State::Waiting { .. });
        let id = match (&self.state, &self.last) {
            (State::Waiting { .. }, Some(last)) => last.id.clone(),
            (State::Waiting { .. }, None) => String::new(),
            _ => self.id_of(self.restarts),
        };
        let has_image = is_made || self.last.is_some();
        ContainerStatus {
            name: self.name.clone(),
            state: self.state.value(),
            last_state: self.last.as_ref().map_or_else(|| json!({}), Ended::value),
            ready: self.is_ready(now),
            restart_count: self.restarts,
            image: self.image.clone(),
            image_id: if has_image { image_id(&self.image) } else { String::new() },
            container_id: id,
            started: Some(self.is_running()),
        }
    }

    fn id_of(&self, restarts: u32) -> String {
        format!("containerd://{}", digest(&[&self.name, &self.image, &restarts.to_string()]))
    }

    fn pull_error(&self) -> String {
        format!(
            "failed to pull and unpack image \"{0}\": failed to resolve reference \"{0}\": not found",
            self.image
        )
    }
}

impl State {
    fn read(state: &Value) -> Option<Self> {
        if let Some(running) = state.get("running") {
            let since = running["startedAt"].as_str().and_then(|text| text.parse().ok());
            return Some(Self::Running { since: since.unwrap_or_else(Timestamp::now), from: Instant::now() });
        }
        Ended::read(state).map(Self::Ended)
    }

    fn value(&self) -> Value {
        match self {
            Self::Waiting { reason, message: None } => json!({"waiting": {"reason": reason}}),
            Self::Waiting { reason, message } => json!({"waiting": {"reason": reason, "message": message}}),
            Self::Running { since, .. } => json!({"running": {"startedAt": since.to_string()}}),
            Self::Ended(ended) => ended.value(),
        }
    }
}

impl Ended {
    fn read(state: &Value) -> Option<Self> {
        let ended = state.get("terminated")?;
        let time = |name: &str| {
            ended[name].as_str().and_then(|text| text.parse().ok()).unwrap_or_else(Timestamp::now)
        };
        Some(Self {
            code: ended["exitCode"].as_i64().and_then(|code| i32::try_from(code).ok()).unwrap_or(0),
            started: time("startedAt"),
            finished: time("finishedAt"),
            id: ended["containerID"].as_str().unwrap_or_default().to_owned(),
        })
    }

    fn value(&self) -> Value {
        json!({"terminated": {
            "exitCode": self.code,
            "reason": if self.code == 0 { "Completed" } else { "Error" },
            "startedAt": self.started.to_string(),
            "finishedAt": self.finished.to_string(),
            "containerID": self.id,
        }})
    }
}

/// Returns whether the image's registry is unreachable by definition, in the domain `invalid`.
fn is_unreachable(image: &str) -> bool {
    let registry = image.split_once('/').map_or("", |(registry, _)| registry);
    let host = registry.split_once(':').map_or(registry, |(host, _)| host);
    host == "invalid" || host.ends_with(".invalid")
}

fn image_id(image: &str) -> String {
    let (name, digested) = image.split_once('@').unwrap_or((image, ""));
    if !digested.is_empty() {
        return image.to_owned();
    }
    let tag = name.rfind(':').filter(|at| !name.get(*at..).unwrap_or_default().contains('/'));
    let name = tag.and_then(|at| name.get(..at)).unwrap_or(name);
    format!("{name}@sha256:{}", digest(&[image]))
}

/// Returns 64 hexadecimal digits derived from the words, in the format of a container ID.
pub(crate) fn digest(words: &[&str]) -> String {
    let part = |salt: u8| {
        let mut hasher = DefaultHasher::new();
        (salt, words).hash(&mut hasher);
        format!("{:016x}", hasher.finish())
    };
    (0..4).map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_have_a_digest_and_invalid_registries_are_unreachable() {
        assert!(image_id("nginx:1.27").starts_with("nginx@sha256:"));
        assert!(image_id("host:5000/app").starts_with("host:5000/app@sha256:"));
        assert_eq!(image_id("app@sha256:00"), "app@sha256:00");
        for (image, expected) in [
            ("registry.invalid/app:1", true),
            ("registry.invalid:5000/app", true),
            ("nginx", false),
            ("invalid", false),
            ("example.com/invalid", false),
        ] {
            assert_eq!(is_unreachable(image), expected, "{image}");
        }
    }
}
