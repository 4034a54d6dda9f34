//! Colours: how states stand out on a terminal, and nowhere else.

use std::io::IsTerminal;

use watchkeeper_web::tree::Health;

/// A colour of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Colour {
    Green,
    Yellow,
    Red,
    Bold,
}

/// Whether to use colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Colours {
    #[default]
    Never,
    Shown,
}

impl Colours {
    /// Shown if standard output is a terminal that can, and nobody objects by `NO_COLOR`.
    pub(crate) fn of_stdout() -> Self {
        let objected = std::env::var_os("NO_COLOR").is_some();
        let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        match std::io::stdout().is_terminal() && !objected && !is_dumb {
            true => Self::Shown,
            false => Self::Never,
        }
    }

    /// The colour of a verdict: the one that the page and the tree show.
    pub(crate) fn of_health(self, health: Health) -> Option<Colour> {
        match (self, health) {
            (Self::Never, _) | (_, Health::Unknown) => None,
            (Self::Shown, Health::Healthy) => Some(Colour::Green),
            (Self::Shown, Health::Progressing) => Some(Colour::Yellow),
            (Self::Shown, Health::Degraded) => Some(Colour::Red),
        }
    }

    /// The colour of a state, where only the word is known: of a node, a claim, a condition. A pod that is running may
    /// be ready or not, so the word alone has no colour.
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

    /// The colour of headers.
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
    fn a_state_has_its_colour_where_there_are_colours() {
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
