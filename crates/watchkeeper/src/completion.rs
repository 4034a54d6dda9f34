//! `watchkeeper completion`: what a shell needs to know to complete commands.

use clap::Args;
use clap_complete::{Shell, generate};

use crate::failure::Failure;
use crate::stdout::print;

#[derive(Args)]
pub(crate) struct Arguments {
    /// The shell
    shell: Shell,
}

pub(crate) fn run(arguments: &Arguments, mut command: clap::Command) -> Result<(), Failure> {
    let mut script = Vec::new();
    generate(arguments.shell, &mut command, "watchkeeper", &mut script);
    let script = String::from_utf8_lossy(&script);
    // zsh looks for #compdef in the first line.
    let (first, rest) = match script.split_once('\n') {
        Some((first, rest)) if first.starts_with("#compdef") => (format!("{first}\n"), rest),
        _ => (String::new(), &*script),
    };
    Ok(print(format!("{first}{}\n{rest}", header(arguments.shell)).as_bytes())?)
}

/// How to install it.
fn header(shell: Shell) -> &'static str {
    match shell {
        Shell::Bash => {
            "# For this shell alone:  source <(watchkeeper completion bash)\n\
             # For all to come:       watchkeeper completion bash > ~/.local/share/bash-completion/completions/watchkeeper\n"
        }
        Shell::Zsh => {
            "# For this shell alone:  source <(watchkeeper completion zsh)\n\
             # For all to come:       watchkeeper completion zsh > \"${fpath[1]}/_watchkeeper\"\n"
        }
        Shell::Fish => {
            "# For this shell alone:  watchkeeper completion fish | source\n\
             # For all to come:       watchkeeper completion fish > ~/.config/fish/completions/watchkeeper.fish\n"
        }
        Shell::PowerShell => {
            "# For this shell alone:  watchkeeper completion powershell | Out-String | Invoke-Expression\n\
             # For all to come:       watchkeeper completion powershell >> $PROFILE\n"
        }
        Shell::Elvish => {
            "# For this shell alone:  eval (watchkeeper completion elvish | slurp)\n\
             # For all to come:       watchkeeper completion elvish >> ~/.config/elvish/rc.elv\n"
        }
        _ => "",
    }
}
