//! The `watchkeeper` command of this checkout: `$WATCHKEEPER_COMMAND`, or built as it is now.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::Outcome;

/// Builds the command, unless somebody has done so, and says where it is.
pub(crate) fn build() -> Outcome<PathBuf> {
    if let Some(command) = std::env::var_os("WATCHKEEPER_COMMAND") {
        return Ok(command.into());
    }
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent().ok_or("the oracle is in no checkout")?;
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = Command::new(cargo)
        .args(["build", "--package", "watchkeeper-cli", "--bin", "watchkeeper"])
        .arg("--message-format=json-render-diagnostics")
        .current_dir(workspace)
        .stderr(Stdio::inherit())
        .output()?;
    if !built.status.success() {
        return Err("the command cannot be built".into());
    }
    let messages = built.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let messages =
        messages.map(serde_json::from_slice::<serde_json::Value>).collect::<Result<Vec<_>, _>>()?;
    let executable = messages.iter().rev().find_map(|message| message["executable"].as_str());
    Ok(executable.ok_or("cargo does not say where the command is")?.into())
}
