//! Transcript: commands, and what came of them, in a text that can be read and played again.
//!
//! | a line that starts with | is |
//! |---|---|
//! | `# ` | a remark on the next command |
//! | `$ ` | a command |
//! | `< ` | a line of the file that it names, or else of its input |
//! | `& ` | a command that goes on in the background, once it has printed its first line |
//! | `^ N` | the end of that command, once it has printed `N` lines; `^ end` lets it end by itself |
//! | two spaces | what was printed |
//! | `! ` | what was printed as an error |
//! | `= N` | how it ended, if not with 0 |

use std::fmt;

/// A script and what came of it.
#[derive(Debug, Default)]
pub(crate) struct Transcript {
    /// In the order in which they run.
    pub(crate) steps: Vec<Step>,
}

/// A command and what came of it.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    /// What it is there for.
    pub(crate) remarks: Vec<String>,
    /// What is done.
    pub(crate) action: Action,
    /// What was printed, in the lines of the transcript.
    pub(crate) said: Vec<String>,
}

/// What is done.
#[derive(Debug, Clone)]
pub(crate) enum Action {
    /// A command runs to its end.
    Run {
        /// The command line.
        line: String,
        /// What it reads, from a file that it names or from its input.
        input: Vec<String>,
    },
    /// A command starts and goes on in the background.
    Start(String),
    /// The command in the background is ended once it has printed so many lines, or ends by itself.
    Stop(Option<usize>),
}

impl Transcript {
    /// Reads a transcript, which may have no recordings in it yet.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let mut steps: Vec<Step> = Vec::new();
        let mut remarks = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let (mark, rest) = line.split_at_checked(2).unwrap_or((line, ""));
            let action = match mark {
                "# " => {
                    remarks.push(rest.to_owned());
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
                    _ => return Err(format!("line {}: nobody reads this input", number + 1)),
                },
                "  " | "! " | "!" | "= " => match steps.last_mut() {
                    Some(step) => {
                        step.said.push(line.to_owned());
                        continue;
                    }
                    None => return Err(format!("line {}: nobody said this", number + 1)),
                },
                "" => continue,
                _ => return Err(format!("line {}: what is {line:?}?", number + 1)),
            };
            steps.push(Step { remarks: std::mem::take(&mut remarks), action, said: Vec::new() });
        }
        Ok(Self { steps })
    }
}

impl fmt::Display for Transcript {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, step) in self.steps.iter().enumerate() {
            if number > 0 && !step.remarks.is_empty() {
                writeln!(f)?;
            }
            for remark in &step.remarks {
                writeln!(f, "# {remark}")?;
            }
            writeln!(f, "{}", step.line())?;
            if let Action::Run { input, .. } = &step.action {
                for line in input {
                    writeln!(f, "{}", format!("< {line}").trim_end())?;
                }
            }
            for line in &step.said {
                writeln!(f, "{line}")?;
            }
        }
        Ok(())
    }
}

impl Step {
    /// Its line in the transcript.
    pub(crate) fn line(&self) -> String {
        match &self.action {
            Action::Run { line, .. } => format!("$ {line}"),
            Action::Start(line) => format!("& {line}"),
            Action::Stop(Some(lines)) => format!("^ {lines}"),
            Action::Stop(None) => "^ end".to_owned(),
        }
    }

    /// What the other said differently, for a message.
    pub(crate) fn difference(&self, other: &Self) -> String {
        let only = |mark: char, these: &[String], those: &[String]| -> String {
            these
                .iter()
                .filter(|line| !those.contains(line))
                .map(|line| format!("\n    {mark}{line}"))
                .collect()
        };
        let (ours, theirs) = (only('-', &self.said, &other.said), only('+', &other.said, &self.said));
        let order = if ours.is_empty() && theirs.is_empty() { "\n    the same lines otherwise" } else { "" };
        format!("{}{ours}{theirs}{order}", self.line())
    }
}
