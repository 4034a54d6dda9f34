//! Containers: how one comes to run, ends, and comes again.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;
use watchkeeper_core::Timestamp;

use super::backoff::{self, Backoff};
use super::life::Moment;
use super::script::{Readiness, Script};
use super::told::{Told, milliseconds};
use super::view::{ContainerSpec, ContainerStatus};
use crate::chance;
use crate::pace::Pace;

/// What a container is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// It ends before the others begin.
    Init,
    /// It begins before the others, and goes on beside them.
    Sidecar,
    Main,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum State {
    Waiting { reason: &'static str, message: Option<String> },
    Running { since: Timestamp, from: Instant },
    Ended(Ended),
}

/// How a container has ended.
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
    /// How it has ended before.
    pub(super) last: Option<Ended>,
    image: String,
    restarts: u32,
    /// When something is to happen to it.
    due: Option<Instant>,
    /// When it is ready, if it ever is.
    ready_from: Option<Instant>,
    crashes: Backoff,
    pulls: Backoff,
    /// Since when it is waited for.
    begun: Option<Instant>,
    /// What people are to hear of it.
    told: Vec<Told>,
}

/// What a container has to know of its pod.
pub(super) struct Setting<'a> {
    pub(super) pod: &'a super::view::Pod,
    pub(super) script: &'a Script,
    pub(super) pace: &'a Pace,
    pub(super) is_of_job: bool,
}

pub(super) const CREATING: &str = "ContainerCreating";
pub(super) const INITIALIZING: &str = "PodInitializing";
const PULL_FAILED: &str = "ErrImagePull";
const PULL_BACKOFF: &str = "ImagePullBackOff";
const CRASH_BACKOFF: &str = "CrashLoopBackOff";

