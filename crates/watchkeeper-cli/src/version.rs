//! `watchkeeper version`: prints the client and server versions.

use clap::Args;
use serde_json::{Value, json};
use watchkeeper_client::ConfigError;
use watchkeeper_client::discovery::ServerVersion;
use watchkeeper_client::kubeconfig::SelectError;
use watchkeeper_wire::yaml;

use crate::connect::{Connection, Flags};
use crate::failure::Failure;
use crate::stdout::print;

#[derive(Args)]
pub(crate) struct Arguments {
    /// Print only the client version
    #[arg(long)]
    client: bool,
    /// Output format: json, yaml [default: one line each]
    #[arg(short, long, default_value = "", hide_default_value = true, value_name = "FORMAT")]
    output: String,
}

/// The client's version.
const CLIENT: &str = concat!("v", env!("CARGO_PKG_VERSION"));

/// Prints the client's version even if the server does not respond.
pub(crate) async fn run(arguments: &Arguments, flags: &Flags) -> Result<(), Failure> {
    if !["", "json", "yaml"].contains(&arguments.output.as_str()) {
        return Err(Failure::error("--output must be 'yaml' or 'json'"));
    }
    let server = if arguments.client { Ok(None) } else { server_version(flags).await };
    let shown = server.as_ref().ok().and_then(Option::as_ref);
    print(arguments.format(shown).as_bytes())?;
    server.map(|_| ())
}

/// Returns the server's version, or `None` if no server is configured.
async fn server_version(flags: &Flags) -> Result<Option<ServerVersion>, Failure> {
    match flags.config() {
        Err(ConfigError::Select(SelectError::Empty)) => Ok(None),
        Err(error) => Err(error.into()),
        Ok(_) => Ok(Some(Connection::open(flags)?.server_version().await?)),
    }
}

impl Arguments {
    fn format(&self, server: Option<&ServerVersion>) -> String {
        if self.output.is_empty() {
            let server = server.map(|server| format!("Server Version: {}\n", server.git_version));
            return format!("Client Version: {CLIENT}\n{}", server.unwrap_or_default());
        }
        let mut versions = json!({"clientVersion": client_json()});
        if let Some(server) = server {
            versions["serverVersion"] = server_json(server);
        }
        match self.output.as_str() {
            "yaml" => yaml::write(&versions),
            _ => format!("{versions:#}\n"),
        }
    }
}

fn client_json() -> Value {
    let (major, minor) = (env!("CARGO_PKG_VERSION_MAJOR"), env!("CARGO_PKG_VERSION_MINOR"));
    let platform = format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH);
    json!({"gitVersion": CLIENT, "major": major, "minor": minor, "platform": platform})
}

fn server_json(server: &ServerVersion) -> Value {
    json!({
        "major": server.major,
        "minor": server.minor,
        "gitVersion": server.git_version,
        "gitCommit": server.git_commit,
        "buildDate": server.build_date,
        "goVersion": server.go_version,
        "platform": server.platform,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_has_both_versions() {
        let mut server = ServerVersion::default();
        server.git_version = "v1.37.1".into();
        let shown = |output: &str| Arguments { client: false, output: output.into() }.format(Some(&server));
        assert_eq!(shown(""), format!("Client Version: {CLIENT}\nServer Version: v1.37.1\n"));
        let json: Value = serde_json::from_str(&shown("json")).unwrap();
        assert_eq!(
            (&json["clientVersion"]["gitVersion"], &json["serverVersion"]["gitVersion"]),
            (&CLIENT.into(), &"v1.37.1".into())
        );
        assert!(
            shown("yaml").contains("serverVersion:\n") && shown("yaml").contains("  gitVersion: v1.37.1\n")
        );
    }
}
