//! Transcript: commands and their output, in a text format that can be replayed.
//!
//! | a line that starts with | is |
//! |---|---|
//! | `# ` | a comment on the next command |
//! | `$ ` | a command |
//! | `< ` | a line of the YAML file that the command names, or else of its stdin |
//! | `& ` | a command to run in the background; the next step runs once it has printed its first line |
//! | `^ N` | kills the background command after `N` lines; `^ end` waits until it exits |
//! | two spaces | a line of stdout |
//! | `! ` | a line of stderr |
//! | `= N` | the exit code, if it is not 0 |

use std::fmt;

/// A script and its recorded output.
#[derive(Debug, Default)]
pub(crate) struct Transcript {
    /// The steps in execution order.
    pub(crate) steps: Vec<Step>,
}

/// A command and its recorded output.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    /// The comments before it.
    pub(crate) comments: Vec<String>,
    pub(crate) action: Action,
    /// The output and the exit code, as lines of the transcript.
    pub(crate) output: Vec<String>,
}

/// The action of a step.
#[derive(Debug, Clone)]
pub(crate) enum Action {
    /// Runs a command to completion.
    Run {
        /// The command line.
        line: String,
        /// Lines of the YAML file that it names, or else of its stdin.
        input: Vec<String>,
    },
    /// Starts a command in the background.
    Start(String),
    /// Kills the background command after this many lines, or waits until it exits.
    Stop(Option<usize>),
}

impl Transcript {
    /// Parses a transcript, with or without recorded output.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let mut steps: Vec<Step> = Vec::new();
        let mut comments = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let (mark, rest) = line.split_at_checked(2).unwrap_or((line, ""));
            let action = match mark {
                "# " => {
                    comments.push(rest.to_owned());
                    continue;
                }
                "$ " => Action::Run { line: rest.to_owned(), input: Vec::new() },
                "& " => Action::Start(rest.to_owned()),
                "^ " if rest == "end" => Action::Stop(None),
                "^ " => {
                    let lines = rest.parse().map_err(|error| format!("line {}: {error}", number + 1))?;
                    Action::Stop(Some(lines))
                }
                "< " | "<" => match steps.last_mut() {
                    Some(Step { action: Action::Run { input, .. }, .. }) => {
                        input.push(rest.to_owned());
                        continue;
                    }
                    _ => return Err(format!("line {}: input without a command", number + 1)),
                },
                "  " | "! " | "!" | "= " => match steps.last_mut() {
                    Some(step) => {
                        step.output.push(line.to_owned());
                        continue;
                    }
                    None => return Err(format!("line {}: output without a command", number + 1)),
                },
                "" => continue,
                _ => return Err(format!("line {}: invalid line {line:?}", number + 1)),
            };
            steps.push(Step { comments: std::mem::take(&mut comments), action, output: Vec::new() });
        }
        Ok(Self { steps })
    }
}

impl fmt::Display for Transcript {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, step) in self.steps.iter().enumerate() {
            if number > 0 && !step.comments.is_empty() {
                writeln!(f)?;
            }
            for comment in &step.comments {
                writeln!(f, "# {comment}")?;
            }
            writeln!(f, "{}", step.line())?;
            if let Action::Run { input, .. } = &step.action {
                for line in input {
                    writeln!(f, "{}", format!("< {line}").trim_end())?;
                }
            }
            for line in &step.output {
                writeln!(f, "{line}")?;
            }
        }
        Ok(())
    }
}

impl Step {
    /// Returns its line in the transcript.
    pub(crate) fn line(&self) -> String {
        match &self.action {
            Action::Run { line, .. } => format!("$ {line}"),
            Action::Start(line) => format!("& {line}"),
            Action::Stop(Some(lines)) => format!("^ {lines}"),
            Action::Stop(None) => "^ end".to_owned(),
        }
    }

    /// Formats the lines that differ from another run's output.
    pub(crate) fn difference(&self, other: &Self) -> String {
        let only = |mark: char, these: &[String], those: &[String]| -> String {
            these
                .iter()
                .filter(|line| !those.contains(line))
                .map(|line| format!("\n    {mark}{line}"))
                .collect()
        };
        let (ours, theirs) = (only('-', &self.output, &other.output), only('+', &other.output, &self.output));
        let order =
            if ours.is_empty() && theirs.is_empty() { "\n    same lines in another order" } else { "" };
        format!("{}{ours}{theirs}{order}", self.line())
    }
}