impl Container {
    /// From where its status says it was (K2).
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
            told: Vec::new(),
        }
    }

    /// When something is to happen to it by itself.
    pub(super) fn next(&self, now: Instant) -> Option<Instant> {
        let is_running = matches!(self.state, State::Running { .. });
        let ready = self.ready_from.filter(|from| is_running && *from > now);
        [self.due, ready].into_iter().flatten().min()
    }

    /// Whether something has happened to it by now.
    pub(super) fn step(&mut self, spec: &ContainerSpec, setting: &Setting<'_>, now: Moment) -> bool {
        let is_due = self.due.is_some_and(|due| due <= now.at);
        let is_another = self.image != spec.image;
        match &self.state {
            State::Waiting { .. } if is_another => {
                self.image = spec.image.clone();
                self.pulls.reset();
                self.due = Some(now.at);
            }
            State::Waiting { .. } if self.due.is_none() => {
                let pace = &setting.pace.start;
                let time = setting.script.start_after;
                self.begun = Some(now.at);
                self.tell(false, "Pulling", format!("Pulling image \"{}\"", self.image));
                self.due = Some(now.at + time.unwrap_or_else(|| chance::between(*pace.start(), *pace.end())));
            }
            State::Waiting { reason: PULL_FAILED, .. } if is_due => {
                let seconds = self.pulls.fail();
                let message = format!(
                    "Back-off pulling image \"{}\": {PULL_FAILED}: {}",
                    self.image,
                    self.pull_error()
                );
                self.tell(false, "BackOff", format!("Back-off pulling image \"{}\"", self.image));
                self.tell(true, "Failed", format!("Error: {PULL_BACKOFF}"));
                self.wait(PULL_BACKOFF, message, now.at + setting.pace.seconds(seconds));
            }
            State::Waiting { .. } if is_due => self.attempt(setting, now),
            State::Running { .. } if is_another => {
                let message = format!("Container {} definition changed, will be restarted", self.name);
                self.tell(false, "Killing", message);
                self.end(0, now);
                self.image = spec.image.clone();
                self.due = Some(now.at);
                self.last = self.ended();
                self.attempt(setting, now);
            }
            State::Running { .. } if is_due => {
                let is_main = self.role == Role::Main;
                self.end(setting.script.exit_code.filter(|_| is_main).unwrap_or(0), now);
                if self.is_restarted(setting) {
                    self.due = Some(now.at + setting.pace.seconds(1));
                }
            }
            State::Ended(_) if is_due => self.restart(setting, now),
            State::Ended(_) if self.due.is_none() && self.is_restarted(setting) => self.due = Some(now.at),
            _ => return false,
        }
        true
    }

    /// Whether it comes again after it has ended as it has.
    fn is_restarted(&self, setting: &Setting<'_>) -> bool {
        let State::Ended(ended) = &self.state else { return false };
        let policy = setting.pod.spec.restart_policy.as_str();
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

    /// The first time at once, and then ever later.
    fn restart(&mut self, setting: &Setting<'_>, now: Moment) {
        self.last = self.ended();
        if self.restarts == 0 {
            return self.attempt(setting, now);
        }
        let seconds = self.crashes.fail();
        let meta = &setting.pod.metadata;
        let message = format!(
            "back-off {} restarting failed container={} pod={}_{}({})",
            backoff::display(seconds),
            self.name,
            meta.name,
            meta.namespace,
            meta.uid
        );
        let told = format!(
            "Back-off restarting failed container {} in pod {}_{}({})",
            self.name, meta.name, meta.namespace, meta.uid
        );
        self.tell(true, "BackOff", told);
        self.wait(CRASH_BACKOFF, message, now.at + setting.pace.seconds(seconds));
    }

    fn wait(&mut self, reason: &'static str, message: String, until: Instant) {
        self.state = State::Waiting { reason, message: Some(message) };
        self.due = Some(until);
    }

    /// Runs, if its image can be had.
    fn attempt(&mut self, setting: &Setting<'_>, now: Moment) {
        if setting.script.is_pull_failing || is_out_of_reach(&self.image) {
            let message = self.pull_error();
            self.tell(true, "Failed", format!("Failed to pull image \"{}\": {message}", self.image));
            self.tell(true, "Failed", format!("Error: {PULL_FAILED}"));
            return self.wait(PULL_FAILED, message, now.at + setting.pace.seconds(1));
        }
        self.pulls.reset();
        self.tell(false, "Pulled", self.pulled(now.at));
        self.tell(false, "Created", "Container created".to_owned());
        self.tell(false, "Started", "Container started".to_owned());
        if self.last.is_some() {
            self.restarts += 1;
        }
        self.state = State::Running { since: now.wall, from: now.at };
        self.due = self.lasts(setting).map(|time| now.at + time);
        self.ready_from = match (self.role, setting.script.ready_after) {
            (Role::Main, Some(Readiness::Never)) => None,
            (Role::Main, Some(Readiness::After(time))) => Some(now.at + time),
            _ => Some(now.at),
        };
    }

    /// How its image came, the first time and later.
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

    fn tell(&mut self, is_warning: bool, reason: &'static str, message: String) {
        self.told.push(Told::new(self.role, &self.name, is_warning, reason, message));
    }

    /// What people are to hear of it since it was last asked.
    pub(super) fn take_told(&mut self) -> Vec<Told> {
        std::mem::take(&mut self.told)
    }

    /// It is asked to end.
    pub(super) fn ask_to_stop(&mut self) {
        if self.is_running() {
            self.tell(false, "Killing", format!("Stopping container {}", self.name));
        }
    }

    /// How long it runs; `None` for ever.
    fn lasts(&self, setting: &Setting<'_>) -> Option<Duration> {
        let script = setting.script;
        match self.role {
            Role::Init => Some(setting.pace.job),
            Role::Sidecar => None,
            Role::Main => {
                let at_once = script.exit_code.map(|_| Duration::ZERO);
                script.exit_after.or(setting.is_of_job.then_some(setting.pace.job)).or(at_once)
            }
        }
    }

    /// Ends it, if it runs.
    pub(super) fn end(&mut self, code: i32, now: Moment) {
        let State::Running { since, .. } = self.state else { return };
        self.state =
            State::Ended(Ended { code, started: since, finished: now.wall, id: self.id_of(self.restarts) });
        self.due = None;
    }

    /// Forgets how often it has ended if it ran long enough.
    pub(super) fn forgive(&mut self, pace: &Pace, now: Moment) {
        if let State::Running { from, .. } = self.state
            && backoff::is_forgiven(now.at.saturating_duration_since(from), pace)
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

    /// Nothing happens to it any more.
    pub(super) fn rest(&mut self) {
        self.due = None;
    }

    pub(super) fn is_running(&self) -> bool {
        matches!(self.state, State::Running { .. })
    }

    /// Whether it has ended, and well.
    pub(super) fn is_completed(&self) -> bool {
        matches!(&self.state, State::Ended(ended) if ended.code == 0)
    }

    /// Whether those after it may begin.
    pub(super) fn lets_others_begin(&self) -> bool {
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

    /// Whether anything of it was ever tried.
    pub(super) fn is_begun(&self) -> bool {
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

/// Whether nobody can have an image: by its registry.
fn is_out_of_reach(image: &str) -> bool {
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

/// 64 hexadecimal digits that are the same for the same words, and look like those of a container.
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
    fn images_are_known_by_a_digest_and_some_never_come() {
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
            assert_eq!(is_out_of_reach(image), expected, "{image}");
        }
    }
}
