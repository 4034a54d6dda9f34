//! Exec: credentials from a program, as `client.authentication.k8s.io` has it.
//!
//! From: an [`Exec`] of a config, and a [`PluginPolicy`].
//! To:   a token, a certificate, or both; until they expire, or the server has refused them.
//!
//! - E1: the program runs once at a time, whoever waits for it; nobody waits: it is killed.
//! - E2: what the program prints is never shown.

mod credential;
mod policy;
mod run;

use std::sync::Arc;
use std::time::SystemTime;

use super::instances::Instances;
use super::kept::Kept;
use super::{AuthError, Awaited, Credentials, Given, PemIdentity};
use crate::config::Exec;
use credential::Issued;
use run::Hints;

pub use policy::PluginPolicy;
pub use run::{HINTS_AN_HOUR, OUTPUT_LIMIT, PLUGIN_TIMEOUT};

static PLUGINS: Instances<Plugin> = Instances::new();

#[derive(Debug)]
pub(super) struct Plugin {
    program: Arc<Program>,
    kept: Kept<Arc<Issued>>,
}

#[derive(Debug)]
struct Program {
    exec: Exec,
    policy: PluginPolicy,
    hints: Hints,
}

impl Plugin {
    /// The one of this process for this program and cluster.
    pub(super) fn shared(exec: &Exec, policy: &PluginPolicy) -> Result<Arc<Self>, AuthError> {
        policy.check()?;
        let is_meant = |plugin: &Self| plugin.program.exec == *exec && plugin.program.policy == *policy;
        PLUGINS.get(is_meant, || {
            let program = Program { exec: exec.clone(), policy: policy.clone(), hints: Hints::default() };
            Ok(Self { program: Arc::new(program), kept: Kept::default() })
        })
    }

    async fn issued(&self) -> Result<(Arc<Issued>, u64), AuthError> {
        let holds = |issued: &Arc<Issued>| issued.expires.is_none_or(|end| SystemTime::now() <= end);
        let program = self.program.clone();
        self.kept.get(holds, |_| async move { program.ask().await.map(Arc::new) }).await
    }
}

impl Credentials for Plugin {
    fn authorization(&self) -> Awaited<'_, Given> {
        Box::pin(async move {
            let (issued, generation) = self.issued().await?;
            Ok(Given { header: issued.header.clone(), generation })
        })
    }

    fn certificate(&self) -> Awaited<'_, Option<PemIdentity>> {
        Box::pin(async move { Ok(self.issued().await?.0.identity.clone()) })
    }

    fn refused(&self, generation: u64) {
        self.kept.refuse(generation);
    }
}

impl Program {
    async fn ask(&self) -> Result<Issued, AuthError> {
        let command = &self.exec.command;
        let asked = async {
            let program = self.policy.admit(&command.command).await?;
            let output = run::run(&self.exec, &program, &self.hints).await?;
            credential::read(&output, &command.api_version)
        };
        asked.await.map_err(|error: AuthError| AuthError {
            what: format!("plugin {:?} {}", command.command, error.what),
            source: error.source,
        })
    }
}
