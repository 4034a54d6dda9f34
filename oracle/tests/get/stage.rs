//! Stage: kubectl and watchkeeper at the same server, each in a home of its own, and who writes to it.

use std::path::Path;

use http::Method;
use http::header::CONTENT_TYPE;
use serde_json::Value;
use tempfile::TempDir;
use watchkeeper_apiserver::server::ApiServer;
use watchkeeper_client::kubeconfig::{Overrides, Sources};
use watchkeeper_client::rest::Content;
use watchkeeper_client::{Client, Config, RestClient};
use watchkeeper_oracle::{Kubectl, Said};

use crate::{Outcome, program};

/// How often a command is run, at most: ages change while it runs.
const ATTEMPTS: usize = 8;

/// Both programs at one server.
pub(crate) struct Stage {
    pub(crate) theirs: Kubectl,
    pub(crate) ours: Kubectl,
    rest: RestClient,
    _home: TempDir,
}

impl Stage {
    /// At a server of ours.
    pub(crate) fn embedded(server: &ApiServer) -> Outcome<Self> {
        let home = TempDir::new()?;
        let kubeconfig = home.path().join("kubeconfig");
        server.kubeconfig().write(&kubeconfig)?;
        Self::set(home, &kubeconfig)
    }

    pub(crate) fn set(home: TempDir, kubeconfig: &Path) -> Outcome<Self> {
        let config = Config::load(&Sources::File(kubeconfig.to_owned()), &Overrides::default())?;
        let rest = RestClient::new(Client::new(&config)?.transport().clone(), "/", Content::json());
        let theirs = Kubectl::new(kubeconfig, &home.path().join("theirs"))?;
        let ours = Kubectl::new(kubeconfig, &home.path().join("ours"))?.replaced_by(program::build()?);
        Ok(Self { theirs, ours, rest, _home: home })
    }

    /// What both say, once they say the same; or what they said last.
    pub(crate) async fn both(&self, command: &str) -> Outcome<[Said; 2]> {
        let mut said = self.once(command).await?;
        for _ in 1..ATTEMPTS {
            if said[0] == said[1] {
                break;
            }
            said = self.once(command).await?;
        }
        Ok(said)
    }

    /// Of which of these commands they say something else, and what.
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

    /// What both say: kubectl, and ours.
    pub(crate) async fn once(&self, command: &str) -> Outcome<[Said; 2]> {
        let arguments = split(command);
        Ok([self.theirs.run(&arguments, "").await?, self.ours.run(&arguments, "").await?])
    }

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

/// Words, as a shell splits them: what stands in single quotes is one.
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
