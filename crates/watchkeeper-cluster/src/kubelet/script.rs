//! Scripts: simulated behaviour of a pod's containers.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// Simulated behaviour of the containers of a pod on a simulated node. It is stored in annotations of the
/// pod, so that a manifest can set it too:
///
/// | annotation | example | effect |
/// |---|---|---|
/// | `watchkeeper.dev/start-after` | `20s` | containers take this long to start |
/// | `watchkeeper.dev/ready-after` | `5s`, `never` | containers become ready this long after their start, or never |
/// | `watchkeeper.dev/exit-after` | `1m30s` | containers exit after this long |
/// | `watchkeeper.dev/exit-code` | `1` | containers exit with this code; without `exit-after`, at once |
/// | `watchkeeper.dev/pull` | `fail` | image pulls fail until the image or this annotation is changed |
/// | `watchkeeper.dev/stop-after` | `1m` | containers take this long to stop, and are killed after the grace period |
///
/// By default containers run until they are stopped, except those of a job's pods. Images from a registry in
/// the domain `invalid` can never be pulled.
///
/// ```
/// use std::time::Duration;
/// use watchkeeper_cluster::Script;
///
/// let crashing = Script::default().exit_after(Duration::from_millis(1_500)).exit_code(3);
/// let annotations = crashing.annotations();
/// assert_eq!(annotations["watchkeeper.dev/exit-after"], "1.5s");
/// assert_eq!(annotations["watchkeeper.dev/exit-code"], "3");
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[must_use]
pub struct Script {
    pub(super) start_after: Option<Duration>,
    pub(super) ready_after: Option<Readiness>,
    pub(super) exit_after: Option<Duration>,
    pub(super) exit_code: Option<i32>,
    pub(super) is_pull_failing: bool,
    pub(super) stop_after: Option<Duration>,
}

/// When a running container becomes ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Readiness {
    After(Duration),
    Never,
}

const START_AFTER: &str = "watchkeeper.dev/start-after";
const READY_AFTER: &str = "watchkeeper.dev/ready-after";
const EXIT_AFTER: &str = "watchkeeper.dev/exit-after";
const EXIT_CODE: &str = "watchkeeper.dev/exit-code";
const PULL: &str = "watchkeeper.dev/pull";
const STOP_AFTER: &str = "watchkeeper.dev/stop-after";

impl Script {
    /// Sets how long containers take to start.
    pub fn start_after(mut self, time: Duration) -> Self {
        self.start_after = Some(time);
        self
    }

    /// Sets how long after their start containers become ready.
    pub fn ready_after(mut self, time: Duration) -> Self {
        self.ready_after = Some(Readiness::After(time));
        self
    }

    /// Makes containers never ready.
    pub fn never_ready(mut self) -> Self {
        self.ready_after = Some(Readiness::Never);
        self
    }

    /// Makes containers exit after this long.
    pub fn exit_after(mut self, time: Duration) -> Self {
        self.exit_after = Some(time);
        self
    }

    /// Sets the exit code of containers.
    pub fn exit_code(mut self, code: i32) -> Self {
        self.exit_code = Some(code);
        self
    }

    /// Makes image pulls fail.
    pub fn pull_fails(mut self) -> Self {
        self.is_pull_failing = true;
        self
    }

    /// Sets how long containers take to stop.
    pub fn stop_after(mut self, time: Duration) -> Self {
        self.stop_after = Some(time);
        self
    }

    /// Returns the annotations that store the script.
    pub fn annotations(&self) -> BTreeMap<String, String> {
        let time = |time: Option<Duration>| time.map(|time| Seconds(time).to_string());
        let ready = self.ready_after.map(|ready| match ready {
            Readiness::After(time) => Seconds(time).to_string(),
            Readiness::Never => "never".to_owned(),
        });
        let all = [
            (START_AFTER, time(self.start_after)),
            (READY_AFTER, ready),
            (EXIT_AFTER, time(self.exit_after)),
            (EXIT_CODE, self.exit_code.map(|code| code.to_string())),
            (PULL, self.is_pull_failing.then(|| "fail".to_owned())),
            (STOP_AFTER, time(self.stop_after)),
        ];
        all.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect()
    }

    /// Reads a script from a pod's annotations. Invalid values are ignored.
    pub(super) fn of(annotations: &BTreeMap<String, String>) -> Self {
        let text = |key: &str| annotations.get(key).map(|text| text.trim());
        let time = |key: &str| text(key).and_then(read);
        Self {
            start_after: time(START_AFTER),
            ready_after: match text(READY_AFTER) {
                Some("never") => Some(Readiness::Never),
                text => text.and_then(read).map(Readiness::After),
            },
            exit_after: time(EXIT_AFTER),
            exit_code: text(EXIT_CODE).and_then(|text| text.parse().ok()),
            is_pull_failing: text(PULL) == Some("fail"),
            stop_after: time(STOP_AFTER),
        }
    }
}

/// A duration in seconds, formatted as short as possible.
struct Seconds(Duration);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}s", self.0.as_secs_f64())
    }
}

/// Parses a duration in Go's format: `300ms`, `1m30s`, `1.5h`.
fn read(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut sum = Duration::ZERO;
    while !rest.is_empty() {
        let (number, after) = rest.split_at(rest.find(|c: char| !c.is_ascii_digit() && c != '.')?);
        let unit = after.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(after.len());
        let (unit, after) = after.split_at(unit);
        let seconds = match unit {
            "h" => 3_600.0,
            "m" => 60.0,
            "s" => 1.0,
            "ms" => 1e-3,
            "us" | "µs" => 1e-6,
            "ns" => 1e-9,
            _ => return None,
        };
        let part = Duration::try_from_secs_f64(number.parse::<f64>().ok()? * seconds).ok()?;
        sum = sum.checked_add(part)?;
        rest = after;
    }
    (!text.is_empty()).then_some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_parsed_in_gos_format() {
        for (text, millis) in [
            ("300ms", Some(300)),
            ("1m30s", Some(90_000)),
            ("1.5h", Some(5_400_000)),
            ("0s", Some(0)),
            ("", None),
            ("5", None),
            ("soon", None),
            ("5d", None),
        ] {
            assert_eq!(read(text), millis.map(Duration::from_millis), "{text}");
        }
    }

    #[test]
    fn scripts_survive_a_round_trip_through_annotations() {
        let second = Duration::from_secs(1);
        for script in [
            Script::default(),
            Script::default().start_after(second).never_ready(),
            Script::default().ready_after(second / 3).exit_after(second * 90).exit_code(-1),
            Script::default().pull_fails().stop_after(Duration::ZERO),
        ] {
            assert_eq!(Script::of(&script.annotations()), script);
        }
    }
}
