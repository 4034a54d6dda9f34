//! Terminal colours for states and headers.

use std::io::IsTerminal;

use watchkeeper_web::tree::Health;

/// A terminal colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Colour {
    Green,
    Yellow,
    Red,
    Bold,
}

/// Whether output is coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Colours {
    #[default]
    Never,
    Shown,
}

impl Colours {
    /// Returns `Shown` if standard output is a terminal that supports colours and `NO_COLOR` is not set.
    pub(crate) fn of_stdout() -> Self {
        let is_disabled = std::env::var_os("NO_COLOR").is_some();
        let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        if std::io::stdout().is_terminal() && !is_disabled && !is_dumb { Self::Shown } else { Self::Never }
    }

    /// Returns the colour of a health verdict, as on the web page and in `tree`.
    pub(crate) fn of_health(self, health: Health) -> Option<Colour> {
        match (self, health) {
            (Self::Never, _) | (_, Health::Unknown) => None,
            (Self::Shown, Health::Healthy) => Some(Colour::Green),
            (Self::Shown, Health::Progressing) => Some(Colour::Yellow),
            (Self::Shown, Health::Degraded) => Some(Colour::Red),
        }
    }

    /// Returns the colour of a state if only its name is known: of a node, a claim or a condition. A pod that is
    /// `Running` may be ready or not, so that state has no colour.
    pub(crate) fn of_state(self, state: &str) -> Option<Colour> {
        if self == Self::Never {
            return None;
        }
        match state {
            "" | "<none>" => None,
            "Active" | "Bound" | "Ready" | "Completed" | "Complete" | "Succeeded" | "True" | "Available"
            | "Normal" | "Approved,Issued" => Some(Colour::Green),
            "Pending" | "ContainerCreating" | "PodInitializing" | "Terminating" | "Unknown" | "Released"
            | "Progressing" | "Suspended" => Some(Colour::Yellow),
            "Failed" | "Error" | "Warning" | "NotReady" | "Evicted" | "OOMKilled" | "Lost" | "False" => {
                Some(Colour::Red)
            }
            state if state.contains("BackOff") || state.contains("Err") || state.contains("NotReady") => {
                Some(Colour::Red)
            }
            state if state.starts_with("Init:") => Some(Colour::Yellow),
            _ => None,
        }
    }

    /// Returns the colour of headers.
    pub(crate) fn of_header(self) -> Option<Colour> {
        (self == Self::Shown).then_some(Colour::Bold)
    }
}

impl Colour {
    pub(crate) fn paint(self, text: &str) -> String {
        let code = match self {
            Self::Green => 32,
            Self::Yellow => 33,
            Self::Red => 31,
            Self::Bold => 1,
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_coloured_unless_colours_are_off() {
        let colour = |state: &str| Colours::Shown.of_state(state);
        assert_eq!(colour("Bound"), Some(Colour::Green));
        assert_eq!(colour("Running"), None);
        assert_eq!(Colours::Shown.of_health(Health::Progressing), Some(Colour::Yellow));
        assert_eq!(Colours::Never.of_health(Health::Degraded), None);
        assert_eq!(colour("Init:0/1"), Some(Colour::Yellow));
        assert_eq!(colour("Init:CrashLoopBackOff"), Some(Colour::Red));
        assert_eq!(colour("CrashLoopBackOff"), Some(Colour::Red));
        assert_eq!(colour("Ready,SchedulingDisabled"), None);
        assert_eq!(Colours::Never.of_state("Bound"), None);
    }
}
