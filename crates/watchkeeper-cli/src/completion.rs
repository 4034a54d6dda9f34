//! `watchkeeper completion`: prints a shell completion script.

use clap::Args;
use clap_complete::{Shell, generate};

use crate::failure::Failure;
use crate::stdout::print;

#[derive(Args)]
pub(crate) struct Arguments {
    /// Shell to print the script for
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

/// Returns installation instructions, as comments of the script.
fn header(shell: Shell) -> &'static str {
    match shell {
        Shell::Bash => {
            "# Current shell only:  source <(watchkeeper completion bash)\n\
             # All new shells:      watchkeeper completion bash > ~/.local/share/bash-completion/completions/watchkeeper\n"
        }
        Shell::Zsh => {
            "# Current shell only:  source <(watchkeeper completion zsh)\n\
             # All new shells:      watchkeeper completion zsh > \"${fpath[1]}/_watchkeeper\"\n"
        }
        Shell::Fish => {
            "# Current shell only:  watchkeeper completion fish | source\n\
             # All new shells:      watchkeeper completion fish > ~/.config/fish/completions/watchkeeper.fish\n"
        }
        Shell::PowerShell => {
            "# Current shell only:  watchkeeper completion powershell | Out-String | Invoke-Expression\n\
             # All new shells:      watchkeeper completion powershell >> $PROFILE\n"
        }
        Shell::Elvish => {
            "# Current shell only:  eval (watchkeeper completion elvish | slurp)\n\
             # All new shells:      watchkeeper completion elvish >> ~/.config/elvish/rc.elv\n"
        }
        _ => "",
    }
}
