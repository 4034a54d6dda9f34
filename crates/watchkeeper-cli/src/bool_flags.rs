//! Boolean flags: kubectl accepts `--no-headers=false` for every boolean flag, clap does not.
//!
//! Input: the command line.
//! Output: an equivalent command line for clap: `--no-headers`, or nothing. Anything else is left for clap to reject.
//!
//! Invariants:
//! - `bool_flags.F1`: if a flag is given several times, in any spelling, the last one wins.
//! - `bool_flags.F2`: the value of an option is never changed, even if it looks like a flag.

use std::ffi::OsString;

use clap::{Arg, ArgAction, Command};

/// Rewrites every boolean flag to the form that clap accepts.
pub(crate) fn normalize(words: impl IntoIterator<Item = OsString>, program: &Command) -> Vec<OsString> {
    let mut words = words.into_iter();
    let mut line = Line { program, command: program, words: Vec::new() };
    line.words.extend(words.next().map(Word::Value));
    while let Some(word) = words.next() {
        let text = word.to_str().unwrap_or_default();
        if text == "--" {
            line.words.push(Word::Value(word));
            line.words.extend(words.by_ref().map(Word::Value));
        } else if let Some((flag_arg, flag, is_on)) = line.parse_flag(text) {
            line.turn_off(flag_arg);
            line.words.extend(is_on.then(|| Word::Flag(flag.to_owned())));
        } else if text.starts_with('-') {
            let wants_value = line.wants_value(text);
            line.words.push(Word::Flag(text.to_owned()));
            if wants_value {
                line.words.extend(words.next().map(Word::Value));
            }
        } else {
            line.enter(text);
            line.words.push(Word::Value(word));
        }
    }
    line.words.into_iter().map(Word::into_inner).collect()
}

/// The part of the command line that has been read.
struct Line<'a> {
    program: &'a Command,
    /// The subcommand, once it has been read.
    command: &'a Command,
    words: Vec<Word>,
}

enum Word {
    /// A long flag, or a group of short flags; the last may carry its value.
    Flag(String),
    /// A word that is passed through unchanged.
    Value(OsString),
}

impl Word {
    fn into_inner(self) -> OsString {
        match self {
            Self::Flag(text) => text.into(),
            Self::Value(word) => word,
        }
    }
}

impl<'a> Line<'a> {
    /// Parses `--flag=true`: returns the argument, the flag as spelled, and its value.
    fn parse_flag<'t>(&self, text: &'t str) -> Option<(&'a Arg, &'t str, bool)> {
        let (flag, value) = text.split_once('=')?;
        let is_on = match value {
            "true" | "True" | "TRUE" | "t" | "T" | "1" => true,
            "false" | "False" | "FALSE" | "f" | "F" | "0" => false,
            _ => return None,
        };
        let flag_arg = match flag.strip_prefix("--") {
            Some(long) => self.long(long),
            None => only(flag.strip_prefix('-')?).and_then(|short| self.short(short)),
        };
        flag_arg.filter(|arg| matches!(arg.get_action(), ArgAction::SetTrue)).map(|arg| (arg, flag, is_on))
    }

    /// Removes every earlier occurrence of a flag.
    fn turn_off(&mut self, flag_arg: &Arg) {
        let mut words = std::mem::take(&mut self.words);
        words.retain_mut(|word| {
            let Word::Flag(text) = word else { return true };
            if let Some(long) = text.strip_prefix("--") {
                return flag_arg.get_long() != Some(long);
            }
            let letters = text.strip_prefix('-').unwrap_or_default();
            let own =
                letters.chars().take_while(|letter| self.short(*letter).is_some_and(|arg| !takes_value(arg)));
            let (own, rest) = letters.split_at(own.map(char::len_utf8).sum());
            let kept: String = own.chars().filter(|letter| flag_arg.get_short() != Some(*letter)).collect();
            let is_left = kept.len() == own.len() || !(kept.is_empty() && rest.is_empty());
            *text = format!("-{kept}{rest}");
            is_left
        });
        self.words = words;
    }

    /// Returns whether the next word is the value of this one.
    fn wants_value(&self, text: &str) -> bool {
        if let Some(long) = text.strip_prefix("--") {
            return self.long(long).is_some_and(takes_value);
        }
        let mut letters = text.chars().skip(1);
        let taker = letters.find_map(|letter| match self.short(letter) {
            Some(arg) => takes_value(arg).then_some(true),
            None => Some(false),
        });
        taker == Some(true) && letters.next().is_none()
    }

    /// Takes the first word that is not a flag as the subcommand.
    fn enter(&mut self, word: &str) {
        if std::ptr::eq(self.command, self.program) {
            self.command = self.program.find_subcommand(word).unwrap_or(self.program);
        }
    }

    fn long(&self, long: &str) -> Option<&'a Arg> {
        self.arguments().find(|arg| arg.get_long() == Some(long))
    }

    fn short(&self, short: char) -> Option<&'a Arg> {
        self.arguments().find(|arg| arg.get_short() == Some(short))
    }

    fn arguments(&self) -> impl Iterator<Item = &'a Arg> + use<'a> {
        self.command.get_arguments().chain(self.program.get_arguments())
    }
}

