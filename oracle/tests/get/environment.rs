//! Environment: kubectl and watchkeeper on the same server, each with its own home directory, and a client to write with.

use std::path::Path;

use http::Method;
use http::header::CONTENT_TYPE;
use serde_json::Value;
use tempfile::TempDir;
use watchkeeper_apiserver::server::ApiServer;
use watchkeeper_client::kubeconfig::{Overrides, Sources};
use watchkeeper_client::rest::Content;
use watchkeeper_client::{Client, Config, RestClient};
use watchkeeper_oracle::{CommandOutput, Kubectl};

use crate::{Outcome, program};

/// The maximum number of runs of a command: a printed age can change between the two programs, and does so in most runs of a long
/// command on a busy machine.
const ATTEMPTS: usize = 30;

/// Both programs on one server.
pub(crate) struct Environment {
    pub(crate) theirs: Kubectl,
    pub(crate) ours: Kubectl,
    rest: RestClient,
    _home: TempDir,
}

impl Environment {
    /// Uses our server.
    pub(crate) fn embedded(server: &ApiServer) -> Outcome<Self> {
        let home = TempDir::new()?;
        let kubeconfig = home.path().join("kubeconfig");
        server.kubeconfig().write(&kubeconfig)?;
        Self::new(home, &kubeconfig)
    }

    /// Uses the server of a kubeconfig.
    pub(crate) fn new(home: TempDir, kubeconfig: &Path) -> Outcome<Self> {
        let config = Config::load(&Sources::File(kubeconfig.to_owned()), &Overrides::default())?;
        let rest = RestClient::new(Client::new(&config)?.transport().clone(), "/", Content::json());
        let theirs = Kubectl::new(kubeconfig, &home.path().join("theirs"))?;
        let ours = Kubectl::new(kubeconfig, &home.path().join("ours"))?.with_program(program::build()?);
        Ok(Self { theirs, ours, rest, _home: home })
    }

    /// Runs a command with both programs until they print the same, and returns the last outputs.
    pub(crate) async fn both(&self, command: &str) -> Outcome<[CommandOutput; 2]> {
        let mut outputs = self.once(command).await?;
        for _ in 1..ATTEMPTS {
            if outputs[0] == outputs[1] {
                break;
            }
            outputs = self.once(command).await?;
        }
        Ok(outputs)
    }

    /// Returns the commands for which the programs print something different, with both outputs.
    pub(crate) async fn differing(
        &self,
        commands: impl IntoIterator<Item: AsRef<str>>,
    ) -> Outcome<Vec<String>> {
        let mut differing = Vec::new();
        for command in commands {
            let command = command.as_ref();
            let [theirs, ours] = self.both(command).await?;
            if theirs != ours {
                differing.push(format!("$ {command}\nkubectl: {theirs:#?}\nours: {ours:#?}"));
            }
        }
        Ok(differing)
    }

    /// Runs a command once with each program: kubectl, then ours.
    pub(crate) async fn once(&self, command: &str) -> Outcome<[CommandOutput; 2]> {
        let arguments = split(command);
        Ok([self.theirs.run(&arguments, "").await?, self.ours.run(&arguments, "").await?])
    }

    /// Sends a request. The inner error is the response of the server.
    pub(crate) async fn send(&self, method: Method, path: &str, body: &Value) -> Outcome<Result<(), String>> {
        let content_type = match method {
            Method::PATCH => "application/merge-patch+json",
            _ => "application/json",
        };
        let body = if method == Method::DELETE { Vec::new() } else { serde_json::to_vec(body)? };
        let request = self.rest.request(method).abs_path(path).header(CONTENT_TYPE, content_type).body(body);
        Ok(request.send().await.map(|_| ()).map_err(|error| error.to_string()))
    }
}

/// Splits a command into arguments like a shell; text in single quotes is one argument.
pub(crate) fn split(line: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for (position, part) in line.split('\'').enumerate() {
        match position % 2 {
            0 => words.extend(part.split_whitespace().map(str::to_owned)),
            _ => words.push(part.to_owned()),
        }
    }
    words
}
