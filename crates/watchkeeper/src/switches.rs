//! Switches: `--no-headers=false`, which kubectl takes of every flag that is on or off.
//!
//! From: the words of the command line.
//! To:   words that mean the same to clap: `--no-headers`, or nothing. What is not clear is left to clap to refuse.

use std::ffi::OsString;

use clap::{ArgAction, Command};

/// The words with every switch as clap knows it. Of several the last one counts.
pub(crate) fn plain(words: impl IntoIterator<Item = OsString>, program: &Command) -> Vec<OsString> {
    let mut words = words.into_iter();
    let mut plain: Vec<OsString> = words.next().into_iter().collect();
    let mut command = program;
    while let Some(word) = words.next() {
        let text = word.to_str().unwrap_or_default();
        if text == "--" {
            plain.push(word);
            plain.extend(words);
            break;
        }
        match text.split_once('=').filter(|(flag, _)| is_switch(flag, command) || is_switch(flag, program)) {
            Some((flag, "true" | "True" | "TRUE" | "t" | "T" | "1")) => plain.push(flag.into()),
            Some((flag, "false" | "False" | "FALSE" | "f" | "F" | "0")) => plain.retain(|word| word != flag),
            _ => {
                if std::ptr::eq(command, program) {
                    command = program.find_subcommand(text).unwrap_or(program);
                }
                plain.push(word);
            }
        }
    }
    plain
}

/// Whether a command has a flag, `-A` or `--all-namespaces`, that is on or off.
fn is_switch(flag: &str, command: &Command) -> bool {
    command.get_arguments().filter(|arg| matches!(arg.get_action(), ArgAction::SetTrue)).any(|arg| match flag
        .strip_prefix("--")
    {
        Some(long) => arg.get_long() == Some(long),
        None => arg.get_short().is_some_and(|short| flag.strip_prefix('-') == Some(&*short.to_string())),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_switch_may_say_that_it_is_on_or_off() {
        for (line, expected) in [
            ("get pods --no-headers=true", "get pods --no-headers"),
            ("get pods --no-headers=false", "get pods"),
            ("get pods --no-headers --watch=1 --no-headers=f", "get pods --watch"),
            ("get -A=true -w=false pods", "get -A pods"),
            ("events --no-headers=T", "events --no-headers"),
            ("--insecure-skip-tls-verify=true get pods", "--insecure-skip-tls-verify get pods"),
            // Not a switch, not its value, not of this command, not a flag at all.
            ("api-resources --namespaced=false", "api-resources --namespaced=false"),
            ("get pods --no-headers=maybe", "get pods --no-headers=maybe"),
            ("get pods -o=true --output=true", "get pods -o=true --output=true"),
            ("events --show-labels=true", "events --show-labels=true"),
            ("get -- --no-headers=true", "get -- --no-headers=true"),
        ] {
            let words = |line: &str| -> Vec<OsString> {
                std::iter::once("watchkeeper").chain(line.split(' ')).map(Into::into).collect()
            };
            assert_eq!(plain(words(line), &crate::command()), words(expected), "{line}");
        }
    }
}