/// Returns whether an option requires a value, in the next word if not in this one.
fn takes_value(arg: &Arg) -> bool {
    arg.get_action().takes_values() && arg.get_num_args().is_none_or(|range| range.min_values() > 0)
}

/// Returns the only character of a text.
fn only(text: &str) -> Option<char> {
    let mut letters = text.chars();
    letters.next().filter(|_| letters.next().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boolean_flags_accept_true_and_false() {
        for (line, expected) in [
            ("get pods --no-headers=true", "get pods --no-headers"),
            ("get pods --no-headers=false", "get pods"),
            ("get pods --no-headers --watch=1 --no-headers=f", "get pods --watch"),
            ("get -A=true -w=false pods", "get -A pods"),
            ("events --no-headers=T", "events --no-headers"),
            ("--insecure-skip-tls-verify=true get pods", "--insecure-skip-tls-verify get pods"),
            // In another spelling.
            ("get pods -A --all-namespaces=false", "get pods"),
            ("get pods --watch -w=false", "get pods"),
            ("get pods -Aw -w=false", "get pods -A"),
            ("get pods -wnshow -w=false", "get pods -nshow"),
            ("get pods --watch=true -w=true", "get pods -w"),
            // Values.
            ("get pods -n --no-headers=false", "get pods -n --no-headers=false"),
            ("get -wl --watch=false pods --watch=false", "get -l --watch=false pods"),
            ("--namespace events get pods --show-labels=true", "--namespace events get pods --show-labels"),
            // Not a boolean flag, not its value, not of this command, not a flag at all.
            ("api-resources --namespaced=false", "api-resources --namespaced=false"),
            ("get pods --no-headers=maybe", "get pods --no-headers=maybe"),
            ("get pods -o=true --output=true", "get pods -o=true --output=true"),
            ("events --show-labels=true", "events --show-labels=true"),
            ("get pods - -w=false", "get pods -"),
            ("get -- --no-headers=true", "get -- --no-headers=true"),
        ] {
            let words = |line: &str| -> Vec<OsString> {
                std::iter::once("watchkeeper").chain(line.split(' ')).map(Into::into).collect()
            };
            assert_eq!(normalize(words(line), &crate::command()), words(expected), "{line}");
        }
    }

    #[test]
    fn repeated_flags_are_accepted() {
        for line in ["get pods -w -w --watch=true", "get pods -A --all-namespaces -n a -n b"] {
            let words = std::iter::once("watchkeeper").chain(line.split(' ')).map(OsString::from);
            let parsed = crate::command().try_get_matches_from(normalize(words, &crate::command()));
            assert!(parsed.is_ok(), "{line}: {parsed:?}");
        }
    }
}
