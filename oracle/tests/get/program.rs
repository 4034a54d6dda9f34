//! The `watchkeeper` command under test: `$WATCHKEEPER_COMMAND`, or a fresh build of this checkout.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::Outcome;

/// Returns the path of the command. Builds it unless `$WATCHKEEPER_COMMAND` is set.
pub(crate) fn build() -> Outcome<PathBuf> {
    if let Some(command) = std::env::var_os("WATCHKEEPER_COMMAND") {
        return Ok(command.into());
    }
    let workspace =
        Path::new(env!("CARGO_MANIFEST_DIR")).parent().ok_or("oracle/ has no parent directory")?;
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = Command::new(cargo)
        .args(["build", "--package", "watchkeeper-cli", "--bin", "watchkeeper"])
        .arg("--message-format=json-render-diagnostics")
        .current_dir(workspace)
        .stderr(Stdio::inherit())
        .output()?;
    if !built.status.success() {
        return Err("failed to build the command".into());
    }
    let messages = built.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let messages =
        messages.map(serde_json::from_slice::<serde_json::Value>).collect::<Result<Vec<_>, _>>()?;
    let executable = messages.iter().rev().find_map(|message| message["executable"].as_str());
    Ok(executable.ok_or("cargo reported no executable")?.into())
}
